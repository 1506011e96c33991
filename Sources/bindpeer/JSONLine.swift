import BindingPeer
import BindingTerminal

/// One object of `--json`, on one line. Stored values are copied byte for byte, so a number keeps all its digits.
struct JSONLine {
  private var bytes = [UInt8(ascii: "{")]

  mutating func add(_ name: String, _ value: JSON) { add(name, bytes: value.bytes) }

  /// Null for no value.
  mutating func add(_ name: String, _ value: FieldValue?) { add(name, bytes: JSONLine.bytes(of: value)) }

  /// An object with one member for each field.
  mutating func add(_ name: String, values: [(field: String, value: FieldValue?)]) {
    var inner = JSONLine()
    for (field, value) in values { inner.add(field, value) }
    add(name, bytes: inner.whole)
  }

  /// Who wrote: the name as `origin`, and the user, if the hub names it, as `user`.
  mutating func add(_ origin: Origin) {
    add("origin", .string(origin.fullName))
    if let user = origin.user { add("user", .string(user)) }
  }

  private mutating func add(_ name: String, bytes value: [UInt8]) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes += JSON.string(name).bytes + [UInt8(ascii: ":")] + value
  }

  private var whole: [UInt8] { bytes + [UInt8(ascii: "}")] }

  var text: String { String(decoding: whole, as: UTF8.self) }

  func print() { StandardStreams.print(bytes: whole) }

  /// A value in one line.
  static func text(of value: FieldValue) -> String { String(decoding: bytes(of: value), as: UTF8.self) }

  /// Stored JSON may contain line ends between its tokens; here they become spaces.
  private static func bytes(of value: FieldValue?) -> [UInt8] {
    guard let value, value.isValid else { return JSON.null.bytes }
    return value.bytes.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
  }
}
