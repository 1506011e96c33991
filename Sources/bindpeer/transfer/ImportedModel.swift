import BindingPeer
import BindingTerminal

/// A line of `import`, or a row of a table: what a model is to be.
struct ImportedModel {
  let model: String
  let description: FieldValue?
  let values: [(name: String, value: Source)]

  enum Source: Equatable {
    case json(FieldValue)
    /// A cell that is not empty. What it means depends on the declaration of the field.
    case cell(String)
  }

  /// What is wrong with a line, as the rest of a sentence that names it.
  struct Fault: Error { let words: String }

  /// Reads an object with `model`, `values` and perhaps `description`, as `export` and `get --json` print it.
  init(_ line: [UInt8]) throws(Fault) {
    guard line.count <= ImportedModel.longestLine else {
      throw Fault(words: "has more than \(ImportedModel.longestLine) bytes")
    }
    guard let members = JSON.members(ofText: line) else {
      let text = excerpt(String(decoding: line.prefix(1_000), as: UTF8.self), limit: 80)
      throw Fault(words: "is not a JSON object: \(text)")
    }
    func member(_ name: String) -> FieldValue? { members.last { $0.name == name }?.value }
    guard case .string(let model)? = try? member("model")?.json else {
      throw Fault(words: #"names no model: it needs "model" and "values", as bindpeer export prints them"#)
    }
    try ImportedModel.check(model: model)
    guard let values = member("values").flatMap({ JSON.members(ofText: $0.bytes) }) else {
      throw Fault(words: #"has no object of fields in "values""#)
    }
    for (name, _) in values { try ImportedModel.check(field: name) }
    self.model = model
    self.values = values.map { ($0.name, .json($0.value)) }
    description = member("description")
    if let description, JSON.members(ofText: description.bytes) == nil {
      throw Fault(words: #"has no object in "description""#)
    }
  }

  /// Takes the cells of a row; empty ones are no values.
  init(row model: String, _ cells: [(name: String, text: String)]) throws(Fault) {
    try ImportedModel.check(model: model)
    self.model = model
    values = cells.filter { !$0.text.isEmpty }.map { ($0.name, .cell($0.text)) }
    description = nil
  }

  private static func check(model: String) throws(Fault) {
    do throws(WireError) { try Names.checkModel(model) } catch {
      throw Fault(words: "names no model: \(error.problem)")
    }
  }

  static func check(field: String) throws(Fault) {
    do throws(WireError) { try Names.checkField(field) } catch {
      throw Fault(words: "has no field '\(excerpt(field))': \(error.problem)")
    }
    guard !field.hasPrefix("@") else { throw Fault(words: "has a value for \(field), which programs do not write") }
  }

  /// A model of 100,000 fields has about as many bytes.
  static let longestLine = 64 << 20

  /// How the fields of a present model become these.
  enum Way {
    case overwrite
    /// Only fields that never had a value.
    case fill
    /// Fields that are not named here are deleted.
    case replace
  }

  /// What is to be written first: a model keeps the description that it has, unless it is replaced.
  func describing(_ present: SharedModel, _ way: Way) -> [Proposal] {
    let known = present.values[Names.description]
    guard let description, known == nil || way == .replace, known != description else { return [] }
    return [present.replacement(of: description)]
  }

  /// What is to be written to the fields of a present model, in several proposals if one cannot have all.
  /// - Throws: a list that cannot be one.
  func proposals(to present: SharedModel, _ way: Way) throws(Fault) -> [Proposal] {
    var operations: [FieldOperation] = []
    let shown = present.values
    let declared = present.modelDescription.fields
    for (name, source) in values {
      let field = present.storedName(of: name)
      guard let value = try ImportedModel.value(of: source, field, declared[field]), shown[field] != value else {
        continue
      }
      if way == .fill {
        if shown[field] == nil { operations.append(FieldOperation(.setIfAbsent, field, value)) }
      } else {
        do throws(ListError) { operations += try present.operations(setting: field, to: value) } catch {
          throw Fault(words: "has no list in \(field): \(error)")
        }
      }
    }
    if way == .replace {
      let kept = Swift.Set(values.map { present.storedName(of: $0.name) })
      let gone = shown.keys.filter { !$0.hasPrefix("@") && !kept.contains($0) }.sorted()
      operations += gone.map { FieldOperation(.delete, $0) }
    }
    return ImportedModel.proposals(of: operations)
  }

  private static func value(
    of source: Source, _ field: String, _ declared: FieldDescription?
  ) throws(Fault) -> FieldValue? {
    switch source {
    case .json(let value): return value
    case .cell(let text):
      let value: FieldValue?
      do throws(TypedText.Fault) { value = try TableCell.value(of: text, as: declared?.type) } catch {
        throw Fault(words: "has no value for \(field) in the cell \(excerpt(text, limit: 80)): \(error.words)")
      }
      if let problem = declared?.misfit(of: value) {
        throw Fault(words: "does not fit \(field): \(problem)")
      }
      return value
    }
  }

  /// Limits of one proposal, below those that hubs have by default.
  private static let (mostOperations, mostBytes) = (1_000, 200_000)

  private static func proposals(of operations: [FieldOperation]) -> [Proposal] {
    var (proposals, bytes) = ([Proposal](), 0)
    for operation in operations {
      let size = operation.field.utf8.count + (operation.value?.bytes.count ?? 0) + 16
      if let last = proposals.last, last.operations.count < mostOperations, bytes + size <= mostBytes {
        proposals[proposals.count - 1].operations.append(operation)
        bytes += size
      } else {
        proposals.append(Proposal(operations: [operation]))
        bytes = size
      }
    }
    return proposals
  }
}
