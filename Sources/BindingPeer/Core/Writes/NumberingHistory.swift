import BindingProtocol

/// The proposal numbers that an identity has used: the last one in each model that was left, and since when some may
/// be in flight. Within an identity numbers never go back.
struct NumberingHistory: Sendable {
  private(set) var lastNumbers: [String: ProposalNumber] = [:]
  /// When the first number in flight was assigned, or earlier: by this clock, and by the hub's clock as last
  /// reported.
  private var first: (now: UInt64, hub: UInt64)?
  /// The hub's clock, as last reported.
  var hubNow: UInt64 = 0

  /// Numbers go on after those that an earlier run has used.
  mutating func resume(after numbers: [String: ProposalNumber]) { lastNumbers = numbers }

  /// A model is left whose last number is this.
  mutating func leave(_ model: String, after last: ProposalNumber) {
    if last > 0 { lastNumbers[model] = last }
  }

  /// A number is assigned while this many others are in flight.
  mutating func assign(inFlight: Int, now: UInt64) {
    if inFlight == 0 || first == nil { first = (now, hubNow) }
  }

  /// R11: whether a hub that does not know this identity may have forgotten its decisions. A hub keeps the last
  /// decided numbers of all identities that had a session within the time that it announces. If this peer's first
  /// number is more recent, the hub has decided none of its writes, or only in models that are gone, whose outcomes
  /// were all confirmed. What is pending has then never arrived, and is resent unchanged.
  ///
  /// The elapsed time is the longer of two: by this clock, which may have slept, and by the hub's. Half of the
  /// announced time is a margin for clocks of different speed.
  func mayBeForgotten(by welcome: Welcome, now: UInt64) -> Bool {
    guard let first else { return false }
    let byHub = max(first.hub, welcome.now) - min(first.hub, welcome.now)
    return max(now - min(first.now, now), byHub) >= UInt64(max(welcome.limits.identityMilliseconds, 0)) / 2
  }
}
