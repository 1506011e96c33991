/// The faults that a seed injects, and how often: each class is drawn on or off, so that some seeds see one fault
/// alone and some see all.
package struct FaultProfile: Sendable {
  /// Peers in the world.
  package var peers = 3
  /// Models in the world.
  package var models = 1
  /// Per thousand frames on a publish connection: lost.
  package var lostFrames = 0
  /// Per thousand frames on a publish connection: delivered twice.
  package var repeatedFrames = 0
  /// Per thousand steps of an application: its connection is cut.
  package var cuts = 0
  /// Per thousand steps of an application: the hub crashes.
  package var hubCrashes = 0
  /// Per thousand steps of an application: its peer crashes.
  package var peerCrashes = 0
  /// Whether every second peer has an outbox that survives its crash.
  package var hasOutboxes = false
  /// Whether the peers with an outbox keep replicas in it too.
  package var keepsReplicas = false
  /// Per thousand steps of an application: it leaves a model and joins it again.
  package var leaves = 0
  /// Per thousand steps: the application joins one more model, which no other peer needs for long, writes to it,
  /// deletes everything and leaves it.
  package var visits = 0
  /// Names of deleted fields that a model keeps; nil: unlimited.
  package var maxDeletedNames: Int?
  /// Whether a restarted hub has its log.
  package var isDurable = false
  /// Whether that log may lack its last batches.
  package var losesTail = false
  /// The longest that the store takes for a batch, milliseconds; 0: it answers immediately.
  package var storeDelay: UInt64 = 0
  /// Per thousand appends: the store does not know whether it stored the batch.
  package var unknownAppends = 0
  /// Per thousand appends: another hub was first.
  package var movedAppends = 0
  /// Per thousand appends: the store is full.
  package var fullAppends = 0
  /// Per thousand steps of an application: its process is stopped for a while, then continues.
  package var pauses = 0
  /// Per thousand steps: one direction of a peer's connections is dead for a while.
  package var oneWayCuts = 0
  /// Published frames that wait at most for a stopped process.
  package var queueFrames = 1_000
  /// Writes that an outbox holds at most.
  package var maxOutboxWrites = 10_000
  /// Bytes of commits that a peer buffers at most during a catch-up.
  package var maxBufferedBytes = 1_048_576
  /// How long a silent session lives, milliseconds.
  package var leaseMilliseconds: UInt32 = 10_000
  /// The longest delay of a frame on the request connection, milliseconds.
  package var requestDelay: UInt64 = 3
  /// The longest delay of a frame on the publish connection, milliseconds.
  package var publishDelay: UInt64 = 3
  /// Milliseconds between two steps of an application.
  package var pace: UInt64 = 40
  /// Length of the chaos phase, milliseconds.
  package var chaosMilliseconds: UInt64 = 12_000
  /// The downstream frame about a model that is dropped, counted from 0; for the test that drops each in turn.
  package var droppedFrame: Int?
  /// Steps of each application.
  package var steps = 60
  /// Per thousand steps of an application: the hub's process is stopped for longer than its heartbeats.
  package var hubPauses = 0
  /// Per thousand steps: the hub restarts and does not notice that its log lacks its last batches.
  package var unnoticedLosses = 0
  /// Per thousand steps: an impostor speaks to the hub in the name of a peer.
  package var impostors = 0
  /// Per thousand starts of a hub that has lost commits: an impostor offers a replica that never existed.
  package var forgedOffers = 0
  /// Per thousand commits of other peers: the application answers with a write.
  package var answers = 0
  /// Per thousand writes: it is withdrawn soon after.
  package var withdrawals = 0
  /// Per thousand writes: it adds a number to a field that may hold text.
  package var wrongAdditions = 0
  /// How long peers may bring back what the log has lost before the store no longer looks for it, milliseconds.
  package var earlyMilliseconds: UInt64 = 60_000
  /// Unacknowledged proposals that the hub allows a session.
  package var maxUnacknowledged = 256
  /// Bytes of a catch-up message at most.
  package var chunkBytes = 262_144
  /// How long a write may wait offline before it becomes a compare-and-set, milliseconds.
  package var offlineMilliseconds: UInt64 = 10_000
  /// Whether a peer that allows longer chains of answers than the hub writes one before it learns the hub's limit.
  package var writesTooDeep = false
  /// Whether peers change the model's description.
  package var describes = false
  /// Whether peers join all models by prefix.
  package var joinsPrefix = false
  /// Whether the hub remembers hardly any identity without a session.
  package var forgetsSoon = false
  /// Per thousand writes: it puts one word or number into a gathering field, at most `mostGathered` times in a
  /// history.
  package var gatherings = 0
  /// The most words and numbers that a history gathers.
  package var mostGathered = 40
  /// Per thousand writes: it changes elements of a list.
  package var lists = 0
  /// The distance of the ranks of a list's elements.
  package var listGap: Int64 = 1 << 24
  /// Peers that write in the ephemeral model of the first model.
  package var ephemeralWriters = 0
  /// Whether the last peer owns the first model now and then.
  package var hasOwner = false
  /// How that owner behaves.
  package var temper = Temper.willing
  /// Per thousand steps of an application: it waits until others have a version of the first model.
  package var barriers = 0

  /// Per thousand steps of an application: it asks for the past of a model.
  package var histories = 0
  /// The last batches of a model that its store keeps as history.
  package var keptBatches = 1_000

  /// Whether users have different rights, which change meanwhile.
  package var hasRights = false
  /// Whether some of them may write only little.
  package var hasLimits = false
  /// Whether peers write fields that expire, in a model of their own.
  package var hasExpiry = false
  /// Whether peers write, undo and redo in a model of their own.
  package var hasUndo = false
  /// Whether the hub tells its keys, which change in flight.
  package var hasKeys = false

  /// How many hubs share the log, and how they reach it.
  package var cell = CellProfile()

  /// Creates a profile without faults.
  package init() {}

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
    // Few of them over a slow connection would not finish before the history ends.
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
