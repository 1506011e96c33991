/// A histogram of durations with buckets whose width grows with the duration: bounded memory for any number of
/// entries.
///
/// A percentile is at most 1/1,024 too high and never too low; count and maximum are exact.
struct Latencies {
  /// Each power of two is divided into this many buckets; durations shorter than twice that have a bucket each.
  private static let division: UInt64 = 1_024
  /// Longer durations, of more than an hour, count as this one.
  private static let longest: UInt64 = 1 << 42

  private var buckets: [UInt64] = []
  private(set) var count: UInt64 = 0
  /// The longest duration in nanoseconds; 0 if there is none.
  private(set) var greatest: UInt64 = 0

  mutating func record(_ nanoseconds: UInt64) {
    let bucket = Latencies.bucket(of: min(nanoseconds, Latencies.longest))
    if bucket >= buckets.count { buckets += Array(repeating: 0, count: bucket + 1 - buckets.count) }
    buckets[bucket] += 1
    count += 1
    greatest = max(greatest, min(nanoseconds, Latencies.longest))
  }

  /// The duration in nanoseconds that `share` (0 to 1) of the entries did not exceed; nil without entries.
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

  /// The longest duration in a bucket.
  private static func end(of bucket: Int) -> UInt64 {
    guard bucket >= 2 * Int(division) else { return UInt64(bucket) }
    let shift = UInt64(bucket) / division - 1
    return (UInt64(bucket) - shift * division + 1) << shift - 1
  }
}
