/// Which of the rules between peers a seed has besides: each in a quarter of the seeds.
extension FaultProfile {
  /// - Parameter chance: a stream of its own, so that a seed without any of them is what it would be without this.
  mutating func drawFeatures(from chance: inout Chance) {
    if chance.perMille(250) { ephemeralWriters = 2 + chance.below(3) }
    if chance.perMille(250) {
      hasOwner = true
      temper = [.willing, .strict, .slow][chance.below(3)]
    }
    if chance.perMille(250) { barriers = [40, 150][chance.below(2)] }
  }

  /// - Parameter chance: a stream of its own, too. A liar joins as a peer does: what is told of peers would count it.
  mutating func drawForgedOffers(from chance: inout Chance) {
    if chance.perMille(500), !hasEphemeralOrBarriers { forgedOffers = 700 }
  }

  /// What an owner is like: how often in a thousand questions it says no, nothing, or something too late, and how often
  /// its connection or its process breaks before it answers.
  public struct Temper: Sendable {
    public var refusals: Int
    public var silences: Int
    public var delays: Int
    public var cuts: Int
    public var crashes: Int

    static let willing = Temper(refusals: 50, silences: 10, delays: 10, cuts: 20, crashes: 10)
    static let strict = Temper(refusals: 400, silences: 10, delays: 10, cuts: 20, crashes: 10)
    static let slow = Temper(refusals: 100, silences: 80, delays: 80, cuts: 60, crashes: 30)
  }

  /// Whether anybody joins an ephemeral line.
  var hasEphemeralModel: Bool { ephemeralWriters > 0 || hasOwner }

  /// Whether more has to be known of what the hub has heard than a history without any of this needs.
  var hasEphemeralOrBarriers: Bool { hasEphemeralModel || barriers > 0 }
}
