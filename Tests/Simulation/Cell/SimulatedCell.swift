import BindingHub
import BindingProtocol

/// Several hubs over one log, which another system keeps: each hub reaches it by a handle of its own, whose requests
/// and answers may be late, lost or repeated, and whose tail may stop or lose records.
final class SimulatedCell: SimulationPart {
  /// What reaches a hub from its handle of the log. One thread runs a world.
  // SAFETY: the handle calls back only while the world steps it, on the world's thread.
  final class Inbox: @unchecked Sendable {
    @exclusivity(unchecked) var events: [SharedEvent] = []
  }
  let context: SimulationContext
  private let invariants: Invariants
  /// What every hub finds stored, in order.
  let store: SimulatedStore
  private let shards: SimulatedShards
  @exclusivity(unchecked) var hubs: [SimulatedHub] = []
  /// Handles of processes that are gone; what they had sent may still arrive.
  @exclusivity(unchecked) private var orphans: [(handle: SimulatedHandle, hub: SimulatedHub)] = []
  /// Counts the starts of all hubs.
  @exclusivity(unchecked) private var starts = 0
  /// Counts the connections from hub to hub.
  @exclusivity(unchecked) private var linkCount: UInt64 = 0
  /// How far each log was looked through, and what was stored.
  @exclusivity(unchecked) private var observed: [SharedRevision]
  @exclusivity(unchecked) private var entered: [String: [UInt64: Batch]] = [:]
  /// Seeds the faults of each handle.
  @exclusivity(unchecked) private var faultChance: Chance

  static let epoch: Epoch = 1 << 32 | 1

  init(_ context: SimulationContext, _ invariants: Invariants, faultChance: Chance) {
    self.context = context
    self.invariants = invariants
    self.faultChance = faultChance
    store = SimulatedStore(context, invariants)
    shards = SimulatedShards(
      logID: 7, epoch: SimulatedCell.epoch, hasShard: context.profile.cell.shardMoves > 0)
    observed = shards.logs.map(\.revision)
  }

  deinit { hubs.removeAll() }

  /// Where the hubs listen, in their order.
  var addresses: [HubAddress] { (0..<profile.cell.hubs).map { HubAddress(tcp: "hub-\($0)", port: 7_877) } }

  /// The hub that a peer has chosen.
  func hub(at address: HubAddress?) -> SimulatedHub {
    hubs[address.flatMap { addresses.firstIndex(of: $0) } ?? 0]
  }

  func nextStart() -> Int {
    starts += 1
    return starts
  }

  /// The number of a connection from one hub to another.
  func nextLink() -> ConnectionID {
    linkCount += 1
    return SimulatedLinks.connections.lowerBound + linkCount
  }

  /// Seeds what a hub that starts draws by itself.
  func nextSeed() -> UInt64 { faultChance.next() }

  /// A handle for a hub that starts, and where its events arrive.
  func open() -> (handle: SimulatedHandle, inbox: Inbox) {
    let (seed, profile) = (faultChance.next(), profile.cell)
    let handle = SimulatedHandle(shards) { number in
      var chance = Chance(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
      guard chance.perMille(profile.engineFaults) else { return .none }
      switch chance.below(5) {
      case 0: return .lateRequest(1 + chance.below(60))
      case 1: return .lostRequest
      case 2: return .lateAnswer(1 + chance.below(60))
      case 3: return .lostAnswer
      default: return .repeatedAnswer
      }
    }
    if profile.tailLosses > 0 {
      handle.setLosing { record in
        var chance = Chance(seed: seed ^ record.revision &* 0x9E37_79B9_7F4A_7C15)
        return chance.perMille(profile.tailLosses)
      }
    }
    let inbox = Inbox()
    handle.begin { inbox.events.append($0) }
    return (handle, inbox)
  }

  /// The process behind a handle is gone. From one that was cut off nothing arrives any more.
  func abandon(_ handle: SimulatedHandle, of hub: SimulatedHub) {
    if !handle.isCut { orphans.append((handle, hub)) }
  }

  // MARK: Time

  /// Lets a hub's handle do what is due. What is stored by it is observed before its hub learns of it.
  func step(_ handle: SimulatedHandle, of hub: SimulatedHub) throws(Violation) {
    handle.step()
    try observe(hub)
    for (orphan, former) in orphans {
      orphan.step()
      try observe(former)
    }
    orphans.removeAll { $0.handle.isIdle }
  }

  private func observe(_ hub: SimulatedHub) throws(Violation) {
    for (index, log) in shards.logs.enumerated() where log.revision > observed[index] {
      while let page = log.records(after: observed[index], limit: 1_000), page.position > observed[index] {
        observed[index] = page.position
        for record in page.records { try enter(record.batch, by: hub) }
      }
    }
  }

  /// Something stands in the log. What was copied from one shard to another stood there before.
  private func enter(_ batch: Batch, by hub: SimulatedHub) throws(Violation) {
    if shards.logs.count > 1 {
      if let present = entered[batch.model]?[batch.record] {
        guard present == batch else {
          throw Violation(.order, "\(batch.model) has two different records \(batch.record), in two shards")
        }
        return
      }
      entered[batch.model, default: [:]][batch.record] = batch
    }
    if batch.form == .removal { counts[.cellRemoval] += 1 }
    try store.enter(batch, by: hub)
  }

  // MARK: Faults

  /// Injects the faults of one step of an application at a hub, of those that concern its way to the log.
  func inject(at hub: SimulatedHub) {
    guard let handle = hub.handle, hub.isRunning else { return }
    if chance.perMille(profile.cell.engineCuts) {
      record("\(hub) is cut from the log")
      counts[.cutFromLog] += 1
      handle.setCut(true)
      agenda.add(.hub(hub.index, .healLog(run: hub.run)), at: now + chance.within(100...5_000))
    }
    if chance.perMille(profile.cell.tailHolds) {
      record("the tail of \(hub) stops")
      handle.setTailHeld(true)
      agenda.add(.hub(hub.index, .healLog(run: hub.run)), at: now + chance.within(100...3_000))
    }
    if chance.perMille(profile.cell.compactions) {
      // What is not looked through yet would never be.
      for (index, log) in shards.logs.enumerated() where observed[index] == log.revision { log.compact() }
    }
    if chance.perMille(profile.cell.shardMoves) || shards.isHolding && chance.perMille(200) { goOnMoving() }
    if chance.perMille(profile.cell.drains) { hub.drain() }
  }

  // MARK: At rest

  /// Does the next steps of a move: several at once are seen by no hub one by one.
  private func goOnMoving() {
    for _ in 0...chance.below(4) {
      guard let step = shards.goOn() else { return }
      record("shards: \(step)")
      if step == "finish" { counts[.shardMoved] += 1 }
    }
  }

  /// Ends a move that keeps writes waiting.
  func endMove() { while shards.isHolding { if let step = shards.goOn() { record("shards: \(step)") } } }

  /// All hubs have the same models, with the same ids of fields.
  func checkAtRest() throws(Violation) {
    for model in modelNames {
      // A hub need not have a model that was removed.
      let heads = hubs.compactMap { hub in hub.head(of: model).map { (hub: hub, head: $0) } }
      for (hub, head) in heads where head != heads[0].head {
        throw Violation(
          .convergence,
          "\(hub) has version \(head.version) of \(model), \(heads[0].hub) has \(heads[0].head.version), and their "
            + "digests are \(head.digest == heads[0].head.digest ? "equal" : "different")")
      }
    }
  }
}

/// The faults of a cell.
package struct CellProfile: Sendable {
  /// The hubs; 1: no cell.
  package var hubs = 1
  /// Per thousand tries of an append: its request or its answer is late, lost or repeated.
  package var engineFaults = 0
  /// Per thousand steps of an application: a hub is cut from the log for a while.
  package var engineCuts = 0
  /// Per thousand steps: a hub's tail stops for a while.
  package var tailHolds = 0
  /// Per thousand records: a hub's tail does not show it.
  package var tailLosses = 0
  /// Per thousand steps: the log forgets what tails read.
  package var compactions = 0
  /// Per thousand steps: a hub sends its peers to the others, and ends.
  var drains = 0
  /// Whether hubs have links to each other, and pass proposals on.
  var hasLinks = false
  /// Lost batches after which they do.
  var lossesBeforeHome = 3
  /// Per thousand messages of a link: it and those after it are late.
  var linkDelays = 0
  /// Per thousand turns of a link: it is lost.
  var linkLosses = 0
  /// Milliseconds between two steps of a handle.
  package var pace: UInt64 = 1
  /// Per thousand steps: the next step of a move of models from one shard of the log to another.
  package var shardMoves = 0
  /// Milliseconds by which each hub's wall clock is ahead of the hub's before it.
  package var clockStep: UInt64 = 0
  /// Milliseconds for which a hub keeps a model that no session has joined.
  package var unused: UInt64 = 300_000

  /// Creates a profile of one hub.
  package init() {}

  init(drawnFrom chance: inout Chance) {
    hubs = 2 + chance.below(2)
    if chance.perMille(500) { engineFaults = [30, 200][chance.below(2)] }
    if chance.perMille(300) { engineCuts = 10 }
    if chance.perMille(300) { tailHolds = 20 }
    if chance.perMille(250) { tailLosses = [10, 100][chance.below(2)] }
    if chance.perMille(200) { compactions = 10 }
    pace = [1, 3, 20][chance.below(3)]
    if chance.perMille(400) { drains = [2, 10][chance.below(2)] }
    if chance.perMille(700) { unused = [0, 100, 2_000][chance.below(3)] }
    if chance.perMille(300) { clockStep = [700, 86_400_000][chance.below(2)] }
    hasLinks = chance.perMille(700)
    lossesBeforeHome = 1 + chance.below(2)
    if chance.perMille(500) { linkDelays = [10, 100][chance.below(2)] }
    if chance.perMille(400) { linkLosses = 2 }
    if chance.perMille(400) { shardMoves = [20, 100][chance.below(2)] }
  }
}

extension FaultProfile {
  /// Makes the history one of several hubs over one log. What a hub alone knows, or loses, is no part of it.
  mutating func drawCell(from chance: inout Chance) {
    cell = CellProfile(drawnFrom: &chance)
    (isDurable, losesTail, unnoticedLosses, forgetsSoon) = (true, false, 0, false)
    (storeDelay, unknownAppends, movedAppends, fullAppends) = (0, 0, 0, 0)
    (impostors, forgedOffers, barriers, ephemeralWriters) = (0, 0, 0, 0)
    // Other hubs reach the owner's hub over links.
    hasOwner = cell.hasLinks && chance.perMille(400)
    (hasRights, hasLimits, hasKeys, hasExpiry, histories) = (false, false, false, false, 0)
    leaseMilliseconds = max(leaseMilliseconds, 1_500)
  }
}
