import BindingPeer
import BindingTerminal
import Foundation

/// One assignment of the command line, before the model's description is known.
struct Assignment {
  enum Source {
    case text(String)
    /// The content of a file or standard input, and its name on the command line.
    case content([UInt8], of: String)
    case json(String)
    case add(String)
    case toggle
  }
  /// How to interpret a VALUE.
  enum Reading {
    /// As the declared type; if there is none, as JSON if it parses, else as text.
    case usual
    case text
    /// Files and standard input as bytes, everything else as usual.
    case bytes
  }
  let model: String
  /// The name as typed, until `resolve` replaces an alias.
  private(set) var field: String
  /// The element of the list that `field` is, or a member of it, if one is named.
  let element: ElementAddress?
  let source: Source

  /// Replaces an alias by the name under which the value is stored.
  mutating func resolve(in model: SharedModel) { field = model.storedName(of: field) }

  init(_ text: String) throws(Failure) {
    let least = Address.leastEnd(in: text)
    if text.hasSuffix("!"), !text[least...].contains("=") {
      try self.init(text.dropLast(), .toggle, in: text)
      return
    }
    guard let equals = text[least...].firstIndex(of: "=") else {
      throw Failure(.usage, "'\(excerpt(text))' is not an assignment: write MODEL.FIELD=VALUE")
    }
    let value = String(text[text.index(after: equals)...])
    let left = text[..<equals]
    if left.hasSuffix(":") {
      try self.init(left.dropLast(), .json(value), in: text)
    } else if left.hasSuffix("+") {
      try self.init(left.dropLast(), .add(value), in: text)
    } else if value == "-" {
      let content = [UInt8](FileHandle.standardInput.readDataToEndOfFile())
      try self.init(left, .content(content, of: "standard input"), in: text)
    } else if value.hasPrefix("@") {
      let path = String(value.dropFirst())
      guard let data = FileManager.default.contents(atPath: path) else {
        throw Failure(.usage, "'\(excerpt(text))': cannot read the file \(excerpt(path))")
      }
      try self.init(left, .content([UInt8](data), of: "the file \(excerpt(path))"), in: text)
    } else {
      try self.init(left, .text(value), in: text)
    }
  }

  private init(_ target: Substring, _ source: Source, in text: String) throws(Failure) {
    let address = try Address(String(target))
    guard let field = address.field, !address.isPrefix else {
      throw Failure(.usage, "'\(excerpt(text))' names no field: write MODEL.FIELD=VALUE")
    }
    model = address.model
    self.field = field
    element = address.element
    self.source = source
  }

  /// Whether it can be proposed without knowing the hub's state.
  var isBlind: Bool { if case .toggle = source { false } else { element == nil } }

  var title: String { "\(model).\(field)\(element?.description ?? "")" }

  /// The value that it gives a field, or a member of an element, of a type.
  func value(as type: FieldType, shown: FieldValue?, _ reading: Reading) throws(Failure) -> FieldValue {
    let operation = try operation(declared: FieldDescription(type: type), shown: shown, as: reading)
    guard let value = operation.value else { throw Failure(.ourBug, "\(title) has no value") }
    guard operation.verb == .add else { return value }
    guard let sum = Merge.apply(.add, operand: value, to: shown) else {
      throw Failure(.doesNotFit, "\(title): \(Merge.violation(.add, operand: value, to: shown))")
    }
    return sum
  }

  /// The operation to propose, given the field's declaration and shown value. Typed JSON is sent byte for byte.
  func operation(
    declared: FieldDescription?, shown: FieldValue?, as reading: Reading = .usual
  ) throws(Failure) -> FieldOperation {
    switch source {
    case .add(let text): return FieldOperation(.add, field, try summand(text))
    case .toggle:
      guard case .bool(let value)? = try? shown?.json ?? .bool(false) else {
        throw Failure(
          .doesNotFit, "\(title)! toggles true and false, and the value is \(Terminal.readable(shown))")
      }
      return FieldOperation(.set, field, FieldValue(json: .bool(!value)))
    case .json(let text):
      let value: FieldValue
      do throws(WireError) {
        value = try FieldValue(text: text)
      } catch {
        throw Failure(.doesNotFit, "\(title):=\(excerpt(text)): \(JSON.fault(text))")
      }
      return try checked(value, declared)
    case .text(let text): return try checked(read(text, declared, reading), declared)
    case .content(let bytes, let name):
      if reading == .bytes { return try checked(FieldValue(json: .binary(bytes)), declared) }
      guard bytes.withUnsafeBytes({ UTF8Check.isValid($0) }) else {
        throw Failure(
          .doesNotFit,
          """
          \(title): \(name) is not valid UTF-8.
          To send its content as bytes, {"$bytes":"<base64>"}:  --bytes
          """)
      }
      // The final line end of a file comes from the editor and is not part of the value.
      let text = String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
      return try checked(read(text, declared, reading), declared)
    }
  }

  /// A number that the hub can add, as typed; it must be in the range of a double.
  private func summand(_ text: String) throws(Failure) -> FieldValue {
    guard let value = try? FieldValue(text: text), let number = try? value.json, number.isNumber else {
      throw Failure(.doesNotFit, "\(title)+=\(excerpt(text)): only a number can be added")
    }
    let isZero = !text.prefix { $0 != "e" && $0 != "E" }.contains { ("1"..."9").contains($0) }
    guard let double = number.double, double.isFinite, isZero == (double == 0) else {
      throw Failure(.doesNotFit, "\(title)+=\(excerpt(text)): the number does not fit a double")
    }
    return value
  }

  private func read(_ text: String, _ declared: FieldDescription?, _ reading: Reading) throws(Failure) -> FieldValue {
    if reading == .text { return FieldValue(json: .string(text)) }
    do throws(TypedText.Fault) { return try TypedText.value(of: text, as: declared?.type) } catch {
      switch error {
      case .notJSON(let fault):
        throw Failure(
          .doesNotFit,
          """
          \(title)=\(excerpt(text)): the value begins like JSON and is \(fault).
          To write text:  --text        To write JSON, quote it for the shell:  '\(title):=JSON'
          """)
      case .numberOutsideJSON:
        throw Failure(
          .doesNotFit,
          """
          \(title)=\(text): JSON cannot express this number.
          Write '\(title):={"$float":"\(text)"}' for the number, or '\(title):="\(text)"' for text.
          """)
      }
    }
  }

  private func checked(_ value: FieldValue, _ declared: FieldDescription?) throws(Failure) -> FieldOperation {
    if let json = try? value.json, let problem = declared?.problem(with: json) {
      throw Failure(.doesNotFit, "\(title): \(problem)")
    }
    return FieldOperation(.set, field, value)
  }
}
