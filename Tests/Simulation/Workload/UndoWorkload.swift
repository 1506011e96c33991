import BindingPeer
import BindingProtocol

/// What applications do in the model in which they undo: they write, undo and redo, in every interleaving.
final class UndoWorkload: SimulationPart {
  static let model = "undone"
  private static let description =
    FieldValue(bytes: Array("{\"fields\":{\"\(UndoOracle.list)\":{\"policy\":\"list\"}}}".utf8))
  let context: SimulationContext
  private let oracle: UndoOracle?

  init(_ context: SimulationContext, _ oracle: UndoOracle?) {
    self.context = context
    self.oracle = oracle
  }

  /// One step of a peer's application, beside what it does in other models.
  func step(_ peer: SimulatedPeer) throws(Violation) {
    guard oracle != nil, isChaos, !isQuiet, peer.outbox.successor == nil, !peer.process.isPaused else { return }
    // A field that no undo deletes: an empty model would be removed. It comes with the description.
    if [Names.description, "keep"].contains(where: { peer.session.shown(UndoWorkload.model, $0) == nil }) {
      let operations = [
        FieldOperation(.setIfAbsent, Names.description, UndoWorkload.description),
        FieldOperation(.setIfAbsent, "keep", FieldValue(json: .bool(true))),
      ]
      try peer.writeUndoable(Proposal(operations: operations))
    }
    let field = UndoOracle.compared[chance.below(3)]
    let set = FieldOperation(.set, field, context.uniqueValue(of: peer.index))
    context.writeCount += 1
    switch chance.below(16) {
    case 0...2: try peer.writeUndoable(Proposal(operations: [set]))
    case 3:
      let other = UndoOracle.compared.first { $0 != field } ?? "x"
      try peer.writeUndoable(Proposal(operations: [set, FieldOperation(.set, other, set.value)]))
    case 4: try peer.writeUndoable(Proposal(operations: [FieldOperation(.delete, field)]))
    case 5: try peer.writeUndoable(Proposal(operations: [FieldOperation(.add, "k", FieldValue(json: .integer(1)))]))
    case 6:
      let shown = peer.session.shown(UndoWorkload.model, "w")
      let words = SimulatedField.elements(of: shown) + [context.writeCount]
      let text = FieldOperation(.set, "w", SimulatedField.text(of: words))
      try peer.writeUndoable(Proposal(operations: [text]), rules: ["w": RuledWrite(.text, base: shown)])
    case 7:
      // A peer alone undoes everything in the end.
      let role: UndoRole = profile.peers == 1 ? .step(edit: 0) : .notUndoable
      try peer.writeUndoable(Proposal(operations: [set]), as: role)
    case 8...10: _ = try peer.restore(redoes: false)
    case 11: _ = try peer.restore(redoes: true)
    default: try peer.writeUndoable(Proposal(operations: elementOperations(of: peer)))
    }
  }

  /// One or two operations on elements of the list.
  private func elementOperations(of peer: SimulatedPeer) -> [FieldOperation] {
    let fields = UndoOracle.elements
    let first = chance.below(fields.count)
    let ids = fields.map { String($0.dropFirst(UndoOracle.list.utf8.count + 1)) }
    return (0..<1 + chance.below(2)).map { offset in
      let field = fields[(first + offset) % fields.count]
      var operand = ListOperand(after: chance.perMille(300) ? nil : ids[(first + offset + 1) % fields.count])
      let element = context.uniqueValue(of: peer.index)
      guard peer.session.shown(UndoWorkload.model, field) != nil else {
        operand.element = element
        return FieldOperation(.insert, field, operand.value)
      }
      switch chance.below(3) {
      case 0: return FieldOperation(.delete, field)
      case 1: return FieldOperation(.replace, field, element)
      default: return FieldOperation(.move, field, operand.value)
      }
    }
  }

  /// Answers a question about the past as a history would, or does not know.
  func answer(_ question: PastQuestion) -> PastAnswer {
    counts[.pastAsked] += 1
    return chance.perMille(500) ? .notKnown : oracle?.past(question) ?? .notKnown
  }

  // MARK: At rest

  /// Everything has healed, and nobody else writes: a peer takes its last steps back and restores them again.
  func takeBack(_ peer: SimulatedPeer, _ run: (UInt64) throws(Violation) -> Void) throws(Violation) {
    guard let oracle else { return }
    func state() -> [FieldValue?] { (UndoOracle.compared + ["k"]).map { oracle.head($0) } + oracle.listed }
    let before = state()
    let most = profile.peers == 1 ? UndoLimits.maxSteps : 6
    let undone = try takeBack(peer, redoes: false, most: most, run)
    if profile.peers == 1, peer.process.run == 0, profile.isGentle {
      let rest = state()
      let isBeginning =
        rest.prefix(3).allSatisfy { $0 == nil } && (rest[3].map { $0.description == "0" } ?? true) && rest.count == 4
      guard isBeginning else {
        throw Violation(.undo, "\(peer) undid everything that it wrote alone, and \(rest.map(describe)) remains")
      }
    }
    let redone = try takeBack(peer, redoes: true, most: undone, run)
    // Of an element that returns to its place the rank may be another; of one that is there already nothing changes.
    guard state() == before else {
      throw Violation(
        .undo,
        "\(peer) undid \(undone) steps and redid \(redone); there was \(before.map(describe)), now there is "
          + "\(state().map(describe))")
    }
    if redone > 0 { counts[.redone] += 1 }
  }

  /// - Returns: how many commits took steps back.
  private func takeBack(
    _ peer: SimulatedPeer, redoes: Bool, most: Int, _ run: (UInt64) throws(Violation) -> Void
  ) throws(Violation) -> Int {
    var count = 0
    var tries = 0
    while count < most, tries < UndoLimits.maxSteps {
      tries += 1
      let commits = oracle?.commits
      let start = try peer.restore(redoes: redoes)
      if start == .nothing { break }
      guard case .written(let id, _, _) = start else { continue }
      for _ in 0..<20 where peer.writes.undone[id] != nil { try run(1_000) }
      guard peer.writes.undone[id] == nil else {
        throw Violation(.undo, "\(peer)'s write \(id.rawValue), which takes a step back, has no outcome")
      }
      // A step that set a field and deleted it again changes nothing, and leaves nothing to redo.
      if oracle?.commits != commits { count += 1 }
    }
    return count
  }
}

extension SimulatedPeer {
  fileprivate func writeUndoable(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], as role: UndoRole = .step(edit: 0)
  ) throws(Violation) {
    let name = UndoWorkload.model
    let id: WriteID
    do {
      id = try session.write(proposal, rules: rules, as: role, to: name, now: clock, into: &effects)
    } catch {
      return
    }
    record("\(self) writes \(id.rawValue) to \(name): \(proposal.operations.map { "\($0.verb) \($0.field)" }) \(role)")
    writes.undone[id] = false
    let isStep = role != .notUndoable && proposal.operations[0].verb != .setIfAbsent
    if isStep, session.undoState(of: name).redoes != nil {
      throw Violation(.undo, "\(self) can redo what stood before its new write \(id.rawValue)")
    }
    try settle()
  }

  fileprivate func restore(redoes: Bool) throws(Violation) -> UndoStart {
    let start: UndoStart
    let fields = UndoOracle.compared + UndoOracle.elements
    let shown = fields.map { ($0, UndoOracle.content(session.shown(UndoWorkload.model, $0), of: $0)) }
    do {
      start = try session.restore(UndoWorkload.model, redoes: redoes, now: clock, into: &effects)
    } catch {
      return .nothing
    }
    record("\(self) \(redoes ? "redoes" : "undoes"): \(start)")
    switch start {
    case .nothing: break
    case .withdrawn(let fields):
      counts[.undoWithdrawn] += 1
      for (field, value) in shown where fields.contains(field) { writes.withdrawn[field, default: []].insert(value) }
    case .failed(let failure):
      switch failure.cause {
      case .changed: counts[.undoOvertaken] += 1
      case .unknownBefore: counts[.undoUnknown] += 1
      case .lost: counts[.undoLost] += 1
      }
    case .written(let id, _, _):
      writes.undone[id] = true
      counts[redoes ? .redo : .undo] += 1
    }
    try settle()
    return start
  }
}

extension FaultProfile {
  /// Whether peers undo in a model of their own. Not beside features whose checks would have to know that model: a
  /// second hub's commits, lies about what was lost, rights, and the release of names.
  /// - Parameter chance: a stream of its own, so that drawing it does not change the seeds without it.
  mutating func drawUndo(from chance: inout Chance) {
    let isAlone =
      !hasRights && movedAppends == 0 && unnoticedLosses == 0 && impostors == 0 && forgedOffers == 0
      && maxDeletedNames == nil
    if chance.perMille(600), isAlone { hasUndo = true }
  }

  /// Whether no fault can lose a write or its outcome.
  var isGentle: Bool { hubCrashes == 0 && peerCrashes == 0 && !forgetsSoon && hubPauses == 0 }
}
