/// How long things took, counted in buckets whose width grows with the time: any number of them in a bounded space.
///
/// A percentile is at most 1/1,024 too high and never too low; count and greatest are exact.
struct Latencies {
  /// Each power of two is divided into so many buckets; shorter times than twice that have a bucket each.
  private static let division: UInt64 = 1_024
  /// Longer ones, of more than an hour, count as this.
  private static let longest: UInt64 = 1 << 42

  private var buckets: [UInt64] = []
  private(set) var count: UInt64 = 0
  /// In nanoseconds; 0 without any.
  private(set) var greatest: UInt64 = 0

  mutating func record(_ nanoseconds: UInt64) {
    let bucket = Latencies.bucket(of: min(nanoseconds, Latencies.longest))
    if bucket >= buckets.count { buckets += Array(repeating: 0, count: bucket + 1 - buckets.count) }
    buckets[bucket] += 1
    count += 1
    greatest = max(greatest, min(nanoseconds, Latencies.longest))
  }

  /// The time in nanoseconds that `share` of all, 0 to 1, did not exceed; nil without any.
  func percentile(_ share: Double) -> UInt64? {
    guard count > 0 else { return nil }
    let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
    var passed: UInt64 = 0
    for (bucket, held) in buckets.enumerated() {
      passed += held
      if passed >= rank { return min(Latencies.end(of: bucket), greatest) }
    }
    return greatest
  }

  private static func bucket(of nanoseconds: UInt64) -> Int {
    let shift = max(0, nanoseconds.bitWidth - nanoseconds.leadingZeroBitCount - 11)
    return shift * Int(division) + Int(nanoseconds >> UInt64(shift))
  }

  /// The longest time that falls into a bucket.
  private static func end(of bucket: Int) -> UInt64 {
    guard bucket >= 2 * Int(division) else { return UInt64(bucket) }
    let shift = UInt64(bucket) / division - 1
    return (UInt64(bucket) - shift * division + 1) << shift - 1
  }
}
