import BindingPeer
import BindingProtocol

/// What the application of a peer in an ephemeral line remembers, to hold the line to what it said there.
final class EphemeralMember {
  /// Unacknowledged writes, and which fields each is about; empty: all of them.
  @exclusivity(unchecked) var unacknowledged: [WriteID: [String]] = [:]
  @exclusivity(unchecked) var withdrawn: Swift.Set<WriteID> = []
  /// By field: its writes that count, oldest first; nil: it was deleted.
  @exclusivity(unchecked) private var written: [String: [(id: WriteID, value: FieldValue?)]] = [:]
  /// The hub has taken it for gone once, or has started again: another may have been quicker.
  @exclusivity(unchecked) var mayHaveLost = false
  /// How often the session claimed something again that was another's by then.
  @exclusivity(unchecked) var refusedClaims = 0
  /// What it was told is another's.
  @exclusivity(unchecked) var refused: Swift.Set<String> = []
  /// What it has come to show.
  @exclusivity(unchecked) var seen: (epoch: Epoch, version: Version) = (0, 0)
  @exclusivity(unchecked) var isAway = false

  func record(_ id: WriteID, _ operations: [FieldOperation]) {
    unacknowledged[id] = operations.contains { $0.verb == .clear } ? [] : operations.map(\.field)
    for operation in operations {
      switch operation.verb {
      case .clear: for field in written.keys { written[field]?.append((id, nil)) }
      default: written[operation.field, default: []].append((id, operation.value))
      }
    }
  }

  /// A write had no effect: what was said before stands.
  func revert(_ id: WriteID) {
    for field in written.keys { written[field]?.removeAll { $0.id == id } }
  }

  /// What it has in a field, as far as it knows.
  func has(_ field: String) -> FieldValue? { written[field]?.last?.value }

  /// The last write of a field, if that is unacknowledged.
  func pending(_ field: String) -> (id: WriteID, value: FieldValue?)? {
    written[field]?.last.flatMap { unacknowledged[$0.id] == nil ? nil : $0 }
  }

  var fields: [String] { written.keys.sorted() }
}
