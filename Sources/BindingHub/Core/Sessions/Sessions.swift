import BindingProtocol

/// One hello to its end: who speaks, over which connections, and what it has joined.
struct SessionRecord {
  let id: SessionID
  /// Who speaks, proven by its hello; the secret is not kept.
  let identity: Origin
  var connection: ConnectionID
  /// The publish connection that subscribed this session's topic.
  var subscriber: SubscriberID?
  let leaseMilliseconds: UInt64
  let welcomedAt: UInt64
  var expiresAt: UInt64
  /// Whether it can be asked which versions it has applied.
  var reports: Bool
  /// Whether it says of a proposal that it was first sent in an earlier epoch (capability `rescue`).
  var reportsEarlier = false
  var joins: [Topic: JoinRecord] = [:]
  var prefixes: [String: UInt32] = [:]
  /// Outcomes that leave when the drain ends; `full` are messages that had no more room.
  var outcomes = OutcomesWriter()
  var full: [OutcomesWriter] = []
  var hasOutcomes = false
  /// Proposals that wait for a decision or for the store.
  var unacknowledged = 0
  /// The model that it wrote to last.
  var seat: Seat?
  /// It has to say hello again: nothing of it is heard, and it is there only until it does, or its lease ends.
  var isOver = false

  /// Makes room for one more outcome.
  mutating func makeRoom(limitBytes: Int) {
    guard outcomes.isFull || outcomes.byteCount > limitBytes else { return }
    full.append(outcomes)
    outcomes = OutcomesWriter()
  }
}

/// Where a session stands in a model that it has joined: found once, good until the model says that it may have
/// changed.
struct Seat {
  var model: Int
  /// The place of its identity among the model's writers.
  var writer: Int
  /// The model's `seating` when it was found.
  var seating: UInt64
}

/// A session's membership in a model, and the join that is still to be answered, if there is one.
struct JoinRecord {
  var open: Join?
  /// From then on the session is served on the request connection.
  var subscribeBy: UInt64
  var delivery: Joined.Delivery?
  /// The version that was here when it told of a later one while a batch was being stored.
  var aheadOf: Version?
  /// The version that an `alive` told last. It does not name an epoch, so it counts only for sessions that cannot be
  /// asked, and for people.
  var applied: Version?
  /// Divergences that the peer healed in this session, as it told last.
  var healed: UInt32 = 0
}

/// What is known of an identity beyond its session.
struct IdentityRecord {
  var session: SessionID?
  var lastSeen: UInt64
  /// Whether it has heard from a welcome whether it was known. That welcome may be lost: until it joins something it is
  /// told again that it was not.
  var hasReceivedWelcome = false
  /// The models in which it has a mark.
  var models: Set<Int> = []
  /// How many models are there that its joins have made.
  var made = 0
  /// Since when it is in models that it has joined and not left, milliseconds since 1970.
  var presentSince: [Topic: UInt64] = [:]
}

/// A publish connection: the session topics and models that it subscribed.
struct SubscriberRecord {
  var sessions: Set<SessionID> = []
  var topics: Set<Topic> = []
}

/// The sessions and what leads to them, with the deadlines of their leases (R16).
struct Sessions {
  private(set) var records: [SessionID: SessionRecord] = [:]
  var identities: [Tag: IdentityRecord] = [:]
  /// When the last of those was seen that had a mark and was forgotten because there were too many.
  var evictedLastSeen: UInt64?
  var subscribers: [SubscriberID: SubscriberRecord] = [:]
  /// Session topics that were subscribed before their session's hello was read.
  var earlySubscribers: [SessionID: SubscriberID] = [:]
  private(set) var byConnection: [ConnectionID: Set<SessionID>] = [:]
  /// Sessions that joined a prefix.
  var withPrefixes: Set<SessionID> = []
  /// No lease ends before then. It is asked for with each drain, so it is not looked for among all: leases only grow
  /// longer, and `expired` finds out when the first does end.
  private(set) var nextExpiry = UInt64.max
  /// The session that was changed last, and its place among the records: messages of one come in runs.
  private var latest: (id: SessionID, index: Dictionary<SessionID, SessionRecord>.Index)?

  subscript(id: SessionID) -> SessionRecord? { records[id] }

  var count: Int { records.count }

  /// By their numbers: the order in a dictionary differs from run to run, and a history must be repeatable.
  var inOrder: [SessionRecord] { records.values.sorted { $0.id < $1.id } }

  mutating func add(_ record: SessionRecord) {
    latest = nil
    records[record.id] = record
    nextExpiry = min(nextExpiry, record.expiresAt)
    byConnection[record.connection, default: []].insert(record.id)
  }

  mutating func remove(_ id: SessionID) -> SessionRecord? {
    latest = nil
    guard let record = records.removeValue(forKey: id) else { return nil }
    withPrefixes.remove(id)
    byConnection[record.connection]?.remove(id)
    if byConnection[record.connection]?.isEmpty == true { byConnection[record.connection] = nil }
    return record
  }

  /// Changes a session in place; nothing happens if it has ended.
  @discardableResult
  mutating func with<Result>(_ id: SessionID, _ body: (inout SessionRecord) -> Result) -> Result? {
    if let latest, latest.id == id { return body(&records.values[latest.index]) }
    guard let index = records.index(forKey: id) else { return nil }
    latest = (id, index)
    return body(&records.values[index])
  }

  /// How a session stands in a model that it has joined. By its place: a record that is asked for is copied whole.
  func join(of id: SessionID, in topic: Topic) -> JoinRecord? {
    guard let index = records.index(forKey: id) else { return nil }
    return records.values[index].joins[topic]
  }

  func isSubscribed(_ subscriber: SubscriberID?, to topic: Topic) -> Bool {
    subscriber.flatMap { subscribers[$0] }?.topics.contains(topic) ?? false
  }

  mutating func renew(_ id: SessionID, now: UInt64) {
    with(id) { $0.expiresAt = now + $0.leaseMilliseconds }
  }

  /// Gives every session a full term: after a long pause of the hub's own nobody else is to blame.
  mutating func renewAll(now: UInt64) {
    for id in records.keys { renew(id, now: now) }
  }

  /// The sessions whose lease has ended.
  mutating func expired(now: UInt64) -> [SessionID] {
    guard nextExpiry <= now else { return [] }
    nextExpiry = .max
    var ended: [SessionID] = []
    // By their places: going over the records themselves would copy each.
    for index in records.indices {
      let expiresAt = records.values[index].expiresAt
      if expiresAt <= now { ended.append(records.keys[index]) } else { nextExpiry = min(nextExpiry, expiresAt) }
    }
    return ended.sorted()
  }
}
