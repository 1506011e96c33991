/// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of records in files.
package enum Checksum {
  /// Eight tables of 256 for processing eight bytes per step (slicing-by-8). Table N holds the contribution of a
  /// byte that is followed by N more bytes of its group.
  private static let tables: [UInt32] = {
    var tables = (0..<256 as Range<UInt32>).map { byte in
      (0..<8).reduce(byte) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ 0x82F6_3B78 : rest >> 1 }
    }
    for index in 256..<2_048 {
      let before = tables[index - 256]
      tables.append(before >> 8 ^ tables[Int(before & 0xFF)])
    }
    return tables
  }()

  /// The checksum of the bytes.
  /// - Parameter before: the checksum of preceding bytes, to be continued; 0 for none.
  package static func crc32c(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
    tables.withUnsafeBufferPointer { tables in
      var rest = ~before
      var offset = 0
      while offset &+ 8 <= bytes.count {
        let eight = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) ^ UInt64(rest)
        rest = 0
        for byte in 0..<8 {
          rest ^= tables[(7 &- byte) &* 256 &+ Int(UInt8(truncatingIfNeeded: eight >> UInt64(byte &* 8)))]
        }
        offset &+= 8
      }
      while offset < bytes.count {
        rest = rest >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: rest) ^ bytes[offset])]
        offset &+= 1
      }
      return ~rest
    }
  }
}
