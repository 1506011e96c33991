import Testing

@testable import bindpeer

@Suite("Latency histograms")
struct LatenciesTests {
  @Test("a percentile is at most 1/1,024 above the exact one and never below it")
  func exactness() {
    var latencies = Latencies()
    // From a few nanoseconds to a quarter of an hour, in steps of about 0.1 %, unordered.
    var times: [UInt64] = []
    var time = 3.0
    while time < 1e12 {
      times.append(UInt64(time))
      time *= 1.001
    }
    for index in times.indices { latencies.record(times[index * 7_919 % times.count]) }
    let recorded = times.indices.map { times[$0 * 7_919 % times.count] }.sorted()
    for share in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1] {
      let exact = recorded[max(1, Int((share * Double(recorded.count)).rounded(.up))) - 1]
      let found = latencies.percentile(share) ?? 0
      #expect(found >= exact && found - exact <= exact / 1_024, "\(share): \(found), exactly \(exact)")
    }
  }

  @Test("a time of any magnitude is reported within 1/1,024", arguments: 0..<42)
  func everyMagnitude(_ power: UInt64) {
    let bound = UInt64(1) << power
    for time in [bound - 1, bound, bound + 1, bound + bound / 3] where time < 1 << 42 {
      var latencies = Latencies()
      latencies.record(time)
      latencies.record(1 << 41 + 7)
      let found = latencies.percentile(0.5) ?? 0
      let exact = min(time, 1 << 41 + 7)
      #expect(found >= exact && found - exact <= exact / 1_024, "\(time): \(found)")
    }
  }

  @Test("short times, the maximum and the count are exact")
  func exact() {
    var latencies = Latencies()
    for time in UInt64(1)...2_000 { latencies.record(time) }
    latencies.record(123_456_789)
    #expect(latencies.count == 2_001)
    #expect(latencies.greatest == 123_456_789 && latencies.percentile(1) == 123_456_789)
    #expect(latencies.percentile(0.5) == 1_001)
  }

  @Test("an empty histogram has no percentile, and a time past an hour counts as the longest")
  func ends() {
    var latencies = Latencies()
    #expect(latencies.percentile(0.5) == nil && latencies.greatest == 0)
    latencies.record(.max)
    #expect(latencies.percentile(0.5) == 1 << 42)
  }
}
