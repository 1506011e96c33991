import BindingProtocol

/// The models whose writes are recorded for undo, and the steps that earlier runs left.
struct UndoTable: Sendable {
  /// The ids of the recorded models.
  fileprivate(set) var recorded: Swift.Set<String> = []
  /// By model and step: what an outbox file holds of models that no program has asked for yet.
  fileprivate var restored: [String: [UInt64: [UInt8]]] = [:]
  /// No step of any model has a higher number, in the file either.
  fileprivate var lastStep: UInt64 = 0

  mutating func forget(_ id: String, _ book: UndoBook?) {
    recorded.remove(id)
    if let book { lastStep = max(lastStep, book.lastStep) }
  }
}

/// What has become of a request to undo or redo.
package enum UndoStart: Sendable, Equatable {
  case nothing
  /// The step was not sent yet: it was withdrawn.
  case withdrawn(fields: [String])
  /// A write takes the step back. `inexact`: the fields whose sums may be rounded.
  case written(WriteID, fields: [String], inexact: [String])
  /// The step is gone.
  case failed(UndoFailure)
}

extension Session {
  /// Steps that earlier runs left in an outbox file; to be called before any model is recorded.
  package mutating func restoreUndo(_ steps: [String: [UInt64: [UInt8]]]) {
    undo.restored = steps
    undo.lastStep = steps.values.reduce(0) { max($0, $1.keys.max() ?? 0) }
  }

  /// Records writes to a model for undo from now on; does nothing if they are. Writes to an ephemeral model are never
  /// recorded.
  package mutating func recordUndo(of id: String, now: UInt64) {
    guard let index = models.index(of: id), models[at: index].undo == nil, !models[at: index].isEphemeral else {
      return
    }
    undo.recorded.insert(id)
    models[at: index].beginUndo(after: undo.lastStep, undo.restored.removeValue(forKey: id) ?? [:], context, now: now)
  }

  /// What an undo or a redo would do now.
  package func undoState(of id: String) -> UndoState {
    models.index(of: id).flatMap { models[at: $0].undo?.state } ?? UndoState()
  }

  /// Takes back the last step of undo, or of redo. The effect shows immediately.
  /// - Throws: `WriteError` if it cannot be written; then the step stays, unless it never can be.
  package mutating func restore(
    _ id: String, redoes: Bool, hops: UInt8 = 0, now: UInt64, into effects: inout PeerEffects
  ) throws(WriteError) -> UndoStart {
    let stack: UndoBook.Stack = redoes ? .redo : .undo
    guard let index = models.index(of: id), let step = models[at: index].undo?.top(stack) else { return .nothing }
    if models[at: index].withdrawStep(step, on: stack, &context) { return .withdrawn(fields: step.names) }
    if let failure = models[at: index].obstacle(to: step, context) {
      models[at: index].undo?.remove(step.id)
      return .failed(failure)
    }
    guard var restoration = models[at: index].restoration(of: step) else {
      let replica = models[at: index].replica
      if models[at: index].undo?.dropIfVoid(step, over: replica) == true { return .withdrawn(fields: step.names) }
      models[at: index].undo?.remove(step.id)
      return .failed(UndoFailure(field: step.names.first ?? "", cause: .lost))
    }
    restoration.proposal.hops = hops
    models[at: index].undo?.take(stack)
    do throws(WriteError) {
      let write = try write(
        restoration.proposal, rules: restoration.rules, as: .restoring, to: id, now: now, into: &effects)
      return .written(write, fields: step.names, inexact: step.inexact)
    } catch {
      models[at: index].undo?.putBack(dropping: !error.mayPass)
      throw error
    }
  }

  /// Why a write that was to take back a step was given up before it was sent; nil: it was not.
  package mutating func takeUndoFailure(of write: WriteID, in id: String) -> UndoFailure? {
    models[id]?.undo?.takeFailure(of: write)
  }

  /// The writes until `endUndoGroup` are one step.
  package mutating func beginUndoGroup(in id: String) {
    if let index = models.index(of: id) { models[at: index].undo?.beginGroup() }
  }

  /// Ends what `beginUndoGroup` began.
  package mutating func endUndoGroup(in id: String) {
    if let index = models.index(of: id) { models[at: index].undo?.endGroup() }
  }

  /// Answers `PeerQuestion.past`.
  package mutating func answer(_ question: PastQuestion, in id: String, with answer: PastAnswer) {
    if let index = models.index(of: id) { models[at: index].undo?.answer(question, with: answer) }
  }

  /// Emits what undo has to record and to ask.
  mutating func emitUndo(_ effects: inout PeerEffects) {
    for id in undo.recorded.count > 1 ? undo.recorded.sorted() : Array(undo.recorded) {
      guard let index = models.index(of: id) else { continue }
      models[at: index].emitUndo(context, &effects)
    }
  }
}

extension ModelSync {
  // MARK: Recording

  fileprivate mutating func beginUndo(
    after lastStep: UInt64, _ restored: [UInt64: [UInt8]], _ context: SessionContext, now: UInt64
  ) {
    var book = UndoBook(after: lastStep)
    book.restore(restored)
    if let log = context.logID { book.belong(to: log) }
    if replica.epoch != 0 { book.rebase(onto: replica) }
    // The writes that an earlier run of this program left are its own, too.
    for write in writes.order {
      guard let pending = writes[write], pending.carried != nil else { continue }
      let shown = pending.overlay.map { replica.field($0.field)?.value }
      book.record(write, pending.overlay, [:], as: .step(edit: 0), shown: shown, place: { _ in nil }, now: now)
      book.close()
    }
    undo = book
  }

  mutating func record(_ write: borrowing Pending, _ rules: [String: RuledWrite], as role: UndoRole, now: UInt64) {
    let present = write.overlay.map { shown($0.field) }
    // The head of a list comes back with its elements.
    let written = zip(write.overlay, present).filter { $1.flatMap(ListElements.count(ofHead:)) == nil }
    var places = ElementPlaces(in: lists)
    undo?.record(
      write.id, written.map(\.0), rules, as: role, shown: written.map(\.1), place: { places.place(of: $0) }, now: now)
  }

  /// A write was superseded by a later one.
  mutating func supersede(_ write: WriteID) { undo?.settle(write, as: .superseded, over: replica) }

  /// A commit of this peer or of an earlier run of it changes the field at an index, before the replica applies it.
  mutating func recordCommit(
    _ number: ProposalNumber, of tag: Tag, to value: FieldValue?, at index: Int, _ point: UndoPoint,
    _ context: SessionContext
  ) {
    guard let write = recorded(number, of: tag, context) else { return }
    let field = replica.fields[index]
    undo?.commit(write, field.name, over: field, in: replica.epoch, to: value, at: point)
  }

  /// A commit of this peer has been applied.
  mutating func finishCommit(_ number: ProposalNumber, of tag: Tag, _ context: SessionContext) {
    if let write = recorded(number, of: tag, context) { undo?.finish(write, over: replica) }
  }

  /// The recorded write that a proposal number stands for.
  private func recorded(_ number: ProposalNumber, of tag: Tag, _ context: SessionContext) -> WriteID? {
    if tag == context.identity.tag { return undo?.write(numbered: number) }
    return writes.carried.first { write in
      writes[write]?.carried.map { $0.tag == tag && $0.number == number } ?? false
    }
  }

  fileprivate mutating func emitUndo(_ context: SessionContext, _ effects: inout PeerEffects) {
    guard undo != nil else { return }
    if let log = context.logID { undo?.belong(to: log) }
    for question in undo?.takeQuestions() ?? [] { effects.questions.append(.past(model: id, question)) }
    guard keeps(context) else { return }
    for (step, payload) in undo?.takeRecords() ?? [] {
      effects.journal.append(.undo(model: id, step: step, payload: payload))
    }
  }

  // MARK: Restoring

  /// Withdraws a step that was never sent, if that is what it is; the other stack gets what brings it back.
  fileprivate mutating func withdrawStep(
    _ step: UndoStep, on stack: UndoBook.Stack, _ context: inout SessionContext
  ) -> Bool {
    let isUnsent =
      step.fields.allSatisfy { $0.at == nil && $0.kind != .text }
      && step.writes.allSatisfy { writes[$0]?.wasNeverSent ?? false }
    guard isUnsent, !step.writes.isEmpty else { return false }
    let values = Dictionary(uniqueKeysWithValues: step.names.compactMap { name in shown(name).map { (name, $0) } })
    var places = ElementPlaces(in: lists)
    undo?.withdraw(step, on: stack, over: replica, shown: values) { places.place(of: $0) }
    for write in step.writes { end(write, as: .superseded, &context) }
    return true
  }

  fileprivate func obstacle(to step: UndoStep, _ context: SessionContext) -> UndoFailure? {
    UndoBook.obstacle(
      to: step, in: replica, isPending: { !writes.writes(over: $0).isEmpty }, isOwn: resolver(context).isOwn)
  }

  fileprivate func restoration(of step: UndoStep) -> (proposal: Proposal, rules: [String: RuledWrite])? {
    guard let (proposal, rules) = undo?.restoration(of: step, in: replica, lists, shown: { shown($0) }),
      !proposal.operations.isEmpty
    else {
      return nil
    }
    return (proposal, rules)
  }

  /// Whether earlier writes, whose commits have not arrived, place elements in the lists of a write: where its own go
  /// depends on them.
  private func waitsForPlaces(_ write: WriteID) -> Bool {
    let names = writes[write]?.proposal.operations.compactMap { ListElements.parts(of: $0.field)?.list } ?? []
    guard !names.isEmpty else { return false }
    let lists = Swift.Set(names)
    return writes.order.prefix { $0 != write }.contains { earlier in
      writes[earlier]?.overlay.contains { operation in
        operation.isPlacing && ListElements.parts(of: operation.field).map { lists.contains($0.list) } ?? false
      } ?? false
    }
  }

  /// Finds the final values of a write that takes back a step, now that no earlier write of its fields is pending.
  mutating func finalizeRestoring(
    _ write: WriteID, _ resolver: ConflictResolver, _ context: inout SessionContext
  ) -> ConflictResolver.Decision {
    guard let step = undo?.source(of: write) else { return .send }
    guard !waitsForPlaces(write) else { return .wait }
    var failure: UndoFailure?
    var isEmpty = false
    writes.update(write) {
      failure = UndoBook.finalize(&$0, from: step, in: resolver.replica, isOwn: resolver.isOwn)
      isEmpty = $0.proposal.operations.isEmpty
    }
    if let failure {
      undo?.fail(write, failure)
      return .end(.conflict(resolver.conflict(about: failure.field)))
    }
    if isEmpty { return .end(.unchanged) }
    if let operations = writes[write]?.proposal.operations { undo?.restrict(write, to: operations) }
    if let overlay = writes[write]?.overlay { touch(overlay) }
    update.record(.local)
    context.hasFinalized = true
    return .send
  }
}

extension WriteError {
  /// Whether the same write may succeed later.
  fileprivate var mayPass: Bool {
    switch self {
    case .stopped, .notJoined, .loop, .outboxFull, .numbersUsedUp: true
    default: false
    }
  }
}

extension Pending {
  /// Whether the hub cannot know of it.
  fileprivate var wasNeverSent: Bool {
    number == nil && !sending.wasSent && !sending.isSecondTry && carried == nil && isUnacknowledged
  }
}
