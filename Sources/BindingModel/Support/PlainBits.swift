public import CBindingModel

/// Values of plain bits that a processor loads and stores at once, so that a reader needs no lock: `Double`, `Int`,
/// `Bool`, most enumerations.
///
/// Generic functions of a type that is not generic, and bytes instead of casts: where the compiler does not know the
/// value's type, both would be looked up at each access.
@usableFromInline
enum PlainBits {
  @inlinable @inline(__always)
  static func areAtomic<Value>(_: Value.Type) -> Bool {
    let size = MemoryLayout<Value>.size
    return _isPOD(Value.self) && size == MemoryLayout<Value>.alignment
      && (size == 8 && MemoryLayout<Int>.size == 8 || size == 4 || size == 1)
  }

  @inlinable @inline(__always)
  static func load<Value>(from address: UnsafeRawPointer, as _: Value.Type) -> Value {
    switch MemoryLayout<Value>.size {
    case 8: value(of: bindbus_load_8(address))
    case 4: value(of: bindbus_load_4(address))
    default: value(of: bindbus_load_1(address))
    }
  }

  @inlinable @inline(__always)
  static func value<Bits, Value>(of bits: Bits) -> Value {
    withUnsafeBytes(of: bits) { $0.load(as: Value.self) }
  }

  @inlinable @inline(__always)
  static func store<Value>(_ value: Value, at address: UnsafeMutableRawPointer) {
    withUnsafePointer(to: value) { value in
      let bytes = UnsafeRawPointer(value)
      switch MemoryLayout<Value>.size {
      case 8: bindbus_store_8(address, bytes.load(as: UInt64.self))
      case 4: bindbus_store_4(address, bytes.load(as: UInt32.self))
      default: bindbus_store_1(address, bytes.load(as: UInt8.self))
      }
    }
  }
}
