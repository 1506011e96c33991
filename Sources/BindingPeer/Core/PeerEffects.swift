public import BindingProtocol

/// The effects that a session requests, by kind.
///
/// They are carried out in the order of these properties: a frame may name a number that the outbox must hold first,
/// an observer sees a value before the program learns that its write has ended, and a question is asked about what
/// shows by then. Within a kind they are carried out in their order.
package struct PeerEffects: Sendable {
  /// Entries to record in the outbox. Only sessions that keep an outbox have any.
  package var journal: [JournalEntry] = []
  package var link: [LinkAction] = []
  /// For the observers of models: one update per model in each drain, and a second one if a write ends instead of
  /// being sent.
  package var updates: [ModelUpdate] = []
  package var outcomes: [WriteReport] = []
  package var questions: [PeerQuestion] = []
  package var events: [SessionEvent] = []

  /// No effects.
  package init() {}

  /// Whether there is nothing to carry out.
  package var isEmpty: Bool {
    journal.isEmpty && link.isEmpty && updates.isEmpty && outcomes.isEmpty && questions.isEmpty && events.isEmpty
  }

  /// Removes all effects and keeps the capacity.
  package mutating func removeAll() {
    journal.removeAll(keepingCapacity: true)
    link.removeAll(keepingCapacity: true)
    updates.removeAll(keepingCapacity: true)
    outcomes.removeAll(keepingCapacity: true)
    questions.removeAll(keepingCapacity: true)
    events.removeAll(keepingCapacity: true)
  }
}

/// What the link does for a session.
package enum LinkAction: Sendable {
  /// Close both connections if they are open; after the pause open a new request connection, then call `opened`, or
  /// `lost` if that fails.
  case open(afterMilliseconds: UInt64)
  /// Send the frame on the request connection.
  case send([UInt8])
  /// Open the publish connection of the endpoint whose request address is in use; subscribe to the session's topic,
  /// then to the heartbeat topic.
  case listen(sessionTopic: [UInt8], endpoints: [HubEndpoint])
  /// Subscribe to a model on the publish connection.
  case subscribe(Topic)
  case unsubscribe(Topic)
  /// If the connection is encrypted, its hub has told which keys it has and will have: remember them.
  case learn(AnnouncedKeys)
  /// If the connection is encrypted, its hub has told where the others of its log are: remember them.
  case remember([HubAddress])
  /// Close both connections: the session has ended and opens no others.
  case close
}

/// What has become of a write.
package enum WriteReport: Sendable {
  /// The write has its outcome; reported once for every write.
  case settled(WriteID, model: String, Outcome)
  /// The hub has deferred the write; it stays pending and is resent without further calls.
  case retryLater(WriteID, model: String, RetryReason)
}

/// What a session asks the program.
package enum PeerQuestion: Sendable {
  /// A write needs two values of a field merged: answer with `Session.merged`.
  case merge(WriteID, model: String, MergeQuestion)
  /// This peer owns the model and decides whether another peer's write may be applied: answer with `Session.answer`.
  case approve(model: String, ApprovalRequest)
  /// Undo needs a value of the past: answer with `Session.answer(_:in:with:)`.
  case past(model: String, PastQuestion)
}

/// What a session reports besides values and outcomes.
package enum SessionEvent: Sendable {
  case phase(Phase)
  case notice(Notice)
  /// A model below a joined prefix: each existing one, and later ones as they get their first commit.
  case announced(prefix: String, model: String, version: Version, fields: Int)
  /// All existing models below a joined prefix have been announced.
  case listed(prefix: String)
  /// A barrier has ended.
  case awaited(BarrierID, BarrierEnd)
  /// A request for a page of history has ended.
  case past(HistoryID, HistoryEnd)
  /// The hub answered a `ping`.
  case pong(token: UInt64)
}

/// The state of a session's connection to the hub.
public enum Phase: Hashable, Sendable {
  /// No connection exists, and none is being opened.
  case offline
  /// A connection has been requested.
  case connecting
  /// Connected; the hello was sent and the welcome has not arrived.
  case welcoming
  /// Welcomed by the hub.
  case live
  /// Ended permanently; every later write throws.
  case stopped(StopReason)
}

/// Why a hub did not let a peer join a model. The peer asks again every few seconds; writes wait meanwhile, unless the
/// right to read the model is missing: then they end, and what was read of the model is dropped.
public struct JoinRefusal: Hashable, Sendable, CustomStringConvertible {
  /// `badName`, `overLimit`, `tooManyTopics` or `notPermitted`.
  public var code: ErrorCode
  /// Begins with the model's id.
  public var reason: String

  public var description: String { PrintedText.escaped(reason) }
}

/// Why a session ended permanently.
public enum StopReason: Hashable, Sendable {
  /// A later session of the same identity took over.
  case fenced
  /// The hub speaks none of this peer's protocol versions; the text names those that it speaks.
  case otherProtocol(String)
  /// The hub knows this tag with another secret.
  case notYours
  /// `bye` was called.
  case closed
}

extension StopReason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .fenced: "a later session of the same identity took over"
    case .otherProtocol(let text): "the hub speaks another protocol: \(text)"
    case .notYours: "its tag is registered with another secret"
    case .closed: "closed"
    }
  }
}

/// An event worth a log line; it requires no reaction.
package enum Notice: Sendable, Equatable {
  /// Commits after `from` up to at least `to` did not arrive; a catch-up was requested.
  case gap(model: String, from: Version, to: Version)
  /// A catch-up closed a gap; it coalesced `commits` commits.
  case healed(model: String, form: CatchupChunk.Form, commits: UInt64)
  /// A heartbeat was missed; the heads were requested.
  case missedHeartbeat(last: UInt64)
  /// The hub's digest at the same version is different; a snapshot was requested.
  case diverged(model: String, version: Version)
  /// The hub's log has begun a new epoch; versions start again.
  case newEpoch(old: Epoch, new: Epoch)
  /// The hub speaks another draft of the protocol (`Capability.draft`).
  case otherDraft(String)
  /// The hub has another log: replicas are set aside and not sent, unacknowledged writes have ended as `unknown`.
  case otherLog(old: LogID, new: LogID)
  /// A hub has another log than this peer's, which the peer looks for elsewhere: what does not fit, and the remedy.
  case misfit(String)
  /// The hub has forgotten this identity: unacknowledged writes were resent as compare-and-set or ended as `unknown`.
  case unknownIdentity
  /// The hub asked for this model's replica and was sent `fields` fields.
  case offered(model: String, fields: Int)
  /// No hub has answered for half a second. Reported once per outage.
  case noHub
  /// A hub has answered after `noHub`.
  case hubFound
  /// The hub answered with an error.
  case hubError(code: ErrorCode, fatal: Bool, text: String)
  /// A connection is being replaced.
  case reopening(Reopening)
  /// A frame that violates the grammar was dropped.
  case badFrame(WireError)
}

/// Why a connection was replaced.
package enum Reopening: Hashable, Sendable {
  case lost
  case noWelcome
  /// No frame arrived from the hub for more than three heartbeats.
  case silence
  /// Frames arrive on the request connection, but heartbeats no longer arrive on the publish connection.
  case noHeartbeats
  /// It is none of the hubs of this peer's log.
  case otherLog
  case hubError(ErrorCode)
}

/// Counts of what was received, sent and dropped since the session was made.
public struct SessionCounters: Sendable, Hashable {
  /// Frames received on either connection, dropped ones included.
  public var framesReceived: UInt64 = 0
  /// Frames sent.
  public var framesSent: UInt64 = 0
  /// Frames dropped because they violate the grammar.
  public var badFrames: UInt64 = 0
  /// Frames dropped because they belong to another start of the hub.
  public var otherStart: UInt64 = 0
  /// Frames dropped because they are addressed to another session.
  public var otherSession: UInt64 = 0
  /// Frames dropped because their model is not joined.
  public var otherTopic: UInt64 = 0
  /// Commits dropped because they are at or below the applied version.
  public var repeats: UInt64 = 0
  /// Writes that were refused as conflicts, merged with the committed value, and resent.
  public var merged: UInt64 = 0
  /// Published commits that were applied.
  public var commitsApplied: UInt64 = 0
  /// Gaps that were found.
  public var gaps: UInt64 = 0
  /// Deltas that were applied.
  public var deltas: UInt64 = 0
  /// Snapshots that were applied.
  public var snapshots: UInt64 = 0
  /// Times that one or more heartbeats were missed.
  public var missedHeartbeats: UInt64 = 0
  /// Digests that differed from the hub's at the same version.
  public var divergences: UInt64 = 0
  /// Proposals that were resent.
  public var resent: UInt64 = 0
  /// Times that the hub deferred a write.
  public var retries: UInt64 = 0
  /// Frames of commits dropped during a catch-up because the buffer was full.
  public var unbuffered: UInt64 = 0
  /// Hubs that were left immediately because they have another log than this peer's.
  public var otherLogs: UInt64 = 0
  /// Request connections that were opened.
  public var connections: UInt64 = 0

  /// Counters at zero.
  public init() {}
}
