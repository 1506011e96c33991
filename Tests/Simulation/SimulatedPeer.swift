import BindingPeer
import BindingProtocol

/// A peer in the world: its session, both ends of its connections, its process, and what its application remembers in
/// order to check the session's promises.
final class SimulatedPeer: SimulationPart, CustomStringConvertible {
  let context: SimulationContext
  let invariants: Invariants
  /// The hub that it is connected to, or was last.
  @exclusivity(unchecked) var hub: SimulatedHub
  /// Its index in the world.
  let index: Int
  @exclusivity(unchecked) var session: Session
  @exclusivity(unchecked) var effects = PeerEffects()
  /// Spares `settle` an allocation.
  @exclusivity(unchecked) var spareEffects = PeerEffects()
  @exclusivity(unchecked) var link: PeerLink
  @exclusivity(unchecked) var process: PeerProcess
  @exclusivity(unchecked) var outbox = PeerOutbox()
  @exclusivity(unchecked) var writes: OwnWrites
  @exclusivity(unchecked) var observed: ObservedModels
  @exclusivity(unchecked) var numbers: KnownNumbers
  /// What it said in an ephemeral model, if it is in one.
  @exclusivity(unchecked) var member: EphemeralMember?
  @exclusivity(unchecked) var barriers: [BarrierID: PeerBarrier] = [:]

  /// Starts a process of a peer, which joins the models.
  /// - Parameter former: the process before, if there was one.
  convenience init(_ index: Int, after former: SimulatedPeer?, book: OutboxBook?, of hub: SimulatedHub) {
    let profile = hub.profile
    let fresh = Identity(secret: Secret(high: hub.chance.next(), low: hub.chance.next()), name: "p\(index)")
    #if MUTANTS
      let identity = Mutant.isOn(.keepIdentity) ? former?.session.identity ?? fresh : fresh
    #else
      let identity = fresh
    #endif
    let offset = hub.chance.below(2) == 0 ? 0 : UInt64(hub.chance.below(5_000))
    let now = hub.now + offset
    var options = SessionOptions()
    options.offlineMilliseconds = profile.offlineMilliseconds
    if profile.writesTooDeep { options.limits.maxHops = 20 }
    options.maxOutboxWrites = profile.maxOutboxWrites
    options.maxBufferedBytes = profile.maxBufferedBytes
    var book = book
    let runs = book?.reopen() ?? []
    let choice =
      book == nil || !profile.keepsReplicas ? nil : KeepChoice(defersOutcomes: PeerKeeping.defersOutcomes(index))
    var session = Session(
      identity: identity, seed: hub.chance.next(), options: options, now: now, keepsOutbox: book != nil,
      keeping: choice, stored: choice == nil ? KeptReplicas() : book?.replicas ?? KeptReplicas(),
      wall: hub.context.wall)
    var outbox = PeerOutbox()
    outbox.keeping.choice = choice
    outbox.previousRuns = runs.map { ($0, session.carry($0, wall: hub.context.wall)) }
    outbox.bookRun = book?.begin(identity) ?? 0
    outbox.book = book
    self.init(
      index, session, clockOffset: offset, run: former.map { $0.process.run + 1 } ?? 0,
      generation: former.map { $0.link.generation + 1 } ?? (index + 1) * 1_000_000, of: hub)
    outbox.forgottenRuns = former?.outbox.forgottenRuns ?? []
    self.outbox = outbox
    for model in modelNames where model != context.visited || !isChaos {
      self.session.join(model, now: now, into: &effects)
    }
    if profile.hasExpiry {
      self.session.join(ExpiryWorkload.model, now: now, into: &effects)
      self.session.declare(ExpiryWorkload.declared, in: ExpiryWorkload.model, now: now, into: &effects)
    }
    if profile.joinsPrefix { self.session.joinPrefix("", now: now, into: &effects) }
    if profile.hasUndo {
      self.session.restoreUndo(outbox.book?.undo ?? [:])
      // A former run may have withdrawn what this one writes again.
      writes.withdrawn = former?.writes.withdrawn ?? [:]
      counts[.undoKept] += UInt64(outbox.book?.undo[UndoWorkload.model]?.count ?? 0)
      self.session.join(UndoWorkload.model, now: now, into: &effects)
      self.session.recordUndo(of: UndoWorkload.model, now: now)
    }
    guard profile.isInEphemeralModel(index) else { return }
    self.session.join(Names.ephemeral(modelNames[0]), now: now, into: &effects)
    member = EphemeralMember()
  }

  init(_ index: Int, _ session: Session, clockOffset: UInt64, run: Int, generation: Int, of hub: SimulatedHub) {
    (context, invariants, self.hub) = (hub.context, hub.invariants, hub)
    self.index = index
    self.session = session
    if let cell = hub.cell { self.session.hubs = HubPool(cell.addresses) }
    link = PeerLink(generation: generation)
    process = PeerProcess(run: run, clockOffset: clockOffset)
    let models = context.modelNames.count
    writes = OwnWrites(models: models)
    observed = ObservedModels(models: models)
    numbers = KnownNumbers(models: models)
  }

  /// Its number in the table of rights: that of the peer for which it sends an earlier run's writes.
  var user: Int { outbox.successor?.index ?? index }
  /// The time by its clock.
  var clock: UInt64 { now + process.clockOffset }
  var tag: Tag { read { $0.identity.tag } }

  /// Whether the hub may have forgotten outcomes of this peer, or of the run whose writes it sends.
  var mayBeForgotten: Bool {
    outbox.successor == nil
      ? profile.forgetsSoon && numbers.wasForgotten : profile.forgetsSoon || numbers.wasForgotten
  }

  /// Reads the session without copying it.
  func read<Result>(_ look: (inout Session) -> Result) -> Result { look(&session) }

  /// "p" and its index.
  var description: String { "p\(index)" }
}
