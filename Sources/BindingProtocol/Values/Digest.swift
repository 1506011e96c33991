/// The digest of a model: the sum modulo 2^64, over all fields that have a value, of `fieldDigest`. Being a sum, it
/// is updated by subtracting a field's old part and adding its new one (`&-`, `&+`).
@usableFromInline package enum Digest {
  @usableFromInline static let offsetBasis: UInt64 = 14_695_981_039_346_656_037
  @usableFromInline static let prime: UInt64 = 1_099_511_628_211

  /// The hash state after a field's name and the zero byte: worth caching for a field that changes often.
  @inlinable
  package static func state(ofName name: UnsafeRawBufferPointer) -> UInt64 {
    // XOR with the zero byte changes nothing; only the multiplication remains.
    absorb(name, into: offsetBasis) &* prime
  }

  /// One field's part, continued from the state of its name.
  @inlinable
  package static func field(state: UInt64, version: Version, value: UnsafeRawBufferPointer) -> UInt64 {
    var hash = state
    var rest = version
    for _ in 0..<8 {
      hash = (hash ^ (rest & 0xFF)) &* prime
      rest >>= 8
    }
    return absorb(value, into: hash)
  }

  /// FNV-1a-64 of a value alone.
  @inlinable
  package static func ofValue(_ value: UnsafeRawBufferPointer) -> UInt64 { absorb(value, into: offsetBasis) }

  @inlinable
  static func absorb(_ bytes: UnsafeRawBufferPointer, into start: UInt64) -> UInt64 {
    var hash = start
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* prime }
    return hash
  }
}

/// One field's part of its model's digest: FNV-1a-64 over the name, a zero byte, the version (little-endian) and the
/// value.
@inlinable
package func fieldDigest(
  name: UnsafeRawBufferPointer, version: Version, value: UnsafeRawBufferPointer
) -> UInt64 {
  Digest.field(state: Digest.state(ofName: name), version: version, value: value)
}

/// One field's part of its model's digest, for a name and value already copied out of their message.
package func fieldDigest(name: String, version: Version, value: FieldValue) -> UInt64 {
  var name = name
  let state = name.withUTF8 { Digest.state(ofName: UnsafeRawBufferPointer($0)) }
  return value.bytes.withUnsafeBytes { Digest.field(state: state, version: version, value: $0) }
}
