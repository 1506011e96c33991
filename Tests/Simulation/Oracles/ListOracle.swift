import BindingHub
import BindingPeer
import BindingProtocol

/// Lists, kept as plain arrays: each commit makes of the list before what the operations of its proposal say, and its
/// head tells the number of elements (§6.5). Nothing is doubled, lost or back from the dead, and what no operation
/// names keeps its order.
final class ListOracle: Invariant, SimulationPart {
  private struct Element: Equatable {
    let id: String
    var content: JSON
  }
  private struct Operation {
    let verb: Verb
    /// nil: the whole list.
    let id: String?
    let operand: JSON?
  }
  private struct Key: Hashable {
    let model: Int
    let tag: Tag
    let number: ProposalNumber
  }
  let context: SimulationContext
  let log: LogOracle
  /// What each proposal does to the list.
  @exclusivity(unchecked) private var asked: [Key: [Operation]] = [:]
  private let head = SimulatedField.names[SimulatedField.head]

  init(context: SimulationContext, log: LogOracle) { (self.context, self.log) = (context, log) }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .received(let frame, let peer, let hub) where frame.first == PeerMessageKind.propose.rawValue:
      note(frame, of: peer, at: hub)
    case .forwarded(let forward): note(forward)
    case .stored(let batch, _): try check(batch)
    default: break
    }
  }

  // MARK: What is asked

  private func note(_ frame: [UInt8], of peer: SimulatedPeer, at hub: SimulatedHub) {
    guard case (_, .propose(let proposals))? = try? PeerMessage.decode(frame) else { return }
    for proposal in proposals {
      guard let model = hub.model(of: proposal.topic) else { continue }
      note(proposal, of: peer.tag, model) { hub.fieldName($0, of: proposal.topic) }
    }
  }

  /// A hub passes proposals on, with names in place of its numbers.
  private func note(_ forward: Forward) {
    guard let model = modelNames.firstIndex(of: forward.head.model) else { return }
    for proposal in forward.proposals { note(proposal, of: forward.head.identity.tag, model) { _ in nil } }
  }

  /// - Parameter known: the name of a field by the number that its hub has given it.
  private func note(
    _ proposal: NumberedProposal, of tag: Tag, _ model: Int, _ known: (FieldID) -> String?
  ) {
    let operations = proposal.operations.compactMap { operation -> Operation? in
      let field: String
      switch operation.field {
      case .name(let name): field = name
      case .id(let id):
        guard let name = known(id) else { return nil }
        field = name
      }
      let operand = operation.value.flatMap { try? $0.json }
      if operation.verb == .delete, field == head { return Operation(verb: .delete, id: nil, operand: nil) }
      guard field.hasPrefix("\(head)@") else { return nil }
      return Operation(verb: operation.verb, id: String(field.dropFirst(head.utf8.count + 1)), operand: operand)
    }
    if !operations.isEmpty { asked[Key(model: model, tag: tag, number: proposal.number)] = operations }
  }

  // MARK: What is stored

  private func check(_ batch: Batch) throws(Violation) {
    guard let model = modelNames.firstIndex(of: batch.model), !batch.body.isEmpty, batch.version > batch.previous else {
      return
    }
    for version in batch.previous + 1...batch.version {
      let point = LogOracle.Point(model: model, epoch: batch.epoch, version: version)
      guard let entry = log.entry(point), let after = log.state(point) else { continue }
      guard entry.changes.contains(where: { $0.field >= SimulatedField.head }) else { continue }
      if entry.isRecovered {
        counts[.listRecovered] += 1
        continue
      }
      let before = log.state(.init(model: model, epoch: batch.epoch, version: version - 1)) ?? []
      try check(entry, elements(of: before), after, point)
    }
    // Recovered elements may be counted by a later commit of the same batch.
    guard let state = log.state(.init(model: model, epoch: batch.epoch, version: batch.version)) else { return }
    try checkHead(state, of: model, at: batch.version)
  }

  private func check(
    _ entry: LogOracle.Entry, _ before: [Element], _ after: LogOracle.State, _ point: LogOracle.Point
  ) throws(Violation) {
    let what = "version \(point.version) of \(log.title(point))"
    guard let operations = asked[Key(model: point.model, tag: entry.tag, number: entry.number)] else {
      throw Violation(.listOrder, "\(what) changes a list, and its proposal does not")
    }
    var list = before
    for operation in operations { try apply(operation, to: &list, what) }
    let present = elements(of: after)
    guard present == list else {
      throw Violation(
        .listOrder,
        "\(what) made \(ListOracle.text(present)) of \(ListOracle.text(before)) by \(ListOracle.text(operations)), not "
          + ListOracle.text(list))
    }
    let isBumped = entry.change(of: SimulatedField.head) != nil
    let mayBump = operations.contains { $0.verb != .replace }
    guard isBumped ? mayBump : present.map(\.id) == before.map(\.id) else {
      throw Violation(.listOrder, "\(what) \(isBumped ? "changes" : "leaves") the head of its list")
    }
    counts[.listChanged] += 1
    let named = Swift.Set(operations.compactMap(\.id))
    if entry.changes.contains(where: { $0.field > SimulatedField.head && !named.contains(id(of: $0.field)) }),
      !operations.contains(where: { $0.id == nil })
    {
      counts[.listSpread] += 1
    }
  }

  private func apply(_ operation: Operation, to list: inout [Element], _ what: String) throws(Violation) {
    guard let id = operation.id else { return list.removeAll() }
    let place = list.firstIndex { $0.id == id }
    switch operation.verb {
    case .delete: if let place { list.remove(at: place) }
    case .insert:
      guard place == nil, let content = operation.operand?["is"] else {
        throw Violation(.listOrder, "\(what) inserts \(id), which the list has")
      }
      put(Element(id: id, content: content), operation.operand, into: &list)
    case .move:
      guard let place else { throw Violation(.listOrder, "\(what) moves \(id), which the list does not have") }
      put(list.remove(at: place), operation.operand, into: &list)
    default:
      guard let place, let content = operation.operand else {
        throw Violation(.listOrder, "\(what) replaces \(id), which the list does not have")
      }
      list[place].content = content
    }
  }

  private func put(_ element: Element, _ operand: JSON?, into list: inout [Element]) {
    for (anchor, offset) in [("after", 1), ("before", 0)] {
      guard let other = operand?[anchor]?.string, let index = list.firstIndex(where: { $0.id == other }) else {
        continue
      }
      return list.insert(element, at: index + offset)
    }
    list.append(element)
  }

  private func checkHead(_ state: LogOracle.State, of model: Int, at version: Version) throws(Violation) {
    let count = elements(of: state).count
    let told = state[SimulatedField.head].flatMap { try? $0.json["$list"]?.int64 }
    guard (told ?? 0) != Int64(count) else { return }
    throw Violation(
      .listOrder,
      "the head of the list in version \(version) of \(modelNames[model]) tells \(told ?? 0) elements of \(count)")
  }

  // MARK: Reading

  private func id(of field: Int) -> String { SimulatedField.elementIDs[field - SimulatedField.head - 1] }

  private func elements(of state: LogOracle.State) -> [Element] {
    guard !state.isEmpty else { return [] }
    var found: [(rank: Int64, element: Element)] = []
    for field in SimulatedField.head + 1..<SimulatedField.count {
      guard let json = state[field].flatMap({ try? $0.json }), let rank = json["at"]?.int64, let content = json["is"]
      else { continue }
      found.append((rank, Element(id: id(of: field), content: content)))
    }
    return found.sorted { ($0.rank, $0.element.id) < ($1.rank, $1.element.id) }.map(\.element)
  }

  private static func text(_ list: [Element]) -> String { "[\(list.map(\.id).joined(separator: " "))]" }

  private static func text(_ operations: [Operation]) -> String {
    operations.map { "\($0.verb) \($0.id ?? "all") \($0.operand?.text ?? "")" }.joined(separator: ", ")
  }
}
