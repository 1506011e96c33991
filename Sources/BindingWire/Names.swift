/// The grammar of model ids, field names and prefixes.
public enum Names {
  /// The field that holds what is declared of a model's fields.
  public static let description = "@description"
  /// Bytes of a model id, at most; of a prefix too.
  public static let maxModelBytes = 200
  /// Bytes of a field name, at most.
  public static let maxFieldBytes = 64
  /// Bytes of a peer's name, at most.
  public static let maxPeerNameBytes = 64

  /// Throws unless `name` is a model id: 1 to 200 bytes of segments of `A–Z a–z 0–9 _ -`, joined by `/`.
  public static func checkModel(_ name: String) throws(WireError) {
    var name = name
    try raise(name.withUTF8 { problemOfModel(UnsafeRawBufferPointer($0)) }, "model id")
  }

  /// The same for bytes.
  public static func checkModel(_ name: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfModel(name), "model id")
  }

  /// Throws unless `name` is a field name: 1 to 64 of `A–Z a–z 0–9 _ -`, or `@description`.
  public static func checkField(_ name: String) throws(WireError) {
    var name = name
    try raise(name.withUTF8 { problemOfField(UnsafeRawBufferPointer($0)) }, "field name")
  }

  /// The same for bytes.
  public static func checkField(_ name: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfField(name), "field name")
  }

  /// Throws unless `prefix` is empty (all models) or whole segments that end in `/`.
  public static func checkPrefix(_ prefix: String) throws(WireError) {
    var prefix = prefix
    try raise(prefix.withUTF8 { problemOfPrefix(UnsafeRawBufferPointer($0)) }, "prefix")
  }

  /// The same for bytes.
  public static func checkPrefix(_ prefix: UnsafeRawBufferPointer) throws(WireError) {
    try raise(problemOfPrefix(prefix), "prefix")
  }

  /// Throws unless `name` can be a peer's name: 1 to 64 bytes.
  public static func checkPeer(_ name: String) throws(WireError) {
    let count = name.utf8.count
    if count < 1 || count > maxPeerNameBytes {
      try raise("has \(count) bytes; 1 to \(maxPeerNameBytes) are allowed", "peer name")
    }
  }

  /// Whether the bytes are a model id. Allocates nothing.
  public static func isModel(_ name: UnsafeRawBufferPointer) -> Bool {
    !name.isEmpty && name.count <= maxModelBytes && firstBadByte(name, slashes: true) == nil
  }

  /// Whether the bytes are a field name. Allocates nothing.
  public static func isField(_ name: UnsafeRawBufferPointer) -> Bool {
    if !name.isEmpty && name.count <= maxFieldBytes && firstBadByte(name, slashes: false) == nil { return true }
    return isDescription(name)
  }

  /// Whether the bytes are a prefix. Allocates nothing.
  public static func isPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
    if prefix.isEmpty { return true }
    guard prefix[prefix.count - 1] == slash, prefix.count <= maxModelBytes else { return false }
    return firstBadByte(prefix.part(0, prefix.count - 1), slashes: true) == nil && prefix.count > 1
  }

  private static let slash = UInt8(ascii: "/")

  /// Whether `byte` is one of `A–Z a–z 0–9 _ -`.
  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// The position of the first byte that may not stand where it does; the length when a segment is missing at the end.
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

  private static func isDescription(_ name: UnsafeRawBufferPointer) -> Bool {
    name.count == 12 && name.elementsEqual(description.utf8)
  }

  private static func problemOfModel(_ name: UnsafeRawBufferPointer) -> String? {
    if isModel(name) { return nil }
    return problem(name, limit: maxModelBytes, slashes: true)
  }

  private static func problemOfField(_ name: UnsafeRawBufferPointer) -> String? {
    if isField(name) { return nil }
    if name.first == UInt8(ascii: "@") { return "begins with @; of such names only \(description) is in use" }
    return problem(name, limit: maxFieldBytes, slashes: false)
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
