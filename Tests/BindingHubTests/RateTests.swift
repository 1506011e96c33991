import Testing
import ZeroMQ

@testable import BindingHub

private enum Site {
  /// How many of so many connections may begin a handshake.
  static func passes(_ count: Int, _ site: NetworkPrefix, _ sites: inout RefusedSites, at now: UInt64) -> Int {
    (0..<count).reduce(0) { passed, _ in passed + (sites.mayPass(site, at: now) ? 1 : 0) }
  }
}

@Suite("Token buckets")
struct TokenBucketTests {
  @Test("a bucket holds its burst, earns its rate to the millisecond, and owes what was taken too much")
  func rate() {
    var bucket = TokenBucket(perSecond: 3, burstMilliseconds: 2_000, at: 0)
    #expect(bucket.whole == 6 && bucket.isFull)
    bucket.charge(6)
    #expect(bucket.whole == 0 && bucket.milliseconds(until: 1) == 334)
    bucket.refill(to: 333)
    #expect(bucket.whole == 0)
    bucket.refill(to: 334)
    #expect(bucket.whole == 1)
    bucket.charge(10)
    #expect(!bucket.isPositive && bucket.milliseconds(until: 1) == 3_333)
    bucket.refill(to: 1_000_000)
    #expect(bucket.isFull && bucket.whole == 6)
    #expect(bucket.milliseconds(until: 100) == 0, "it never holds more than its burst")
  }

  @Test("the highest rate and the longest time do not overflow, and a clock that stands still earns nothing")
  func extremes() {
    var bucket = TokenBucket(perSecond: .max, burstMilliseconds: 4_000, at: 0)
    bucket.charge(1_000_000_000)
    bucket.refill(to: .max)
    #expect(bucket.isFull)
    bucket.charge(5)
    bucket.refill(to: .max)
    #expect(!bucket.isFull)
    #expect(TokenBucket(perSecond: 0, burstMilliseconds: 1_000, at: 0).whole == 1)
  }

  @Test("another rate keeps the share of the burst, and a debt")
  func change() {
    var bucket = TokenBucket(perSecond: 10, burstMilliseconds: 1_000, at: 0)
    bucket.charge(5)
    bucket.change(to: 100, at: 0)
    #expect(bucket.whole == 50)
    bucket.charge(60)
    bucket.change(to: 1_000, at: 0)
    #expect(bucket.milliseconds(until: 1) == 11)
  }

  @Test("an address is held back after a hundred refused keys, lets some through meanwhile, and is free again later")
  func sites() throws {
    let (bad, good) = (try #require(NetworkPrefix("192.0.2.1")), try #require(NetworkPrefix("192.0.2.2")))
    var sites = RefusedSites()
    for _ in 0..<99 { sites.charge(bad, at: 1_000) }
    #expect(Site.passes(1_000, bad, &sites, at: 1_000) == 1_000)
    for _ in 0..<1_000 { sites.charge(bad, at: 1_000) }
    #expect(Site.passes(1_000, bad, &sites, at: 1_000) == 20)
    #expect(Site.passes(1_000, bad, &sites, at: 2_000) == 20)
    #expect(Site.passes(1_000, good, &sites, at: 2_000) == 1_000)
    #expect(Site.passes(100, bad, &sites, at: 12_000) == 100)
  }

  @Test("addresses past the most remembered share one entry, so that nobody is free by coming from many")
  func manySites() throws {
    var sites = RefusedSites()
    for number in 0..<10_000 {
      sites.charge(try #require(NetworkPrefix("10.\(number / 65_536).\(number / 256 % 256).\(number % 256)")), at: 0)
    }
    let new = try #require(NetworkPrefix("2001:db8::1"))
    #expect(Site.passes(1_000, new, &sites, at: 0) == 20)
    #expect(sites.count <= 4_096)
  }

  @Test("a site has so many connections of which nobody knows whose they are; silent ones end after 10 s")
  func arrivals() throws {
    let (one, other) = (try #require(NetworkPrefix("2001:db8:0:1::1")), try #require(NetworkPrefix("2001:db8:0:2::1")))
    var arrivals = Arrivals(limit: 3)
    func connection(_ number: Int32) -> AcceptedConnection { AcceptedConnection(descriptor: number, isPublish: false) }
    let added = (1...4).map { arrivals.add(connection($0), from: one, at: 0) }
    #expect(added == [true, true, true, false])
    let isOtherIn = arrivals.add(connection(5), from: other, at: 5_000)
    arrivals.remove(connection(1))
    let hasRoomAgain = arrivals.add(connection(6), from: one, at: 6_000)
    #expect(isOtherIn && hasRoomAgain)
    var over = [arrivals.overdue(at: 9_999), arrivals.overdue(at: 10_000)]
    arrivals.end(connection(6), at: 11_000)
    over += [arrivals.overdue(at: 11_000), arrivals.overdue(at: 15_000)]
    #expect(over == [[], [connection(2), connection(3)], [connection(6)], [connection(5)]])
    #expect(arrivals.count == 0)
  }
}
