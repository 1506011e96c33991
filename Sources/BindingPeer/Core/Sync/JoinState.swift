import BindingProtocol

/// How far one model follows the hub: its join, its topic, and since when its values may be stale. Times are
/// milliseconds on the session's clock.
struct JoinState: Sendable {
  enum Progress: Sendable, Equatable {
    /// No join is under way: there is no session, or the model has to be asked for again.
    case idle
    case asked(request: UInt32, at: UInt64)
    /// `joined` has arrived; its catch-up is not complete.
    case catchingUp(request: UInt32, at: UInt64)
    case current
  }
  private(set) var progress = Progress.idle
  /// nil: the hub has assigned none in this session.
  var topic: Topic?
  /// Why the hub refused the last join; nil once it has accepted one.
  var refusal: JoinRefusal?
  /// What this session may do in the model; nil: everything, or nothing is known yet.
  private(set) var rights: SessionRights?
  /// Rights that arrived for the join that is under way.
  private var arriving: SessionRights?
  /// The replica does not fit the hub's state: the next join asks for everything. Until that arrives, the replica
  /// shows.
  var startsOver = false
  /// The heartbeat after which the last catch-up ended.
  private(set) var currentSince: UInt64 = 0
  /// Whether a catch-up has ever ended.
  private(set) var wasCurrent = false
  /// When the committed values were last known to be complete.
  private(set) var staleSince: Int64
  /// Left by the program; kept until all its writes have their outcomes.
  var isLeft = false

  init(now: UInt64) { staleSince = Int64(clamping: now) }

  /// The committed values are from a file, which may be older than the session's clock.
  mutating func restore(staleSince: Int64) { self.staleSince = staleSince }

  var isCurrent: Bool { progress == .current }
  var isIdle: Bool { progress == .idle }

  /// The request of the join that is under way.
  var request: UInt32? {
    switch progress {
    case .asked(let request, _), .catchingUp(let request, _): request
    case .idle, .current: nil
    }
  }

  /// When the join that is under way last went on.
  var waitingSince: UInt64? {
    switch progress {
    case .asked(_, let at), .catchingUp(_, let at): at
    case .idle, .current: nil
    }
  }

  mutating func ask(_ request: UInt32, at now: UInt64) {
    progress = .asked(request: request, at: now)
    arriving = nil
  }

  /// The hub says what this session may do, before it accepts the join.
  mutating func learn(_ rights: SessionRights) { arriving = rights }

  /// The hub accepts the join.
  mutating func accept() { rights = arriving }

  /// The catch-up goes on.
  mutating func catchUp(_ request: UInt32, at now: UInt64) { progress = .catchingUp(request: request, at: now) }

  /// The catch-up is complete.
  mutating func becomeCurrent(after heartbeat: UInt64) {
    progress = .current
    wasCurrent = true
    refusal = nil
    currentSince = heartbeat
  }

  /// The model must be asked for again; its values may be stale since `time`.
  mutating func lapse(at time: UInt64) {
    if isCurrent { staleSince = Int64(clamping: time) }
    progress = .idle
  }

  /// The connection is gone.
  mutating func disconnect(at time: UInt64) {
    lapse(at: time)
    topic = nil
  }
}
