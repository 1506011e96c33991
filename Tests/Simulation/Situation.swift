/// Something that histories are meant to contain: faults, repairs and the corners in between. A situation that
/// never occurs is not tested, so a run of many seeds counts each.
package enum Situation: String, CaseIterable, Sendable {
  case delivered = "messages delivered"
  case connected = "connections opened"
  case written = "writes"
  case decided = "proposals decided and stored"
  case committed = "writes committed"
  case conflict = "compare-and-set conflict"
  case coalesced = "unsent write superseded by a later one"
  case unchanged = "write without effect"
  case refused = "write refused"
  case refusedAsLoop = "chain of answers refused by the hub"
  case stoppedAsLoop = "chain of answers stopped by its peer"
  case answered = "write made in answer to a commit"
  case textMerged = "text merged with another writer's words"
  case listMerged = "list merged by its writer"
  case unionGrown = "list grown at the hub"
  case expiredUnsent = "write withdrawn before it was sent"
  case expiredAtHub = "withdrawn write sent as void and decided as expired"
  case unknown = "unknown outcome after a loss"
  case offlineConflict = "old offline write in conflict with a newer one"
  case lostFrame = "published frame lost"
  case oneWayCut = "connection broken in one direction"
  case lateHello = "hello of a lost connection after the next connection"
  case queueOverflow = "published frame dropped at a full queue"
  case unbuffered = "commit dropped at a full buffer during a catch-up"
  case outboxFull = "write refused by a full outbox"
  case gap = "gap detected"
  case healedByDelta = "gap healed by a delta"
  case healedBySnapshot = "gap healed by a snapshot"
  case deltaServed = "delta served"
  case snapshotServed = "snapshot served"
  case snapshotInChunks = "catch-up in several messages"
  case catchupMovedOn = "catch-up extended by commits while it was sent"
  case snapshotOlder = "snapshot older than the replica"
  case tailHealed = "lost last message healed by a head"
  case tailAsked = "lost last message and heads healed after a missed heartbeat"
  case missedHeartbeat = "missed heartbeat detected"
  case newEpoch = "new epoch"
  case provenLoss = "lost end of the log proven by a peer that was ahead"
  case offered = "replica offered for a recovery"
  case recoveredField = "field recovered"
  case hubCrash = "hub crashed"
  case peerCrash = "peer crashed"
  case restored = "write restored from an outbox"
  case keptReplica = "change of a replica kept on disk"
  case tornReplica = "change of a replica torn by a crash"
  case restoredReplica = "replica shown from disk at a start"
  case earlierReplica = "replica on disk replaced by an earlier copy"
  case replacedReplica = "replica from disk that is too old to be offered"
  case peerPause = "peer paused"
  case stranded = "peer isolated until the hub forgot it"
  case hubPause = "hub paused for longer than its heartbeats"
  case lostBatch = "stored batch lost with the end of the log"
  case retryLater = "proposal to be retried later"
  case limited = "proposal held back by a limit of its name"
  case retriedAsTooMany = "proposal to be retried, too many unacknowledged"
  case repeated = "duplicate proposal"
  case repeatAnswered = "duplicate proposal answered with its stored outcome"
  case repeatAfterRestart = "duplicate proposal after a hub restart"
  case jump = "proposal number out of order"
  case raisedLastDecided = "last decided number raised by a join"
  case ownBeforeAcknowledgement = "own commit seen before its acknowledgement"
  case ownAfterAcknowledgement = "own commit seen after its acknowledgement"
  case routedJoin = "join served on the request connection"
  case expiredLease = "lease expired"
  case movedBatch = "batch refused, as another hub had appended"
  case unknownBatch = "batch whose append may have failed"
  case fullStore = "batch refused by a full store"
  case loadedCompacted = "model loaded from compacted batches"
  case removedModel = "empty model removed"
  case renumberedModel = "fields renumbered without deleted names"
  case renumberedEphemeralModel = "fields of an ephemeral model renumbered"
  case announced = "model announced below a prefix"
  case impostor = "impostor refused"
  case impostorFirst = "impostor refused before its victim after a hub restart"
  case forgedOffer = "forged replica offered"
  case attacked = "attack on the hub"
  case receivedUnknown = "unknown outcome sent"
  case wroteInEphemeralModel = "write in an ephemeral model"
  case notOwner = "write of another's ephemeral field refused"
  case keptInEphemeralModel = "ephemeral fields kept across a reconnect"
  case goneFromEphemeralModel = "ephemeral field removed with its writer"
  case leftEphemeralModel = "ephemeral model left"
  case claimedAgain = "ephemeral field claimed again"
  case lostInEphemeralModel = "ephemeral field claimed again too late"
  case ownerAsked = "owner asked"
  case allowedByOwner = "write allowed by the owner"
  case refusedByOwner = "write refused by the owner"
  case ownerSilent = "write refused, as the owner did not answer"
  case ownerGone = "owner gone before it answered"
  case barrierMet = "barrier met"
  case barrierMissed = "barrier timed out"
  case barrierOfOldEpoch = "barrier ended by a new epoch"
  case barrierUnanswered = "barrier without an answer"
  case pastPage = "page of history sent"
  case pastGoesOn = "history continued on another page"
  case pastOfEpoch = "history of one epoch of several"
  case pastNotKept = "history that ends where earlier commits are not kept"
  case pastRenumbered = "history that ends at a renumbering"
  case pastUnanswered = "question about history without an answer"
  case rightsChanged = "rights changed"
  case connectionEndedForRights = "connection ended, as its user's rights changed"
  case refusedWithoutRight = "write refused without the right"
  case joinRefusedWithoutRight = "join refused without the right to read"
  case droppedWithoutRight = "replica dropped with the right to read"
  case pried = "stranger asked for everything"
  case undo = "undo written"
  case redo = "redo written"
  case undoDecided = "undo or redo decided"
  case undoConflict = "undo or redo in conflict at the hub"
  case undoOvertaken = "undo of a field that others had changed"
  case undoUnknown = "undo whose value before is not known"
  case undoLost = "undo of what a new epoch had lost"
  case undoWithdrawn = "undo of an unsent write"
  case undoKept = "step of undo restored from an outbox"
  case pastAsked = "value of the past asked for undo"
  case redone = "steps undone and redone at rest"
  case listChanged = "order or members of a list changed"
  case listSpread = "neighbours in a list got other ranks"
  case listRecovered = "elements of a list recovered"
  case listShown = "list shown as it is committed"
  case keysChanged = "hub's keys changed"
  case keysLearned = "hub's keys learned"
  case fellBack = "field set back at the end of its time limit"
  case renewed = "field set back after renewals"
  case sentLateAsVoid = "late write of a field that expires sent as void"
  case followed = "record of another hub followed"
  case movedToOtherHub = "peer moved to another hub"
  case hubDrained = "hub drained, and ended"
  case unknownAppend = "append to the shared log without an answer"
  case movedByFold = "append outrun by records that are folded"
  case tailLost = "tail of the shared log lost its place"
  case tailMissed = "record that the tail did not show"
  case cutFromLog = "hub cut from the shared log"
  case cellRemoval = "model removed from the shared log"
  case letGo = "unused model let go"
  case joinedAhead = "peer that joined ahead of its hub"
  case passedOn = "proposal passed on to the home of its model"
  case takenBack = "proposal passed on and decided here after all"
  case ownedInCell = "peer owns a model of several hubs"
  case shardMoved = "models moved to another shard of the shared log"
  case shownAsExpired = "default shown because the hub was not heard"
}

extension Situation {
  /// Whether it needs several hubs over one log.
  var isOfCells: Bool {
    switch self {
    case .followed, .movedToOtherHub, .hubDrained, .unknownAppend, .movedByFold, .tailLost, .tailMissed, .cutFromLog,
      .cellRemoval, .joinedAhead, .letGo, .passedOn, .takenBack,
      .ownedInCell, .shardMoved:
      true
    default: false
    }
  }

  /// Counted from 0 in the order of `allCases`; hashing the raw value would cost more than the event that is
  /// counted.
  // SAFETY: the enum has fewer than 257 cases without payloads, so each is stored as one byte, its number.
  fileprivate var index: Int { Int(unsafeBitCast(self, to: UInt8.self)) }
}

/// How often each situation occurred.
package struct Counts: Sendable {
  private var counts = [UInt64](repeating: 0, count: Situation.allCases.count)

  /// Creates counts of zero.
  package init() {}

  /// The count of one situation.
  package subscript(situation: Situation) -> UInt64 {
    get { counts[situation.index] }
    set { counts[situation.index] = newValue }
  }

  /// Adds the counts of another history.
  package mutating func add(_ other: Counts) {
    for index in counts.indices { counts[index] += other.counts[index] }
  }

  /// The situations that did not occur, of those of one hub or of those of several hubs.
  package func never(inCells: Bool) -> [Situation] {
    Situation.allCases.filter { self[$0] == 0 && $0.isOfCells == inCells }
  }

  /// One line for each situation.
  package var table: String {
    let width = Situation.allCases.map { String(self[$0]).count }.max() ?? 0
    return Situation.allCases.map { situation in
      let count = String(self[situation])
      return String(repeating: " ", count: 2 + width - count.count) + count + "  " + situation.rawValue
    }.joined(separator: "\n")
  }
}
