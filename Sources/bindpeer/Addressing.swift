import BindingPeer
import Foundation

/// `MODEL`, `MODEL.FIELD`, or a prefix `MODELS/`.
struct Address {
  let model: String
  let field: String?
  var isPrefix: Bool { model.isEmpty || model.hasSuffix("/") }

  init(_ text: String) throws(Failure) {
    // A model id has no dots, so the first one begins the field; `@description` and friends are fields like others.
    if let dot = text.firstIndex(of: ".") {
      model = String(text[..<dot])
      field = String(text[text.index(after: dot)...])
    } else {
      model = text
      field = nil
    }
    do throws(WireError) {
      if isPrefix { try Names.checkPrefix(model) } else { try Names.checkModel(model) }
      if let field { try Names.checkField(field) }
    } catch {
      throw Failure(.usage, "'\(text)' is no address: \(error.problem)")
    }
    if isPrefix, field != nil {
      throw Failure(.usage, "'\(text)': a field belongs to one model, not to all below a prefix")
    }
  }

  var description: String { field.map { "\(model).\($0)" } ?? model }
}

/// One assignment of the command line, before the model's description is known.
struct Assignment {
  enum Source {
    case text(String)
    case json(String)
    case add(String)
    case toggle
  }
  let model: String
  let field: String
  let source: Source

  init(_ text: String) throws(Failure) {
    if text.hasSuffix("!"), !text.contains("=") {
      try self.init(text.dropLast(), .toggle, in: text)
      return
    }
    guard let equals = text.firstIndex(of: "=") else {
      throw Failure(.usage, "'\(text)' assigns nothing: write MODEL.FIELD=VALUE")
    }
    let value = String(text[text.index(after: equals)...])
    let left = text[..<equals]
    if left.hasSuffix(":") {
      try self.init(left.dropLast(), .json(value), in: text)
    } else if left.hasSuffix("+") {
      try self.init(left.dropLast(), .add(value), in: text)
    } else if value == "-" {
      try self.init(left, .text(Assignment.trimmed(FileHandle.standardInput.readDataToEndOfFile())), in: text)
    } else if value.hasPrefix("@") {
      let path = String(value.dropFirst())
      guard let data = FileManager.default.contents(atPath: path) else {
        throw Failure(.usage, "'\(text)': the file \(path) cannot be read")
      }
      try self.init(left, .text(Assignment.trimmed(data)), in: text)
    } else {
      try self.init(left, .text(value), in: text)
    }
  }

  private init(_ place: Substring, _ source: Source, in text: String) throws(Failure) {
    let address = try Address(String(place))
    guard let field = address.field, !address.isPrefix else {
      throw Failure(.usage, "'\(text)' names no field: write MODEL.FIELD=VALUE")
    }
    model = address.model
    self.field = field
    self.source = source
  }

  /// A file's last line end is the editor's, not the value's.
  private static func trimmed(_ data: Data) -> String {
    let text = String(decoding: data, as: UTF8.self)
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }

  /// Whether it can be proposed without knowing what the hub has.
  var isBlind: Bool { if case .toggle = source { false } else { true } }

  /// What to propose, given what is declared of the field and what it shows.
  func operation(declared: FieldDescription?, shown: FieldValue?) throws(Failure) -> FieldOperation {
    switch source {
    case .add(let text):
      guard let number = try? JSON(parsing: text), number.isNumber else {
        throw Failure(.doesNotFit, "\(model).\(field)+=\(text): only a number can be added")
      }
      return FieldOperation(.add, field, FieldValue(json: number))
    case .toggle:
      guard case .bool(let value)? = try? shown?.json ?? .bool(false) else {
        throw Failure(.doesNotFit, "\(model).\(field)! toggles true and false; it is \(Terminal.readable(shown))")
      }
      return FieldOperation(.set, field, FieldValue(json: .bool(!value)))
    case .json(let text):
      guard let json = try? JSON(parsing: text) else {
        throw Failure(.doesNotFit, "\(model).\(field):=\(text): that is no JSON")
      }
      return try checked(json, declared)
    case .text(let text): return try checked(read(text, declared), declared)
    }
  }

  /// As the declared type; without one JSON if it parses, else text.
  private func read(_ text: String, _ declared: FieldDescription?) -> JSON {
    if declared?.type == .string { return .string(text) }
    if declared?.type == .boolean, let value = ["on": true, "yes": true, "off": false, "no": false][text.lowercased()] {
      return .bool(value)
    }
    return (try? JSON(parsing: text)) ?? .string(text)
  }

  private func checked(_ json: JSON, _ declared: FieldDescription?) throws(Failure) -> FieldOperation {
    if let problem = declared?.problem(with: json) { throw Failure(.doesNotFit, "\(model).\(field): \(problem)") }
    return FieldOperation(.set, field, FieldValue(json: json))
  }
}

extension JSON {
  var isNumber: Bool {
    switch self {
    case .integer, .number: true
    default: false
    }
  }
}
