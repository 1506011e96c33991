import Testing

@testable import ZeroMQ

@Suite("Routing ids")
struct RoutingIDTests {
  /// A generator that starts with zeros: the worst case of randomness.
  struct Zeros: RandomNumberGenerator {
    var count: UInt64 = 0
    mutating func next() -> UInt64 {
      count += 1
      return count > 2 ? .max / 3 : 0
    }
  }

  @Test("random ids have 16 bytes, differ, and never begin with zero")
  func random() {
    var seen = Set<RoutingID>()
    for _ in 0..<2_000 {
      let id = RoutingID.random()
      #expect(id.byteCount == 16)
      #expect(!id.isGivenByRouter)
      seen.insert(id)
    }
    #expect(seen.count == 2_000)
    var zeros = Zeros()
    let id = RoutingID.random(using: &zeros)
    #expect(id.bytes[0] != 0)
    #expect(id.bytes[1...] == [UInt8](repeating: 0, count: 15)[...])
  }

  @Test("1 to 16 bytes make an id, 0 and 17 do not", arguments: 0...17)
  func lengths(count: Int) {
    let bytes = (0..<count).map { UInt8($0 + 1) }
    let id = RoutingID(bytes)
    #expect((id != nil) == (1...16 ~= count))
    if let id {
      #expect(id.bytes == bytes)
      #expect(id.byteCount == count)
    }
  }

  @Test("ids are equal when length and bytes are")
  func equality() throws {
    let short = try #require(RoutingID([1, 2]))
    let padded = try #require(RoutingID([1, 2, 0]))
    let last = try #require(RoutingID([UInt8](repeating: 1, count: 15) + [2]))
    let other = try #require(RoutingID([UInt8](repeating: 1, count: 15) + [3]))
    #expect(short != padded)
    #expect(last != other)
    #expect(short == RoutingID([1, 2]))
    #expect(Set([short, padded, last, other, short]).count == 4)
    #expect(short.description == "0102")
    #expect(MemoryLayout<RoutingID>.size == 17)
  }
}
