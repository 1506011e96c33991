import BindingHub
import BindingProtocol

/// What all parts of a simulated world share: the faults to inject, the time, the chance, the events to come, and what
/// has happened so far.
///
/// One thread runs a world, and its parts never overlap: exclusivity checks at run time would cost 5 %.
final class SimulationContext {
  let profile: FaultProfile
  /// The stored models. In histories with visits the last one is visited.
  let modelNames: [String]
  @exclusivity(unchecked) var chance: Chance
  /// Chance for features between peers: a stream of its own, so that drawing features does not change the histories
  /// without them.
  @exclusivity(unchecked) var featureChance: Chance
  @exclusivity(unchecked) var agenda = Agenda<WorldEvent>(blank: .endQuiet)
  @exclusivity(unchecked) private(set) var now: UInt64 = 1_000
  @exclusivity(unchecked) var isChaos = true
  /// No peer writes: the hub has lost commits and does not know it.
  @exclusivity(unchecked) var isQuiet = false
  /// How often each situation has occurred so far.
  @exclusivity(unchecked) var counts = Counts()
  /// Who may do what; nil: everybody may do everything.
  @exclusivity(unchecked) var rights: RightsTable?
  /// Chance for rights: a stream of its own, too.
  @exclusivity(unchecked) var rightsChance: Chance
  /// Writes of all applications so far.
  @exclusivity(unchecked) var writeCount = 0
  @exclusivity(unchecked) private(set) var digest = HistoryDigest()
  /// The last steps, one a line; empty unless `keepsTrace` is set.
  @exclusivity(unchecked) private(set) var trace: [String] = []
  private let keepsTrace: Bool

  init(profile: FaultProfile, chance: Chance, featureChance: Chance, rightsChance: Chance, keepsTrace: Bool) {
    self.profile = profile
    self.chance = chance
    self.featureChance = featureChance
    self.rightsChance = rightsChance
    self.keepsTrace = keepsTrace
    modelNames = (0..<profile.models).map { "m\($0)" } + (profile.visits > 0 ? ["visited"] : [])
    // The peers, and a stranger.
    if profile.hasRights { rights = RightsTable(users: profile.peers + 1, self, &self.rightsChance) }
  }

  /// The name of the model that applications visit; nil in histories without visits.
  var visited: String? { profile.visits > 0 ? modelNames.last : nil }

  var wall: UInt64 { 1_700_000_000_000 + now }

  /// The next event up to that time, which becomes the present; nil if there is none.
  func nextEvent(until end: UInt64) -> WorldEvent? {
    digest.add(chance.state)
    digest.add(featureChance.state)
    guard let event = agenda.pop(upTo: end) else {
      now = end
      return nil
    }
    now = agenda.time
    digest.add(now)
    return event
  }

  /// Counts a message that has arrived.
  func recordDelivered(_ frame: [UInt8]) {
    counts[.delivered] += 1
    digest.add(frame)
  }

  func schedule(_ event: PeerEvent, of peer: SimulatedPeer, at time: UInt64) {
    agenda.add(.peer(peer.index, run: peer.process.run, event), at: time)
  }

  func record(_ text: @autoclosure () -> String) {
    guard keepsTrace else { return }
    trace.append("\(now)  \(text())")
    if trace.count > 20_000 { trace.removeFirst(10_000) }
  }

  /// Every value is unique, so that its origin can be identified.
  func uniqueValue(of peer: Int) -> FieldValue { FieldValue(bytes: Array("\"p\(peer).\(writeCount)\"".utf8)) }

  /// Adds what a hub has counted until its end.
  func add(_ counters: HubCounters) {
    counts[.repeated] += counters.repeats
    counts[.routedJoin] += counters.routedJoins
    counts[.recoveredField] += counters.recoveredFields
    counts[.jump] += counters.jumps
    counts[.raisedLastDecided] += counters.raisedMarks
    counts[.expiredLease] += counters.expiredLeases
    counts[.movedBatch] += counters.movedBatches
    counts[.letGo] += counters.modelsLetGo
    counts[.passedOn] += counters.passedOn
    counts[.takenBack] += counters.takenBack
    counts[.joinedAhead] += counters.joinsAhead
    counts[.unknownBatch] += counters.unknownBatches
    counts[.fullStore] += counters.fullAppends
    counts[.deltaServed] += counters.deltas
    counts[.snapshotServed] += counters.snapshots
    counts[.expiredAtHub] += counters.expired
    counts[.removedModel] += counters.removedModels
    counts[.renumberedModel] += counters.renumberedModels
  }
}

/// A part of the simulated world, which shares the context with the other parts.
protocol SimulationPart {
  var context: SimulationContext { get }
}

extension SimulationPart {
  var profile: FaultProfile { context.profile }
  var modelNames: [String] { context.modelNames }
  var now: UInt64 { context.now }
  var isChaos: Bool { context.isChaos }
  var isQuiet: Bool { context.isQuiet }
  var agenda: Agenda<WorldEvent> {
    get { context.agenda }
    nonmutating _modify { yield &context.agenda }
  }
  var chance: Chance {
    get { context.chance }
    nonmutating _modify { yield &context.chance }
  }
  var featureChance: Chance {
    get { context.featureChance }
    nonmutating _modify { yield &context.featureChance }
  }
  var counts: Counts {
    get { context.counts }
    nonmutating _modify { yield &context.counts }
  }

  func record(_ text: @autoclosure () -> String) { context.record(text()) }
}
