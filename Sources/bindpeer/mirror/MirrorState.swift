import BindingPeer

/// What a model and its file agreed on last, and what each has changed since. It has no file, model or clock.
struct MirrorState {
  /// A field that one side has changed; nil: it removed it.
  struct Change: Equatable {
    let field: String
    let before: FieldValue?
    let value: FieldValue?
  }
  private(set) var agreed: [String: FieldValue] = [:]

  /// Both begin with these.
  init(_ agreed: [String: FieldValue] = [:]) { self.agreed = agreed }

  /// Takes what one side has now.
  /// - Returns: what the other side has to take over.
  mutating func take(_ values: [String: FieldValue]) -> [Change] {
    let names = Swift.Set(values.keys).union(agreed.keys).sorted()
    let changes = names.filter { values[$0] != agreed[$0] }
      .map { Change(field: $0, before: agreed[$0], value: values[$0]) }
    agreed = values
    return changes
  }

  /// The fields in which two beginnings contradict each other.
  static func differences(_ model: [String: FieldValue], _ file: [String: FieldValue]) -> [String] {
    file.keys.filter { name in model[name].map { $0 != file[name] } ?? false }.sorted()
  }
}
