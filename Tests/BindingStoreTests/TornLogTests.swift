import Foundation
import Testing

@testable import BindingStore

/// What a power cut leaves of a write-ahead log, and what only damage does.
@Suite("A write-ahead log with invalid frames")
struct TornLogTests {
  private static let pageSize = 512
  private static let frameBytes = 24 + pageSize
  /// The frame whose database size ends a sector, so that its salts begin the next.
  private static let astride = (0..<64).first { (32 + $0 * frameBytes + 8).isMultiple(of: 512) } ?? 0

  /// A log whose first frame does not check, and whose frames at these indices end a transaction of the same round.
  private func isWhole(endsAt ends: [Int]) throws -> Bool {
    var log = [UInt8](repeating: 0, count: 32 + 80 * Self.frameBytes)
    func put(_ number: UInt32, at offset: Int) {
      withUnsafeBytes(of: number.bigEndian) { log.replaceSubrange(offset..<offset + 4, with: $0) }
    }
    let (salt, otherSalt) = (0x1234_5678 as UInt32, 0x9ABC_DEF0 as UInt32)
    let header = [0x377F_0682, 3_007_000, UInt32(Self.pageSize), 7, salt, otherSalt]
    for (index, number) in header.enumerated() { put(number, at: index * 4) }
    var (first, second) = (0 as UInt32, 0 as UInt32)
    for index in stride(from: 0, to: header.count, by: 2) {
      first &+= header[index].byteSwapped &+ second
      second &+= header[index + 1].byteSwapped &+ first
    }
    put(first, at: 24)
    put(second, at: 28)
    for end in ends {
      let offset = 32 + end * Self.frameBytes
      put(45, at: offset + 4)
      put(salt, at: offset + 8)
      put(otherSalt, at: offset + 12)
    }
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("torn-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(log).write(to: URL(fileURLWithPath: path))
    return WALCheck.isWhole(path)
  }

  @Test("one incomplete transaction at the end was being written at the power cut")
  func lastInPieces() throws { #expect(try isWhole(endsAt: [50])) }

  @Test("two transactions after an invalid frame were stored once, so an earlier frame is damaged")
  func damaged() throws { #expect(try !isWhole(endsAt: [50, 55])) }

  @Test("a frame whose size and salts lie in two sectors may have the size of an earlier round")
  func tornHeader() throws { #expect(try isWhole(endsAt: [Self.astride, 50])) }
}
