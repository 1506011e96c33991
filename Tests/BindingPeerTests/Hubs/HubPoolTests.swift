import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("A pool of hubs")
struct HubPoolTests {
  static let all = (0..<5).map { hub($0) }
  var generator = SeededGenerator(seed: 1)

  static func hub(_ number: Int) -> HubAddress { HubAddress(tcp: "10.0.0.\(number)", port: 7_877) }

  /// A peer that has begun.
  mutating func begun(_ addresses: [HubAddress] = all, areOfOneHub: Bool = false, hasKeys: Bool = false) -> HubPool {
    var pool = HubPool(addresses, areOfOneHub: areOfOneHub, hasKeys: hasKeys)
    pool.begin(using: &generator)
    return pool
  }

  @Test("500 peers begin at hubs that each have their share, within a third of it")
  mutating func beginsAtRandom() throws {
    var counts: [HubAddress: Int] = [:]
    for _ in 0..<500 { counts[try #require(begun().current), default: 0] += 1 }
    for hub in HubPoolTests.all { #expect((67...133).contains(counts[hub] ?? 0), "\(counts)") }
  }

  @Test("500 peers of a lost hub go to the others at once, and share them evenly")
  mutating func leavesAtRandom() throws {
    var counts: [HubAddress: Int] = [:]
    for seed in 0..<UInt64(500) {
      generator = SeededGenerator(seed: seed)
      var pool = HubPool(HubPoolTests.all)
      repeat { pool.begin(using: &generator) } while pool.current != HubPoolTests.all[0]
      #expect(!pool.leave(asTold: false, using: &generator))
      counts[try #require(pool.current), default: 0] += 1
    }
    #expect(counts[HubPoolTests.all[0]] == nil)
    for hub in HubPoolTests.all.dropFirst() { #expect((94...156).contains(counts[hub] ?? 0), "\(counts)") }
  }

  @Test("remembered hubs are tried where the named ones fail, and are no choice before a hub has told of them")
  mutating func remembered() {
    let (own, other) = (HubPoolTests.all[0], HubPoolTests.all[1])
    for seed in 0..<UInt64(50) {
      generator = SeededGenerator(seed: seed)
      var pool = HubPool([own], areOfOneHub: true, hasKeys: true, remembered: [other])
      pool.begin(using: &generator)
      #expect(pool.current == own && !pool.hasSeveral)
      #expect(!pool.fail(asTold: false, using: &generator) && pool.current == other)
      #expect(pool.fail(asTold: false, using: &generator) && pool.current == own)
      pool.learn([other], isWelcomed: true)
      #expect(pool.hasSeveral && pool.addresses == [own, other])
      pool.learn([], isWelcomed: true)
      #expect(!pool.hasSeveral && pool.addresses == [own])
    }
  }

  @Test("a round tries each hub once without a pause, and the next round begins after one")
  mutating func rounds() throws {
    var pool = begun()
    for _ in 0..<20 {
      var tried: Set<HubAddress> = [try #require(pool.current)]
      for _ in 0..<4 {
        #expect(!pool.fail(asTold: false, using: &generator))
        let next = try #require(pool.current)
        #expect(tried.insert(next).inserted)
      }
      #expect(tried == Set(HubPoolTests.all))
      #expect(pool.fail(asTold: false, using: &generator))
    }
  }

  @Test("one hub is tried again after a pause each time, whether it failed or was lost")
  mutating func one() {
    var pool = begun([HubPoolTests.hub(7)])
    #expect(!pool.hasSeveral && pool.current == HubPoolTests.hub(7))
    #expect(pool.fail(asTold: false, using: &generator) && pool.current == HubPoolTests.hub(7))
    #expect(pool.leave(asTold: true, using: &generator) && pool.current == HubPoolTests.hub(7))
  }

  @Test("the addresses of one hub are tried in their order, best first")
  mutating func ofOneHub() {
    for _ in 0..<10 {
      var pool = begun(areOfOneHub: true)
      #expect(!pool.hasSeveral && pool.current == HubPoolTests.all[0])
      for address in HubPoolTests.all.dropFirst() {
        #expect(!pool.fail(asTold: false, using: &generator) && pool.current == address)
      }
      #expect(pool.fail(asTold: false, using: &generator) && pool.current == HubPoolTests.all[0])
    }
  }

  @Test("what a hub names is learned without itself, what is configured, and repeats; the next list takes its place")
  mutating func learns() {
    var pool = begun([HubPoolTests.hub(0)])
    pool.learn([HubPoolTests.hub(0), HubPoolTests.hub(1), HubPoolTests.hub(1), HubPoolTests.hub(2)], isWelcomed: true)
    #expect(pool.hasSeveral && pool.addresses == [0, 1, 2].map(HubPoolTests.hub))
    pool.learn([HubPoolTests.hub(3)], isWelcomed: true)
    #expect(pool.addresses == [0, 3].map(HubPoolTests.hub))
    pool.learn([HubPoolTests.hub(0)], isWelcomed: true)
    #expect(!pool.hasSeveral && pool.addresses == [HubPoolTests.hub(0)])
  }

  @Test("hubs that refuse name at most 32 others in all, however often they do")
  mutating func learnsBounded() {
    var pool = begun([HubPoolTests.hub(0)])
    for round in 0..<10 {
      pool.learn((0..<32).map { HubAddress(tcp: "10.1.\(round).\($0)", port: 1) }, isWelcomed: false)
    }
    #expect(pool.addresses.count == 33)
  }

  @Test("a hub with keys cannot lead to an address where nothing proves which hub answers")
  mutating func learnsEncrypted() throws {
    let socket = try HubAddress("ipc:///tmp/other.sock")
    var pool = begun([HubPoolTests.hub(0)], hasKeys: true)
    pool.learn([socket, HubPoolTests.hub(1)], isWelcomed: true)
    #expect(pool.addresses == [0, 1].map(HubPoolTests.hub))
    var open = begun([HubPoolTests.hub(0)])
    open.learn([socket], isWelcomed: true)
    #expect(open.addresses.contains(socket))
  }

  @Test("a hub that closes is left for one that it has named")
  mutating func goesWhereTold() throws {
    for _ in 0..<50 {
      var pool = begun()
      pool.learn([HubPoolTests.hub(8), HubPoolTests.hub(9)], isWelcomed: true)
      let left = try #require(pool.current)
      #expect(!pool.leave(asTold: true, using: &generator))
      let first = try #require(pool.current)
      #expect([8, 9].map(HubPoolTests.hub).contains(first))
      // Where those fail too, the others follow before a pause, and the one that closes does not.
      var tried: Set<HubAddress> = [first]
      while !pool.fail(asTold: false, using: &generator) { tried.insert(try #require(pool.current)) }
      #expect(tried.count == 6 && !tried.contains(left))
    }
  }

  @Test("a chain of hubs that each name another one ends in a pause")
  mutating func chain() {
    var pool = begun([HubPoolTests.hub(0)])
    var steps = 0
    repeat {
      steps += 1
      pool.learn([HubAddress(tcp: "10.2.0.\(steps)", port: steps)], isWelcomed: true)
    } while !pool.fail(asTold: true, using: &generator) && steps < 1_000
    #expect((2...64).contains(steps))
  }
}
