/// Pseudo-random numbers from a seed: the only randomness of a session, so that a simulation can repeat it.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var position: UInt64

  /// Creates a generator; equal seeds give equal numbers.
  package init(seed: UInt64) { position = seed }

  /// SplitMix64.
  package mutating func next() -> UInt64 {
    position &+= 0x9E37_79B9_7F4A_7C15
    var mixed = position
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number that is not 0.
  package mutating func nextNonZero() -> UInt64 {
    while true {
      let number = next()
      if number != 0 { return number }
    }
  }
}

/// The pause before the next connection. It doubles with each try and is drawn between half and all of that, so that
/// the peers of a hub that went down do not all return at the same moment.
struct Backoff: Sendable {
  private var tries: UInt64 = 0

  mutating func reset() { tries = 0 }

  mutating func pause(from shortest: UInt64, to longest: UInt64, using generator: inout SeededGenerator) -> UInt64 {
    let whole = min(longest, shortest << min(tries, 16))
    tries += 1
    return UInt64.random(in: (whole / 2)...max(whole, 1), using: &generator)
  }
}
