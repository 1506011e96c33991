import BindingPeer
import BindingTerminal

/// `MODEL`, `MODEL.FIELD`, `MODEL.LIST[id=ID]`, `MODEL.LIST[id=ID].MEMBER`, or a prefix `MODELS/`.
struct Address {
  let model: String
  /// The field; of an element the list.
  let field: String?
  /// The element, or the member of it, if one is named.
  let element: ElementAddress?
  var isPrefix: Bool { model.isEmpty || model.hasSuffix("/") }

  private init(model: String, field: String, element: ElementAddress?) {
    (self.model, self.field, self.element) = (model, field, element)
  }

  /// The address under which the value is stored: an alias is resolved.
  func stored(in model: SharedModel) -> Address {
    field.map { Address(model: self.model, field: model.storedName(of: $0), element: element) } ?? self
  }

  init(_ text: String) throws(Failure) {
    // A model id has no dots, so the first one begins the field; `@description` and similar names are ordinary
    // fields.
    if let dot = text.firstIndex(of: ".") {
      model = String(text[..<dot])
      let rest = text[text.index(after: dot)...]
      do {
        let parts = try ElementAddress.parts(of: rest)
        (field, element) = (parts?.field ?? String(rest), parts?.element)
      } catch {
        throw Failure(.usage, "'\(excerpt(text))' is not an address: \(error.text)")
      }
    } else {
      model = text
      (field, element) = (nil, nil)
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

  var description: String { field.map { "\(model).\($0)\(element?.description ?? "")" } ?? model }

  /// What shows at the address; nil: nothing.
  func value(in model: SharedModel) -> FieldValue? {
    guard let field else { return nil }
    guard let element else { return model[field] }
    return UntypedList(field, in: model)?[element.id].flatMap(element.value)
  }

  /// The name of the field on the wire: of an element its own.
  var wireField: String? { field.map { field in element.map { ListElements.field(of: $0.id, in: field) } ?? field } }

  /// Where in a text the address ends at the earliest: behind the brackets that name an element.
  static func leastEnd(in text: String) -> String.Index {
    guard let open = text.firstIndex(of: "["), !text[..<open].contains(where: { "!<>=".contains($0) }),
      let close = text[open...].firstIndex(of: "]")
    else { return text.startIndex }
    return close
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
