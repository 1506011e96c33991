/// The grammar of model ids, field names and prefixes.
package enum Names {
  /// The field that holds the model's description.
  package static let description = "@description"
  /// Precedes a model's id in the name of its ephemeral model (protocol.md §9).
  package static let ephemeralPrefix = "@ephemeral/"
  /// At a hub alone: precedes a model's id in the name of what this hub's own peers have in the ephemeral model.
  package static let partPrefix = "@part/"
  /// In an ephemeral model: the field held by the model's owner, whose approval every write needs.
  package static let owner = "@owner"
  /// The writer's name in a commit of the hub that sets a field back at the end of its time limit.
  package static let expiry = "expiry"
  /// In an ephemeral model: an operation on this field concerns the proposer's own presence slot.
  package static let me = "@me"
  /// In an ephemeral model: precedes the number of a presence slot.
  package static let presencePrefix = "@peer-"
  /// The maximum length of a model id or a prefix, in bytes.
  package static let maxModelBytes = 200
  /// The maximum length of a field name, in bytes; of an element's name, that of the list's name in it.
  package static let maxFieldBytes = 64
  /// The maximum length of the id of a list's element, in bytes.
  package static let maxElementIDBytes = 40
  /// The maximum length of a peer's name, in bytes.
  package static let maxPeerNameBytes = 64

  /// Throws unless `name` is a model id: 1 to 200 bytes of segments of `A–Z a–z 0–9 _ -`, joined by `/`.
  package static func checkModel(_ name: String) throws(WireError) {
    var name = name
    try raise(name.withUTF8 { problemOfModel(UnsafeRawBufferPointer($0)) }, "model id")
  }

  /// Throws unless the bytes are a model id: 1 to 200 bytes of segments of `A–Z a–z 0–9 _ -`, joined by `/`.
  package static func checkModel(_ name: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfModel(name), "model id")
  }

  /// Throws unless the bytes name a stored or an ephemeral model: a model id, possibly after `ephemeralPrefix`.
  package static func checkAnyModel(_ name: UnsafeRawBufferPointer) throws(WireError) {
    let skipped = isEphemeral(name) ? ephemeralPrefix.utf8.count : 0
    try checkModel(name.part(skipped, name.count - skipped))
  }

  /// The name of a model's ephemeral model.
  package static func ephemeral(_ model: String) -> String { ephemeralPrefix + model }

  /// Whether the name is that of an ephemeral model.
  package static func isEphemeral(_ name: String) -> Bool { name.hasPrefix(ephemeralPrefix) }

  /// The model that an ephemeral model belongs to.
  package static func model(ofEphemeral name: String) -> String { String(name.dropFirst(ephemeralPrefix.count)) }

  /// The stored model behind a name: itself, or the one that an ephemeral model, or a part of it, belongs to.
  package static func storedModel(of name: String) -> String {
    if isEphemeral(name) { return model(ofEphemeral: name) }
    return name.hasPrefix(partPrefix) ? String(name.dropFirst(partPrefix.utf8.count)) : name
  }

  private static func isEphemeral(_ name: UnsafeRawBufferPointer) -> Bool {
    name.count > ephemeralPrefix.utf8.count
      && name.part(0, ephemeralPrefix.utf8.count).elementsEqual(ephemeralPrefix.utf8)
  }

  /// Throws unless `name` is a field name: 1 to 64 of `A–Z a–z 0–9 _ -`, such a name with `@` and the id of an element,
  /// or one reserved by the protocol.
  package static func checkField(_ name: String) throws(WireError) {
    var name = name
    try raise(name.withUTF8 { problemOfField(UnsafeRawBufferPointer($0)) }, "field name")
  }

  /// Throws unless the bytes are a field name: 1 to 64 of `A–Z a–z 0–9 _ -`, such a name with `@` and the id of an
  /// element, or one reserved by the protocol.
  package static func checkField(_ name: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfField(name), "field name")
  }

  /// Throws unless `prefix` is empty (all models) or consists of whole segments and ends in `/`.
  package static func checkPrefix(_ prefix: String) throws(WireError) {
    var prefix = prefix
    try raise(prefix.withUTF8 { problemOfPrefix(UnsafeRawBufferPointer($0)) }, "prefix")
  }

  /// Throws unless the bytes are empty (all models) or consist of whole segments and end in `/`.
  package static func checkPrefix(_ prefix: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfPrefix(prefix), "prefix")
  }

  /// Throws unless `name` can be a peer's name: 1 to 64 bytes, without control characters or characters that change
  /// the direction of adjacent text.
  package static func checkPeer(_ name: String) throws(WireError) {
    let count = name.utf8.count
    if count < 1 || count > maxPeerNameBytes {
      try raise("has \(count) bytes; 1 to \(maxPeerNameBytes) are allowed", "peer name")
    }
    if let bad = name.unicodeScalars.first(where: { !isPeer($0) }) {
      try raise(
        "has the character \(PrintedText.escaped(String(bad))), which a terminal may interpret", "peer name")
    }
  }

  /// A valid peer name made of `name`: forbidden characters become `_`, a name that is too long is cut, and an
  /// empty one becomes `peer`.
  package static func fittingPeer(_ name: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in name.unicodeScalars { scalars.append(isPeer(scalar) ? scalar : "_") }
    while String(scalars).utf8.count > maxPeerNameBytes { scalars.removeLast() }
    return scalars.isEmpty ? "peer" : String(scalars)
  }

  /// Whether a peer's name may contain the character: not a control character (C0, DEL, C1), a line or paragraph
  /// separator, or one that overrides or isolates a direction.
  package static func isPeer(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }

  /// Whether the bytes are a model id. Allocates nothing.
  package static func isModel(_ name: UnsafeRawBufferPointer) -> Bool {
    !name.isEmpty && name.count <= maxModelBytes && firstBadByte(name, slashes: true) == nil
  }

  /// Whether the bytes are a field name. Allocates nothing.
  package static func isField(_ name: UnsafeRawBufferPointer) -> Bool {
    if !name.isEmpty && name.count <= maxFieldBytes && firstBadByte(name, slashes: false) == nil { return true }
    return name.first == at ? isOurs(name) : isElement(name)
  }

  /// Whether the bytes name an element of a list: the list's name, `@`, and 1 to 40 of the same characters. Allocates
  /// nothing.
  package static func isElement(_ name: UnsafeRawBufferPointer) -> Bool {
    guard let end = separator(in: name), end <= maxFieldBytes, name.count - end - 1 <= maxElementIDBytes else {
      return false
    }
    return firstBadByte(name.part(0, end), slashes: false) == nil
      && firstBadByte(name.part(end + 1, name.count - end - 1), slashes: false) == nil
  }

  /// Whether a name consists of `A–Z a–z 0–9 _ -` alone, at least one of them.
  package static func isPlain(_ name: some StringProtocol) -> Bool { !name.isEmpty && name.utf8.allSatisfy(isLetter) }

  /// The field whose rights and rule count for a field: for an element its list, else the field itself.
  package static func whole(_ field: String) -> String {
    ListElements.parts(of: field).map { String($0.list) } ?? field
  }

  /// The offset of the `@` after the list's name in the name of an element; nil: it is none.
  package static func separator(in name: UnsafeRawBufferPointer) -> Int? {
    guard name.first != at else { return nil }
    return name.firstIndex(of: at)
  }

  /// Whether the bytes are a prefix. Allocates nothing.
  package static func isPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
    if prefix.isEmpty { return true }
    guard prefix[prefix.count - 1] == slash, prefix.count <= maxModelBytes else { return false }
    return firstBadByte(prefix.part(0, prefix.count - 1), slashes: true) == nil && prefix.count > 1
  }

  private static let slash = UInt8(ascii: "/")
  private static let at = UInt8(ascii: "@")

  /// Whether `byte` is one of `A–Z a–z 0–9 _ -`.
  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// The offset of the first forbidden byte; the length when the last segment is missing; nil if the name is valid.
  private static func firstBadByte(_ name: UnsafeRawBufferPointer, slashes: Bool) -> Int? {
    var segmentIsEmpty = true
    for (index, byte) in name.enumerated() {
      if isLetter(byte) {
        segmentIsEmpty = false
      } else if slashes, byte == slash, !segmentIsEmpty {
        segmentIsEmpty = true
      } else {
        return index
      }
    }
    return segmentIsEmpty ? name.count : nil
  }

  /// Whether the name is reserved by the protocol.
  private static func isOurs(_ name: UnsafeRawBufferPointer) -> Bool {
    if name.elementsEqual(description.utf8) || name.elementsEqual(owner.utf8) || name.elementsEqual(me.utf8) {
      return true
    }
    let digits = name.dropFirst(presencePrefix.utf8.count)
    return name.starts(with: presencePrefix.utf8) && (1...5).contains(digits.count)
      && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  private static func problemOfModel(_ name: UnsafeRawBufferPointer) -> String? {
    if isModel(name) { return nil }
    return problem(name, limit: maxModelBytes, slashes: true)
  }

  private static func problemOfField(_ name: UnsafeRawBufferPointer) -> String? {
    if isField(name) { return nil }
    if name.first == at { return "begins with @; such names are reserved by the protocol, such as \(description)" }
    guard let end = separator(in: name) else { return problem(name, limit: maxFieldBytes, slashes: false) }
    if end > maxFieldBytes || firstBadByte(name.part(0, end), slashes: false) != nil {
      return problem(name.part(0, end), limit: maxFieldBytes, slashes: false)
    }
    return "is an element whose id "
      + problem(name.part(end + 1, name.count - end - 1), limit: maxElementIDBytes, slashes: false)
  }

  private static func problemOfPrefix(_ prefix: UnsafeRawBufferPointer) -> String? {
    if isPrefix(prefix) { return nil }
    if prefix.last != slash { return "does not end in /; a prefix does, or is empty for all models" }
    return problem(prefix.part(0, prefix.count - 1), limit: maxModelBytes - 1, slashes: true)
  }

  private static func problem(_ name: UnsafeRawBufferPointer, limit: Int, slashes: Bool) -> String {
    let allowed = slashes ? "A-Z a-z 0-9 _ - in segments joined by /" : "A-Z a-z 0-9 _ -"
    if name.isEmpty { return "is empty; 1 to \(limit) bytes of \(allowed) are allowed" }
    if name.count > limit { return "has \(name.count) bytes; 1 to \(limit) are allowed" }
    let bad = firstBadByte(name, slashes: slashes) ?? 0
    if bad == name.count { return "ends in /; a segment must follow" }
    if slashes, name[bad] == slash { return "has an empty segment at byte \(bad); allowed are \(allowed)" }
    return "has byte 0x\(String(name[bad], radix: 16)) at byte \(bad); allowed are \(allowed)"
  }

  private static func raise(_ problem: String?, _ place: String) throws(WireError) {
    if let problem { throw WireError(message: "name", place: place, problem: problem, code: .badName) }
  }
}
