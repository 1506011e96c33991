import BindingPeer
import BindingTerminal

/// `MODEL`, `MODEL.FIELD`, or a prefix `MODELS/`.
struct Address {
  let model: String
  let field: String?
  var isPrefix: Bool { model.isEmpty || model.hasSuffix("/") }

  private init(model: String, field: String) { (self.model, self.field) = (model, field) }

  /// The address under which the value is stored: an alias is resolved.
  func stored(in model: SharedModel) -> Address {
    field.map { Address(model: self.model, field: model.storedName(of: $0)) } ?? self
  }

  init(_ text: String) throws(Failure) {
    // A model id has no dots, so the first one begins the field; `@description` and similar names are ordinary
    // fields.
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
      throw Failure(.usage, "'\(excerpt(text))' is not an address: \(error.problem)")
    }
    if isPrefix, field != nil {
      throw Failure(.usage, "'\(excerpt(text))': a prefix has no fields; name one model")
    }
  }

  var description: String { field.map { "\(model).\($0)" } ?? model }
}

extension JSON {
  var isNumber: Bool {
    switch self {
    case .integer, .number: true
    default: false
    }
  }
}
