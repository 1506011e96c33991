import BindingProtocol

/// The forms of a model's fields by the description that shows, for values that are passed on in order with it.
struct ShownForms: Sendable {
  private var byField: [String: DescribedForm] = [:]
  private var isRead = false

  subscript(field: String) -> DescribedForm? { byField.isEmpty ? nil : byField[field] }

  /// The forms with which it begins, unless a description was read before.
  mutating func begin(with present: [String: DescribedForm]) {
    guard !isRead else { return }
    (byField, isRead) = (present, true)
  }

  /// Reads another description.
  /// - Returns: the fields whose form it changes.
  mutating func read(_ description: FieldValue?) -> [String] {
    let next = description.flatMap(DescribedModel.init)?.forms ?? [:]
    let changed = Swift.Set(byField.keys).union(next.keys).filter { byField[$0] != next[$0] }
    (byField, isRead) = (next, true)
    return changed.sorted()
  }
}
