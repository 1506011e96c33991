import BindingProtocol

/// What a peer has in an ephemeral line by what the hub has decided, each field with the number of the write that says
/// so, since outcomes come in any order. What has no outcome yet speaks for itself: it is sent again.
///
/// It is kept apart from the replica, which lacks what the hub took away from a peer that it held for gone, or has not
/// heard of since it started again.
struct Claims: Sendable {
  private struct Claim: Sendable {
    /// nil: deleted, or given up.
    var value: FieldValue?
    var number: ProposalNumber
  }
  private var fields: [String: Claim] = [:]
  private var clearedBy: ProposalNumber = 0

  /// What to claim, in the order of the names.
  var all: [(field: String, value: FieldValue)] {
    fields.compactMap { name, claim in claim.value.map { (name, $0) } }.sorted { $0.field < $1.field }
  }

  func has(_ field: String) -> Bool { fields[field]?.value != nil }

  func claims(_ value: FieldValue?, in field: String) -> Bool { value != nil && fields[field]?.value == value }

  var isEmpty: Bool { fields.values.allSatisfy { $0.value == nil } }

  /// The hub has carried the write out, or found nothing to do.
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

  /// All outcomes below that number are known: what was deleted need not be remembered.
  mutating func forget(before number: ProposalNumber) {
    fields = fields.filter { $0.value.value != nil || $0.value.number >= number }
  }

  /// Of two writes of a field the later one counts, whichever outcome comes first.
  mutating func record(_ value: FieldValue?, in field: String, by number: ProposalNumber) {
    guard number > clearedBy, fields[field].map({ $0.number <= number }) ?? true else { return }
    fields[field] = Claim(value: value, number: number)
  }
}
