import BindingProtocol

/// Reads the parts of a page's message; errors name the part.
struct PageParts {
  /// The largest number that a page can represent exactly.
  static let exact: UInt64 = 1 << 53

  let message: String
  let json: JSON

  init(_ message: String, _ json: JSON) {
    self.message = message
    self.json = json
  }

  func fault(_ place: String, _ problem: String) -> WireError {
    WireError(message: message, place: place, problem: problem)
  }

  func text(_ name: String) throws(WireError) -> String {
    guard let text = try textIfAny(name) else { throw fault(name, "is missing") }
    return text
  }

  func textIfAny(_ name: String) throws(WireError) -> String? {
    guard let part = json[name] else { return nil }
    guard let text = part.string else { throw fault(name, "is \(brief(part)), not a string") }
    return text
  }

  func number(_ name: String, _ range: ClosedRange<UInt64>) throws(WireError) -> UInt64 {
    try number(json[name], name, range)
  }

  func numberIfAny(_ name: String, _ range: ClosedRange<UInt64>) throws(WireError) -> UInt64? {
    json[name] == nil ? nil : try number(name, range)
  }

  func number(_ part: JSON?, _ place: String, _ range: ClosedRange<UInt64>) throws(WireError) -> UInt64 {
    guard let part else { throw fault(place, "is missing") }
    guard let number = part.int64.flatMap({ UInt64(exactly: $0) }), range.contains(number) else {
      throw fault(place, "is \(brief(part)), not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A 64-bit number as a string of decimal digits.
  func digitsIfAny(_ name: String) throws(WireError) -> UInt64? {
    json[name] == nil ? nil : try digits(json[name], name)
  }

  func digits(_ part: JSON?, _ place: String) throws(WireError) -> UInt64 {
    guard let part else { throw fault(place, "is missing") }
    guard let number = part.string.flatMap({ UInt64($0) }) else {
      throw fault(place, "is \(brief(part)), not a string of decimal digits")
    }
    return number
  }

  func flagIfAny(_ name: String) throws(WireError) -> Bool? {
    guard let part = json[name] else { return nil }
    guard let flag = part.boolean else { throw fault(name, "is \(brief(part)), not true or false") }
    return flag
  }

  func list(_ name: String) throws(WireError) -> [JSON] {
    guard json[name] != nil else { throw fault(name, "is missing") }
    return try listIfAny(name)
  }

  func listIfAny(_ name: String) throws(WireError) -> [JSON] {
    guard let part = json[name] else { return [] }
    guard let list = part.elements else { throw fault(name, "is \(brief(part)), not a list") }
    return list
  }

  /// The member `model`: a model id, the name of an ephemeral model, or `@hub`.
  func model() throws(WireError) -> String {
    let name = try text("model")
    if name == OwnModel.id { return name }
    let id = Names.storedModel(of: name)
    do { try Names.checkModel(id) } catch { throw fault("model", error.problem) }
    return name
  }

  func field(_ part: JSON?) throws(WireError) -> String {
    guard let name = part?.string else { throw fault("field", "is \(part.map(brief) ?? "missing"), not a string") }
    do { try Names.checkField(name) } catch { throw fault("field", error.problem) }
    return name
  }

  /// The part's text, shortened to fit into a reason.
  private func brief(_ part: JSON) -> String {
    let text = part.text
    return text.utf8.count <= 40 ? text : String(text.prefix(20)) + "…"
  }
}
