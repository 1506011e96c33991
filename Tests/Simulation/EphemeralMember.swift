import BindingPeer
import BindingProtocol

/// What the application of a peer in an ephemeral model remembers, to check the model against what it said there.
final class EphemeralMember {
  /// Unacknowledged writes, and the fields that each touches; empty: all of them.
  @exclusivity(unchecked) var unacknowledged: [WriteID: [String]] = [:]
  @exclusivity(unchecked) var withdrawn: Swift.Set<WriteID> = []
  /// By field: its effective writes, oldest first; a nil value is a deletion.
  @exclusivity(unchecked) private var written: [String: [(id: WriteID, value: FieldValue?)]] = [:]
  /// Whether the hub once took it for gone or has restarted: another peer may have claimed its fields.
  @exclusivity(unchecked) var mayHaveLost = false
  /// How often the session claimed a field again that another peer had taken by then.
  @exclusivity(unchecked) var refusedClaims = 0
  /// Fields that the hub refused because they are another peer's.
  @exclusivity(unchecked) var refused: Swift.Set<String> = []
  /// The version that it last showed.
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

  /// Undoes a write without effect: the previous one counts again.
  func revert(_ id: WriteID) {
    for field in written.keys { written[field]?.removeAll { $0.id == id } }
  }

  /// Its value of a field, to its own knowledge.
  func has(_ field: String) -> FieldValue? { written[field]?.last?.value }

  /// The last write of a field, if that is unacknowledged.
  func pending(_ field: String) -> (id: WriteID, value: FieldValue?)? {
    written[field]?.last.flatMap { unacknowledged[$0.id] == nil ? nil : $0 }
  }

  var fields: [String] { written.keys.sorted() }
}
