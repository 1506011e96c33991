/// The only source of chance in a simulated world (SplitMix64): the same seed makes the same history.
package struct Chance: RandomNumberGenerator, Sendable {
  private(set) var state: UInt64

  /// Creates the sequence of one seed.
  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True with a probability of `rate` in a thousand.
  package mutating func perMille(_ rate: Int) -> Bool { rate > 0 && Int(next() % 1_000) < rate }

  /// A number from 0 to `bound` - 1; 0 for bounds below 2.
  package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }

  /// A number in the range.
  package mutating func within(_ range: ClosedRange<UInt64>) -> UInt64 {
    range.lowerBound + next() % (range.upperBound - range.lowerBound + 1)
  }
}
