import BindingProtocol

/// A program's declaration of a model's fields, as its shares propose it.
struct Declaration: Sendable {
  /// The description of the fields.
  private(set) var described: ModelDescription
  /// The defaults of stored fields, as weak writes.
  let defaults: [FieldOperation]
  /// The elements of the defaults of lists, as insertions.
  let lists: [(name: String, elements: [FieldOperation])]
  /// The fields' names, in declared order.
  let order: [String]
  /// The forms of fields whose type is another one than in an earlier release.
  let forms: [String: DescribedForm]

  init(_ cells: [(name: String, cell: any AnyFieldCell)], release: Int, aliases: [String: String]) {
    var described = ModelDescription()
    var defaults: [FieldOperation] = []
    for (index, (name, cell)) in cells.enumerated() {
      var description = cell.description
      description.order = index + 1
      described.fields[name] = description
      if let value = cell.encodedDefault, !description.isEphemeral {
        defaults.append(FieldOperation(.setIfAbsent, name, value))
      }
    }
    described.release = max(release, 0)
    described.aliases = aliases
    self.described = described
    self.defaults = defaults
    lists = cells.map { ($0.name, $0.cell.defaultElements(in: $0.name)) }.filter { !$0.1.isEmpty }
    order = cells.map(\.name)
    forms = described.fields.compactMapValues { $0.formerly == nil ? nil : $0.form }
    for (name, cell) in cells {
      let text = described.fields[name].map { FieldValue(json: $0.json) }
      cell.declare(text.flatMap { DescribedField($0, release: described.release) })
    }
  }

  /// The description as it is proposed.
  var text: FieldValue { FieldValue(json: described.json) }

  /// Leaves out what would make the merged description longer than a hub allows: the help first, then whole fields,
  /// the last ones first.
  /// - Returns: what is left out, in words; nil: nothing.
  mutating func shorten(toFit limit: Int, over present: FieldValue?) -> String? {
    func fits(_ described: ModelDescription) -> Bool {
      let merge = DescriptionMerge(of: FieldValue(json: described.json), into: present)
      return merge.map { $0.merged.bytes.count <= limit } ?? true
    }
    guard !fits(described) else { return nil }
    for name in described.fields.keys { described.fields[name]?.help = nil }
    guard !fits(described) else { return "the help texts are left out" }
    let whole = described
    func first(_ count: Int) -> ModelDescription {
      var some = whole
      some.fields = whole.fields.filter { field in order.prefix(count).contains(field.key) }
      some.aliases = whole.aliases.filter { some.fields[$0.value] != nil }
      return some
    }
    var (most, tooMany) = (0, order.count)
    while tooMany - most > 1 {
      let middle = (most + tooMany) / 2
      if fits(first(middle)) { most = middle } else { tooMany = middle }
    }
    described = first(most)
    let left = order.dropFirst(most)
    let names = left.prefix(20).joined(separator: ", ") + (left.count > 20 ? ", … (\(left.count) in all)" : "")
    return "the help texts are left out, and these fields are not described: \(names)"
  }
}
