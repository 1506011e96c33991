/// Which features between peers a seed uses besides: each in a quarter of the seeds.
extension FaultProfile {
  /// - Parameter chance: a stream of its own, so that drawing features does not change the seeds without them.
  mutating func drawFeatures(from chance: inout Chance) {
    if chance.perMille(250) { ephemeralWriters = 2 + chance.below(3) }
    if chance.perMille(250) {
      hasOwner = true
      temper = [.willing, .strict, .slow][chance.below(3)]
    }
    if chance.perMille(250) { barriers = [40, 150][chance.below(2)] }
  }

  /// - Parameter chance: a stream of its own, too. An impostor joins like a peer, and checks about peers would
  ///   count it.
  mutating func drawForgedOffers(from chance: inout Chance) {
    if chance.perMille(500), !hasEphemeralOrBarriers { forgedOffers = 700 }
  }

  /// - Parameter chance: a stream of its own, too. A hub believes only those who may write everything that it has lost
  ///   something: a reader that alone has seen it goes on with what it has, which other checks would count.
  mutating func drawRights(from chance: inout Chance) {
    if chance.perMille(400), !hasEphemeralOrBarriers, unnoticedLosses == 0 { hasRights = true }
  }

  /// - Parameter chance: a stream of its own, too.
  mutating func drawLimits(from chance: inout Chance) {
    if hasRights, chance.perMille(600) { hasLimits = true }
  }

  /// - Parameter chance: a stream of its own, too.
  mutating func drawKeys(from chance: inout Chance) {
    if chance.perMille(250) { hasKeys = true }
  }

  /// - Parameter chance: a stream of its own, too. A lie about a lost tail, or rights, would need an oracle more.
  mutating func drawExpiry(from chance: inout Chance) {
    if chance.perMille(300), !hasRights, unnoticedLosses == 0 { hasExpiry = true }
  }

  /// - Parameter chance: a stream of its own, too.
  mutating func drawHistories(from chance: inout Chance) {
    guard chance.perMille(300) else { return }
    histories = [60, 250][chance.below(2)]
    keptBatches = [2, 8, 1_000][chance.below(3)]
  }

  /// - Parameter chance: a stream of its own, too.
  mutating func drawKeeping(from chance: inout Chance) {
    guard hasOutboxes, chance.perMille(600) else { return }
    keepsReplicas = true
    // What is on disk matters only where processes end.
    peerCrashes = max(peerCrashes, 30)
  }

  /// - Parameter chance: a stream of its own, too. Whoever may only delete elements changes the head, which checks of
  /// rights do not know.
  mutating func drawLists(from chance: inout Chance) {
    guard chance.perMille(400), !hasRights else { return }
    lists = [150, 500][chance.below(2)]
    listGap = [1, 4, 1 << 24][chance.below(3)]
  }

  /// - Parameter chance: a stream of its own, too.
  mutating func drawRecovery(from chance: inout Chance) { earlyMilliseconds = [500, 3_000, 60_000][chance.below(3)] }

  /// How an owner behaves: how often in a thousand questions it refuses, stays silent or answers too late, and how
  /// often its connection or process breaks before it answers.
  package struct Temper: Sendable {
    /// Per thousand questions: it refuses.
    package var refusals: Int
    /// Per thousand questions: it does not answer.
    package var silences: Int
    /// Per thousand questions: it answers after 1.5 s to 2.5 s.
    package var delays: Int
    /// Per thousand questions: its connection is cut.
    package var cuts: Int
    /// Per thousand questions: its process crashes.
    package var crashes: Int

    static let willing = Temper(refusals: 50, silences: 10, delays: 10, cuts: 20, crashes: 10)
    static let strict = Temper(refusals: 400, silences: 10, delays: 10, cuts: 20, crashes: 10)
    static let slow = Temper(refusals: 100, silences: 80, delays: 80, cuts: 60, crashes: 30)
  }

  /// Whether any peer joins an ephemeral model.
  var hasEphemeralModel: Bool { ephemeralWriters > 0 || hasOwner }

  /// Whether the application of a peer joins the ephemeral model. Excludes carriers, which only send an earlier run's
  /// writes.
  func isInEphemeralModel(_ peer: Int) -> Bool {
    peer < min(ephemeralWriters, peers) || hasOwner && peer == peers - 1
  }

  /// Whether the world must record what the hub receives, which other histories do not need.
  var hasEphemeralOrBarriers: Bool { hasEphemeralModel || barriers > 0 }
}
