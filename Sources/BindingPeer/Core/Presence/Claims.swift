import BindingProtocol

/// The fields that a peer has in an ephemeral model, as the hub decided, each with the number of the deciding write,
/// since outcomes arrive in any order. Writes without an outcome are not included: they are resent.
///
/// Claims are separate from the replica, which lacks what the hub removed when it took this peer for gone, and what a
/// restarted hub has not received.
struct Claims: Sendable {
  private struct Claim: Sendable {
    /// nil: deleted or given up.
    var value: FieldValue?
    var number: ProposalNumber
  }
  private var fields: [String: Claim] = [:]
  private var clearedBy: ProposalNumber = 0

  /// The fields to claim, in the order of their names.
  var all: [(field: String, value: FieldValue)] {
    fields.compactMap { name, claim in claim.value.map { (name, $0) } }.sorted { $0.field < $1.field }
  }

  func has(_ field: String) -> Bool { fields[field]?.value != nil }

  func claims(_ value: FieldValue?, in field: String) -> Bool { value != nil && fields[field]?.value == value }

  var isEmpty: Bool { fields.values.allSatisfy { $0.value == nil } }

  /// Applies a write that the hub has committed, or found to change nothing (`isKept`).
  mutating func apply(_ write: Pending, isKept: Bool) {
    guard let number = write.number else { return }
    for operation in write.proposal.operations {
      switch operation.verb {
      case .set: record(operation.value, in: operation.field, by: number)
      case .delete: record(nil, in: operation.field, by: number)
      case .clear:
        clearedBy = max(clearedBy, number)
        fields = fields.filter { $0.value.number > number }
      case .setIfAbsent, .add, .max, .min, .union: if !isKept { record(nil, in: operation.field, by: number) }
      }
    }
  }

  /// Forgets deletions with lower numbers: all outcomes below that number are known.
  mutating func forget(before number: ProposalNumber) {
    fields = fields.filter { $0.value.value != nil || $0.value.number >= number }
  }

  /// Records a field's value. The write with the higher number counts, whichever outcome arrives first.
  mutating func record(_ value: FieldValue?, in field: String, by number: ProposalNumber) {
    guard number > clearedBy, fields[field].map({ $0.number <= number }) ?? true else { return }
    fields[field] = Claim(value: value, number: number)
  }
}
