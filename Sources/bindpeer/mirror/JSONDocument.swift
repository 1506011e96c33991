import BindingPeer

/// One JSON object. It is written anew with each change, one field a line; the order of the fields stays.
struct JSONDocument: MirrorDocument {
  private(set) var fields: [MirrorEntry] = []

  init() {}

  init(_ text: String) throws(MirrorFault) {
    let bytes = Array(text.utf8)
    if text.allSatisfy(\.isWhitespace) { return }
    guard let members = JSON.members(ofText: bytes) else {
      let fault = FieldValue(bytes: bytes).fault ?? "it is something else"
      throw MirrorFault(line: 1, words: "begins no JSON object: \(fault)")
    }
    for (name, value) in members {
      try MirrorFault.check(name, in: 1, among: fields.map(\.name))
      fields.append(MirrorEntry(name: name, content: .json(value), line: 1))
    }
  }

  var text: String {
    let lines = fields.map { field in
      guard case .json(let value) = field.content else { return "" }
      return "  \(JSON.string(field.name)): \(JSONLine.text(of: value))"
    }
    return lines.isEmpty ? "{}\n" : "{\n\(lines.joined(separator: ",\n"))\n}\n"
  }

  mutating func set(_ name: String, to value: FieldValue?) {
    let place = fields.firstIndex { $0.name == name }
    let entry = value.map { MirrorEntry(name: name, content: .json($0), line: 1) }
    switch (place, entry) {
    case (let place?, let entry?): fields[place] = entry
    case (let place?, nil): fields.remove(at: place)
    case (nil, let entry?): fields.append(entry)
    case (nil, nil): break
    }
  }
}
