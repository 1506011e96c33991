/// Which faults a seed knows, and how often: each class is drawn on or off, so that some seeds see one fault alone and
/// some see all.
public struct FaultProfile: Sendable {
  public var peers = 3
  public var models = 1
  /// In a thousand frames on a publish connection.
  public var lostFrames = 0
  public var repeatedFrames = 0
  /// In a thousand steps of an application.
  public var cuts = 0
  public var hubCrashes = 0
  public var peerCrashes = 0
  /// Whether each second peer has an outbox that survives its crash.
  public var hasOutboxes = false
  public var leaves = 0
  /// In a thousand steps: the application looks at one more model, which nobody else needs for long, writes something,
  /// deletes all, and leaves it.
  public var visits = 0
  /// Names of deleted fields that a model keeps; nil: as many as there are.
  public var maxDeletedNames: Int?
  /// Whether a hub that starts again has its log.
  public var isDurable = false
  /// Whether that log may lack its last batches.
  public var losesTail = false
  /// The longest that the store takes for a batch, milliseconds; 0: it answers at once.
  public var storeDelay: UInt64 = 0
  /// In a thousand appends: the store does not know what became of the batch, or another hub was first.
  public var unknownAppends = 0
  public var movedAppends = 0
  public var fullAppends = 0
  /// In a thousand steps of an application: its process is stopped for a while and goes on.
  public var pauses = 0
  /// In a thousand steps: one way of a peer's connections is dead for a while.
  public var oneWayCuts = 0
  /// Published frames that wait at most for a process that is stopped.
  public var queueFrames = 1_000
  public var maxOutboxWrites = 10_000
  public var maxBufferedBytes = 1_048_576
  public var leaseMilliseconds: UInt32 = 10_000
  /// The longest way of a frame, milliseconds; each connection has its own.
  public var requestDelay: UInt64 = 3
  public var publishDelay: UInt64 = 3
  /// Milliseconds between two steps of an application.
  public var pace: UInt64 = 40
  public var chaosMilliseconds: UInt64 = 12_000
  /// Downstream frame about a model that is dropped, counted from 0; for the test that drops each in turn.
  public var droppedFrame: Int?
  public var steps = 60
  /// In a thousand steps of an application: the hub's process is stopped for longer than its heartbeats.
  public var hubPauses = 0
  /// In a thousand steps: the hub starts again and does not notice that its log lacks its last batches.
  public var unnoticedLosses = 0
  /// In a thousand steps: who is none of the peers talks to the hub in the name of one.
  public var impostors = 0
  /// In a thousand starts of a hub that has lost commits: who is none of the peers offers a replica that never was.
  public var forgedOffers = 0
  /// In a thousand commits of others: the application answers with a write.
  public var answers = 0
  /// In a thousand writes: it is taken back soon after; it adds to what may be text.
  public var withdrawals = 0
  public var wrongAdditions = 0
  public var maxUnacknowledged = 256
  public var chunkBytes = 262_144
  public var offlineMilliseconds: UInt64 = 10_000
  /// A peer that allows longer chains of answers than the hub writes one before it is told.
  public var writesTooDeep = false
  /// Peers change the model's description.
  public var describes = false
  public var joinsPrefix = false
  /// The hub remembers hardly anybody who has no session.
  public var forgetsSoon = false
  /// In a thousand writes: it puts one word or number into a field that gathers them, so many in a history at most.
  public var gatherings = 0
  public var mostGathered = 40
  /// So many peers write in the ephemeral line of the first model.
  public var ephemeralWriters = 0
  /// Whether the last peer owns that model now and then, and what it is like then.
  public var hasOwner = false
  public var temper = Temper.willing
  /// In a thousand steps of an application: it waits for others to have a version of that model.
  public var barriers = 0

  public init() {}

  init(drawnFrom chance: inout Chance) {
    peers = 7 + chance.below(5)
    models = 1 + chance.below(2)
    if chance.perMille(500) { lostFrames = [5, 50, 300][chance.below(3)] }
    if chance.perMille(300) { repeatedFrames = [20, 200][chance.below(2)] }
    if chance.perMille(400) { cuts = [10, 60][chance.below(2)] }
    if chance.perMille(300) { hubCrashes = [6, 30][chance.below(2)] }
    if chance.perMille(250) { peerCrashes = [6, 30][chance.below(2)] }
    if chance.perMille(200) { leaves = 40 }
    isDurable = chance.perMille(500)
    losesTail = isDurable && chance.perMille(500)
    if chance.perMille(400) { storeDelay = [2, 60][chance.below(2)] }
    if chance.perMille(250) { unknownAppends = 30 }
    if chance.perMille(250) { movedAppends = 50 }
    if chance.perMille(250) { fullAppends = 20 }
    if chance.perMille(250) { pauses = 20 }
    if chance.perMille(300) { leaseMilliseconds = 1_500 }
    requestDelay = [1, 5, 40, 300][chance.below(4)]
    publishDelay = [1, 5, 40, 300][chance.below(4)]
    pace = [5, 40, 200][chance.below(3)]
    steps = 12 + chance.below(15)
    hasOutboxes = chance.perMille(500)
    drawMore(from: &chance)
  }

  private mutating func drawMore(from chance: inout Chance) {
    if chance.perMille(200) { hubPauses = 10 }
    if isDurable, chance.perMille(400) {
      unnoticedLosses = 60
      if chance.perMille(500) { (models, storeDelay, pace) = (2, 60, min(pace, 40)) }
    }
    if chance.perMille(250) { impostors = 30 }
    if chance.perMille(300) { answers = [30, 300][chance.below(2)] }
    if chance.perMille(300) { withdrawals = 60 }
    if chance.perMille(300) { wrongAdditions = 30 }
    // With few on a long way, what was written would not be through before the history ends.
    if chance.perMille(200) { maxUnacknowledged = requestDelay > 5 ? 16 : 3 }
    if chance.perMille(300) { chunkBytes = 150 }
    if chance.perMille(300) { offlineMilliseconds = 1_000 }
    writesTooDeep = chance.perMille(150)
    describes = chance.perMille(500)
    joinsPrefix = chance.perMille(300)
    if chance.perMille(250) { oneWayCuts = 20 }
    if chance.perMille(300) { queueFrames = 6 }
    if chance.perMille(200) { maxOutboxWrites = 8 }
    if chance.perMille(300) { maxBufferedBytes = 200 }
    if chance.perMille(300) { visits = [20, 80][chance.below(2)] }
    if chance.perMille(500) { gatherings = [80, 300][chance.below(2)] }
    if chance.perMille(250) { maxDeletedNames = 1 + chance.below(2) }
    forgetsSoon = chance.perMille(150)
    if forgetsSoon { leaseMilliseconds = 1_500 }
  }
}
