/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of the outbox's records.
enum Checksum {
  private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { byte in
    (0..<8).reduce(byte) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ 0x82F6_3B78 : rest >> 1 }
  }

  static func crc32c(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      var rest = UInt32.max
      for byte in bytes { rest = rest >> 8 ^ table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] }
      return ~rest
    }
  }
}
