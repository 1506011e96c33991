/// Writes a protobuf message field by field. Fields that are zero or empty are left out, as proto3 has it.
struct ProtobufWriter {
  private(set) var bytes: [UInt8] = []

  /// A number or a flag of field N.
  mutating func number(_ field: UInt8, _ value: UInt64) {
    if value != 0 { explicit(field, value) }
  }

  /// Bytes or a text of field N; empty ones are left out.
  mutating func bytes(_ field: UInt8, _ value: [UInt8]) {
    guard !value.isEmpty else { return }
    message(field, value)
  }

  /// A message of field N, also if it is empty.
  mutating func message(_ field: UInt8, _ value: [UInt8]) {
    varint(UInt64(field) << 3 | 2)
    varint(UInt64(value.count))
    bytes += value
  }

  /// A message of field N, written by `body`.
  mutating func message(_ field: UInt8, _ body: (inout ProtobufWriter) -> Void) {
    var inner = ProtobufWriter()
    body(&inner)
    message(field, inner.bytes)
  }

  /// A number of field N that is written even if it is zero.
  mutating func explicit(_ field: UInt8, _ value: UInt64) {
    varint(UInt64(field) << 3)
    varint(value)
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

/// What a peer sent is no protobuf message.
struct ProtobufError: Error {}

/// Reads a protobuf message field by field; unknown fields are skipped by whoever reads.
struct ProtobufReader {
  /// A field: its number with a number or the bytes of a text or message.
  struct Field {
    var number: UInt64
    var value: UInt64 = 0
    var bytes: ArraySlice<UInt8> = []

    /// As text; what is no UTF-8 is replaced.
    var text: String { String(decoding: bytes, as: UTF8.self) }
  }
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The next field; nil: there is none.
  mutating func next() throws(ProtobufError) -> Field? {
    guard !rest.isEmpty else { return nil }
    let key = try varint()
    var field = Field(number: key >> 3)
    switch key & 7 {
    case 0: field.value = try varint()
    case 1: try skip(8)
    case 2:
      let count = try varint()
      guard count <= UInt64(rest.count) else { throw ProtobufError() }
      field.bytes = rest.prefix(Int(count))
      rest = rest.dropFirst(Int(count))
    case 5: try skip(4)
    default: throw ProtobufError()
    }
    return field
  }

  /// Calls `each` with all fields.
  static func read(
    _ bytes: ArraySlice<UInt8>, _ each: (Field) throws(ProtobufError) -> Void
  ) throws(ProtobufError) {
    var reader = ProtobufReader(bytes)
    while let field = try reader.next() { try each(field) }
  }

  private mutating func skip(_ count: Int) throws(ProtobufError) {
    guard rest.count >= count else { throw ProtobufError() }
    rest = rest.dropFirst(count)
  }

  private mutating func varint() throws(ProtobufError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = rest.popFirst() else { throw ProtobufError() }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    throw ProtobufError()
  }
}
