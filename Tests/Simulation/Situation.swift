/// Something that histories are meant to contain: faults, repairs and the corners in between. A situation that
/// never occurs is not tested, so a run of many seeds counts each.
package enum Situation: String, CaseIterable, Sendable {
  case delivered = "messages delivered"
  case connected = "connections opened"
  case written = "writes"
  case decided = "proposals decided and stored"
  case committed = "writes committed"
  case conflict = "compare-and-set conflict"
  case coalesced = "unsent write folded into a later one"
  case unchanged = "write with nothing to do"
  case refused = "write refused"
  case refusedAsLoop = "chain of answers refused by the hub"
  case stoppedAsLoop = "chain of answers stopped by its peer"
  case answered = "write made in answer to a commit"
  case textMerged = "text merged with another's words"
  case listMerged = "list merged by its writer"
  case unionGrown = "list grown at the hub"
  case expiredUnsent = "withdrawn before it was sent"
  case expiredAtHub = "sent as void, decided as expired"
  case unknown = "outcome unknown after a loss"
  case offlineConflict = "old offline write lost to a newer one"
  case lostFrame = "published frame lost"
  case oneWayCut = "connection dead one way for a while"
  case queueOverflow = "published frame dropped at a full queue"
  case unbuffered = "commit dropped at a full buffer during a catch-up"
  case outboxFull = "write refused by a full outbox"
  case gap = "gap noticed"
  case healedByDelta = "gap healed by a delta"
  case healedBySnapshot = "gap healed by a snapshot"
  case deltaServed = "delta served"
  case snapshotServed = "snapshot served"
  case snapshotInChunks = "catch-up in several messages"
  case catchupMovedOn = "catch-up that was overtaken by commits while it was told"
  case snapshotOlder = "snapshot older than the replica"
  case tailHealed = "tail loss healed by the heads of the heartbeats"
  case tailAsked = "last message and its heads lost, healed by asking after a missed heartbeat"
  case missedHeartbeat = "missed heartbeat noticed"
  case newEpoch = "new epoch"
  case provenLoss = "lost tail proven by a peer that was ahead"
  case offered = "replica offered for a recovery"
  case recoveredField = "field recovered"
  case hubCrash = "hub crashed"
  case peerCrash = "peer crashed"
  case restored = "write restored from an outbox"
  case peerPause = "peer stopped for a while"
  case stranded = "peer cut off until it was forgotten"
  case hubPause = "hub stopped for longer than its heartbeats"
  case lostBatch = "stored batch lost with the store's tail"
  case retryLater = "proposal held"
  case retriedAsTooMany = "proposal held by a hub that allows few unacknowledged"
  case repeated = "duplicate hit"
  case repeatAnswered = "duplicate hit answered from the stored outcome"
  case repeatAfterRestart = "duplicate hit after a hub restart"
  case jump = "number out of turn"
  case raisedLastDecided = "mark raised by a join"
  case ownBeforeAcknowledgement = "own commit seen before its acknowledgement"
  case ownAfterAcknowledgement = "own commit seen after its acknowledgement"
  case routedJoin = "join served on the request connection"
  case expiredLease = "lease run out"
  case movedBatch = "another hub was first at the store"
  case unknownBatch = "store unsure of a batch"
  case fullStore = "store without room for a batch"
  case loadedCompacted = "model loaded from folded batches"
  case removedModel = "model removed that was deleted wholly"
  case renumberedModel = "fields numbered anew, names of deleted ones given back"
  case renumberedEphemeralModel = "the same in an ephemeral model"
  case announced = "model announced below a prefix"
  case impostor = "impostor refused"
  case impostorFirst = "impostor refused that came first after a hub restart"
  case forgedOffer = "replica offered that never was"
  case attacked = "attack on the hub"
  case receivedUnknown = "outcome that no epoch of the log knows"
  case wroteInEphemeralModel = "write in an ephemeral model"
  case notOwner = "write of another's ephemeral field refused"
  case keptInEphemeralModel = "ephemeral fields kept over a reconnect"
  case goneFromEphemeralModel = "ephemeral field gone with its writer"
  case leftEphemeralModel = "ephemeral model left"
  case claimedAgain = "ephemeral field claimed again"
  case lostInEphemeralModel = "ephemeral field claimed again and another's by then"
  case ownerAsked = "owner asked"
  case allowedByOwner = "write allowed by the owner"
  case refusedByOwner = "write refused by the owner"
  case ownerSilent = "write refused for the owner's silence"
  case ownerGone = "owner gone while it was asked"
  case barrierMet = "wait for others met"
  case barrierMissed = "wait for others out of time"
  case barrierOfOldEpoch = "wait for others ended by a new epoch"
  case barrierUnanswered = "wait for others without an answer"
}

extension Situation {
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

  /// The situations that did not occur.
  package var never: [Situation] { Situation.allCases.filter { self[$0] == 0 } }

  /// One line for each situation.
  package var table: String {
    let width = Situation.allCases.map { String(self[$0]).count }.max() ?? 0
    return Situation.allCases.map { situation in
      let count = String(self[situation])
      return String(repeating: " ", count: 2 + width - count.count) + count + "  " + situation.rawValue
    }.joined(separator: "\n")
  }
}
