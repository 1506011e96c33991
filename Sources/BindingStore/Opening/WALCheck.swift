import Foundation

/// Checks a write-ahead log before SQLite opens it, because SQLite silently skips everything after a damaged page.
///
/// A power failure may leave the last transaction incomplete. If whole transactions of the same log follow the
/// first frame that does not check, no power failure broke it: acknowledged commits are missing.
enum WALCheck {
  private static let headerBytes = 32
  private static let frameHeaderBytes = 24
  /// The bytes that a disk writes atomically.
  private static let sectorBytes = 512

  /// Whether the log is there, and nothing shows that a part before its end is missing.
  static func isWhole(_ path: String) -> Bool {
    guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped), !bytes.isEmpty
    else { return false }
    return bytes.withUnsafeBytes { isWhole($0) }
  }

  private static func isWhole(_ log: UnsafeRawBufferPointer) -> Bool {
    // The header was torn when the log started over: everything before is in the database.
    guard log.count >= headerBytes, let isBig = byteOrder(log) else { return true }
    let pageSize = Int(number(log, 8))
    guard pageSize >= 512, pageSize <= 65_536 else { return true }
    var sum = checksum(log, 0..<24, (0, 0), isBig)
    guard sum == (number(log, 24), number(log, 28)) else { return true }
    var offset = headerBytes
    var isBroken = false
    var endsAfterBreak = 0
    while offset + frameHeaderBytes + pageSize <= log.count {
      // Frames of an earlier round may follow those of this one.
      let isOfThisRound = number(log, offset + 8) == number(log, 16) && number(log, offset + 12) == number(log, 20)
      if !isBroken {
        let head = checksum(log, offset..<offset + 8, sum, isBig)
        sum = checksum(log, offset + frameHeaderBytes..<offset + frameHeaderBytes + pageSize, head, isBig)
        isBroken = !isOfThisRound || sum != (number(log, offset + 16), number(log, offset + 20))
      }
      // Only the last frame of a transaction names the size of the database. If that is in another sector than the
      // round's salt, a power failure may have left it from an earlier round.
      let isTorn = (offset + 4) / sectorBytes != (offset + 8) / sectorBytes
      if isBroken, isOfThisRound, !isTorn, number(log, offset + 4) != 0 { endsAfterBreak += 1 }
      offset += frameHeaderBytes + pageSize
    }
    return endsAfterBreak < 2
  }

  /// Whether the checksums read their words big-endian; nil: it is no log.
  private static func byteOrder(_ log: UnsafeRawBufferPointer) -> Bool? {
    switch number(log, 0) {
    case 0x377F_0682: false
    case 0x377F_0683: true
    default: nil
    }
  }

  private static func number(_ log: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
    UInt32(bigEndian: log.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  private static func checksum(
    _ log: UnsafeRawBufferPointer, _ range: Range<Int>, _ before: (UInt32, UInt32), _ isBig: Bool
  ) -> (UInt32, UInt32) {
    var (first, second) = before
    for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
      first &+= word(log, offset, isBig) &+ second
      second &+= word(log, offset + 4, isBig) &+ first
    }
    return (first, second)
  }

  private static func word(_ log: UnsafeRawBufferPointer, _ offset: Int, _ isBig: Bool) -> UInt32 {
    let raw = log.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
    return isBig ? UInt32(bigEndian: raw) : UInt32(littleEndian: raw)
  }
}
