/// Values for a few fields. Most often there is one, which is stored inline, without a dictionary.
struct ByField<Value: Sendable>: Sendable {
  private var first: (field: String, value: Value)?
  private var others: [String: Value] = [:]

  init() {}

  /// Of two values for one field the first counts.
  init(_ values: some Sequence<(String, Value)>) {
    for (field, value) in values where self[field] == nil { self[field] = value }
  }

  /// A field's value; setting nil removes it.
  subscript(field: String) -> Value? {
    get {
      if let first, first.field == field { return first.value }
      return others.isEmpty ? nil : others[field]
    }
    set {
      if first?.field == field || first == nil && others.isEmpty {
        first = newValue.map { (field, $0) }
      } else {
        others[field] = newValue
      }
    }
  }

  /// All values, in the order of the fields' names.
  var sorted: [(field: String, value: Value)] {
    let all = others.map { (field: $0.key, value: $0.value) } + (first.map { [$0] } ?? [])
    return all.count > 1 ? all.sorted { $0.field < $1.field } : all
  }
}
