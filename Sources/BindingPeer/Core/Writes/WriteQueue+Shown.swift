import BindingProtocol

/// Queries: what pending writes show, and the state of one write or of those over a field.
extension WriteQueue {
  /// Whether the write hides everything below it in a field.
  private func covers(_ write: Int, _ field: String) -> Bool {
    guard !pending[at: write].isHidden, pending[at: write].rules[field] != .text else { return false }
    return pending[at: write].overlay.indices.contains { index in
      let verb = pending[at: write].overlay[index].verb
      return (verb == .set || !verb.takesValue) && pending[at: write].overlay[index].field == field
    }
  }

  /// The value that shows: the committed one, overlaid by the pending writes, oldest first.
  /// - Parameter version: that of the committed value; 0: the field was never written.
  func shown(_ field: String, over committed: FieldValue?, at version: Version) -> FieldValue? {
    guard let writes = over.index(of: field), !over[at: writes].isEmpty else { return committed }
    var value = committed
    // Of many writes over one field only the last set and those after it count.
    var from = over[at: writes].count - 1
    while from > 0, pending.index(of: over[at: writes][from]).map({ covers($0, field) }) != true { from -= 1 }
    for id in over[at: writes][from...] {
      guard let index = pending.index(of: id), !pending[at: index].isHidden else { continue }
      for number in pending[at: index].overlay.indices where pending[at: index].overlay[number].field == field {
        let operation = pending[at: index].overlay[number]
        switch operation.verb {
        case .set: value = pending[at: index].overlaid(value, field, operation.value, at: version)
        case .delete, .clear: value = nil
        case .setIfAbsent: value = value ?? operation.value
        case .add, .max, .min, .union, .describe:
          if let operand = operation.value { value = Merge.apply(operation.verb, operand: operand, to: value) ?? value }
        case .insert: value = value ?? operation.value.flatMap(PendingElement.inserted)
        case .replace:
          if let element = operation.value { value = value.map { PendingElement.replacing($0, by: element) } }
        // It concerns the order alone (`ListOverlay`).
        case .move: break
        }
      }
    }
    return value
  }

  /// The writes that show, oldest first.
  var overlaid: [WriteID] { pending.elements.filter { !$0.isHidden }.map(\.id) }

  /// The overlaid fields, in no particular order.
  var fields: [String] { over.indices.filter { !over[at: $0].isEmpty }.map { over.keys[$0] } }

  /// Whether no earlier pending write of this peer concerns the field, one that waits for its commit included.
  func isFirst(_ id: WriteID, over field: String) -> Bool { over[field]?.first == id }

  /// Whether a pending write of this peer that is earlier than this one concerns the field.
  func hasEarlier(than id: WriteID, over field: String) -> Bool { over[field]?.first.map { $0 < id } ?? false }

  /// Whether no later pending write of this peer concerns the field.
  func isLast(_ id: WriteID, over field: String) -> Bool { over[field]?.last == id }

  /// The writes over a field, oldest first.
  func writes(over field: String) -> [Pending] { over[field]?.compactMap { pending[$0] } ?? [] }

  /// Whether a write of this peer overlays the field.
  func isPending(_ field: String) -> Bool {
    over[field]?.contains { id in pending.index(of: id).map { !pending[at: $0].isHidden } ?? false } ?? false
  }

  /// Whether the write has no outcome; false if it is not in this outbox.
  func isUnacknowledged(_ id: WriteID) -> Bool {
    pending.index(of: id).map { pending[at: $0].isUnacknowledged } ?? false
  }

  /// The write's number; nil if none is assigned.
  func number(of id: WriteID) -> ProposalNumber? { pending.index(of: id).flatMap { pending[at: $0].number } }

  /// The operations of a write that the committed values already hold; nil for other writes.
  func overlayIfHidden(_ id: WriteID) -> [FieldOperation]? {
    guard let index = pending.index(of: id), pending[at: index].isHidden else { return nil }
    return pending[at: index].overlay
  }

  /// The last write, if it has no number and the one before it has one.
  var lastUnnumbered: WriteID? {
    guard let last = pending.lastKey, number(of: last) == nil, isUnacknowledged(last) else { return nil }
    return count == 1 || pending.lastKey(before: last).flatMap(number) != nil ? last : nil
  }

  /// The oldest write without an outcome.
  var oldestUnacknowledged: Pending? { pending.elements.first(where: \.isUnacknowledged) }

  /// Whether a write of this peer over the field has no outcome.
  func isUnacknowledged(_ field: String) -> Bool { over[field]?.contains { isUnacknowledged($0) } ?? false }

  /// Whether a write of this peer over the field, with a number below the given one, has no outcome.
  func isUnacknowledged(_ field: String, before number: ProposalNumber) -> Bool {
    over[field]?.contains { id in isUnacknowledged(id) && self.number(of: id).map { $0 < number } ?? false } ?? false
  }

  func isInFlight(_ field: String) -> Bool { over[field]?.contains { number(of: $0) != nil } ?? false }
}
