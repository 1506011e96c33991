public import BindingProtocol

/// What a session wants done. The caller carries it out in order and empties the output.
public struct PeerOutput: Sendable {
  public var actions: [PeerAction] = []

  public init() {}

  public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

  mutating func add(_ action: PeerAction) { actions.append(action) }
}

/// One thing that a session wants done.
public enum PeerAction: Sendable {
  /// Close both connections if they are there; open a new request connection after the pause, then call `opened`, or
  /// `lost` if that fails.
  case open(afterMilliseconds: UInt64)
  /// Send the frame on the request connection.
  case send([UInt8])
  /// Open the publish connection to that of the ways whose request address was used; subscribe to the session's topic,
  /// then to the heartbeat topic.
  case listen(sessionTopic: [UInt8], endpoints: [HubEndpoint])
  /// Subscribe to a model on the publish connection.
  case subscribe(Topic)
  case unsubscribe(Topic)
  /// Tell a model's observers; at most one per model in each drain.
  case update(ModelUpdate)
  /// A write has its outcome. Told once for every write, after the update that it causes.
  case settled(WriteID, model: String, Outcome)
  /// Note this in the outbox before any frame of this drain leaves. Only from a session that keeps one.
  case keep(JournalEntry)
  /// The hub has put a write off; it stays pending and is sent again by itself.
  case retryLater(WriteID, model: String, RetryReason)
  /// Two values of a field have to become one, for a write to go on: answer with `Session.merged`.
  case merge(WriteID, model: String, MergeQuestion)
  /// This peer owns the model, and is asked whether somebody's write may be carried out: answer with `Session.answer`.
  case approve(model: String, ApprovalRequest)
  /// A model below a joined prefix: those that exist one by one, later ones as they get their first commit.
  case announced(prefix: String, model: String, version: Version, fields: Int)
  /// All models that exist below a joined prefix have been announced.
  case listed(prefix: String)
  /// A wait for others has ended.
  case awaited(BarrierID, BarrierEnd)
  case phase(Phase)
  case notice(Notice)
  /// The hub answered a `ping`.
  case pong(token: UInt64)
  /// Close both connections: the session has ended and opens no other.
  case close
}

/// How far a session has come.
public enum Phase: Hashable, Sendable {
  /// No connection, none being opened.
  case offline
  /// A connection has been asked for.
  case connecting
  /// Connected, said hello, not yet welcomed.
  case welcoming
  /// Welcomed.
  case live
  /// Ended for good; every later write throws.
  case stopped(StopReason)
}

/// Why a hub did not let a peer join a model. The peer asks again every few seconds, and writes wait meanwhile.
public struct JoinRefusal: Hashable, Sendable, CustomStringConvertible {
  /// `badName`, `overLimit` or `tooManyTopics`.
  public var code: ErrorCode
  /// Begins with the model's id.
  public var reason: String

  public var description: String { PrintedText.escaped(reason) }
}

/// Why a session ended for good.
public enum StopReason: Hashable, Sendable {
  /// A later session of the same identity took over.
  case fenced
  /// The hub speaks none of our protocol numbers; its text names those that it does.
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
    case .notYours: "the hub knows its tag with another secret"
    case .closed: "closed"
    }
  }
}

/// Something worth a log line; nothing needs to be done about it.
public enum Notice: Sendable, Equatable {
  /// Commits after `from` up to `to`, at least, did not arrive; a catch-up has been asked for.
  case gap(model: String, from: Version, to: Version)
  /// A gap has been closed; so many commits came folded into one.
  case healed(model: String, form: CatchupChunk.Form, commits: UInt64)
  /// A heartbeat did not come; the heads have been asked for.
  case missedHeartbeat(last: UInt64)
  /// At the same version the hub's digest is another one; a snapshot has been asked for.
  case diverged(model: String, version: Version)
  /// The hub's log has begun a new life; versions start again.
  case newEpoch(old: Epoch, new: Epoch)
  /// The hub has another log: replicas are kept aside unsent, unacknowledged writes have ended as `unknown`.
  case otherLog(old: LogID, new: LogID)
  /// The hub has forgotten this identity: unacknowledged writes went out again as compare-and-set or ended as
  /// `unknown`.
  case unknownIdentity
  /// The hub asked for this model's replica and got so many fields.
  case offered(model: String, fields: Int)
  /// No hub has answered for half a second. Told once, until one has.
  case noHub
  /// One answers after all.
  case hubFound
  /// The hub answered with an error.
  case hubError(code: ErrorCode, fatal: Bool, text: String)
  /// A connection is given up.
  case reopening(Reopening)
  /// A frame was dropped that does not follow the grammar.
  case badFrame(WireError)
}

/// Why a connection is given up for a new one.
public enum Reopening: Hashable, Sendable {
  case lost
  case noWelcome
  /// Nothing came from the hub for more than three heartbeats.
  case silence
  /// Frames come on the request connection, heartbeats no longer on the publish connection.
  case noHeartbeats
  case hubError(ErrorCode)
}

/// What was dropped and done, counted since the session was made.
public struct SessionCounters: Sendable, Hashable {
  public var framesReceived: UInt64 = 0
  public var framesSent: UInt64 = 0
  /// Frames that do not follow the grammar.
  public var badFrames: UInt64 = 0
  /// Frames of another start of the hub.
  public var otherStart: UInt64 = 0
  /// Frames to another session.
  public var otherSession: UInt64 = 0
  /// Frames about a model that has not been joined.
  public var otherTopic: UInt64 = 0
  /// Commits and catch-ups at or below the version applied.
  public var repeats: UInt64 = 0
  /// Writes that were refused as conflicts, merged with what was there, and sent again.
  public var merged: UInt64 = 0
  public var commitsApplied: UInt64 = 0
  public var gaps: UInt64 = 0
  public var deltas: UInt64 = 0
  public var snapshots: UInt64 = 0
  public var missedHeartbeats: UInt64 = 0
  public var divergences: UInt64 = 0
  /// Proposals that were sent once more.
  public var resent: UInt64 = 0
  public var retries: UInt64 = 0
  /// Commits that came during a catch-up and found no room to wait in.
  public var unbuffered: UInt64 = 0
  public var connections: UInt64 = 0

  public init() {}
}
