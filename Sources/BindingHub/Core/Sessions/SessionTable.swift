import BindingProtocol

/// A session, from hello to end: its identity, its connections and its joins.
struct SessionRecord {
  let id: SessionID
  /// The identity that the hello proved.
  let identity: Origin
  var connection: ConnectionID
  /// The publish connection that subscribed to this session's topic.
  var subscriber: SubscriberID?
  let leaseMilliseconds: UInt64
  let welcomedAt: UInt64
  var expiresAt: UInt64
  let capabilities: SessionCapabilities
  var joins: [Topic: JoinRecord] = [:]
  var prefixes: [String: UInt32] = [:]
  var outcomes = OutcomeMessages()
  /// Proposals that wait for a decision or for the store.
  var unacknowledged = 0
  /// The model that it wrote to last.
  var seat: Seat?
  /// The peer must say hello again. Until it does, or the lease ends, its frames are ignored.
  var isOver = false
  /// What its user's name uses; nil: no limits.
  var usage: NameUsage?
}

/// Which optional parts of the protocol a peer knows.
struct SessionCapabilities {
  /// Whether it reports the versions that it has applied when asked.
  let reports: Bool
  /// Whether it marks proposals that were first sent in an earlier epoch (capability `rescue`).
  let reportsEarlier: Bool
  /// Whether it is told its rights in each model.
  let learnsRights: Bool
  /// Whether it is told the hub's keys.
  let learnsKeys: Bool
  /// Whether it may ask for history.
  let asksHistory: Bool
  /// Whether it can read the names of lists' elements.
  let knowsLists: Bool
  /// Whether it is sent nothing that is read (capability `writes`).
  let onlyWrites: Bool
  /// Whether it is the reading session of an edge, which stands for no peer.
  let isEdge: Bool
  /// Whether it is told if an edge reaches its upstream hub.
  let learnsUpstream: Bool
  /// Whether its joins are answered with nothing older than the log that hubs share.
  let wantsLatest: Bool
  /// Whether it is told the other hubs of the log.
  let knowsHubs: Bool
  /// Whether it is another hub of the log, which follows what this hub's own peers have in ephemeral models.
  let isSibling: Bool
  /// Whether it is of another hub, which tells how many of its own peers have applied a version.
  let counts: Bool

  /// - Parameter mayCount: whether it is believed what it says of its own peers; a sibling's user is asked later.
  init(_ names: [String], mayCount: Bool) {
    reports = names.contains(Capability.applied)
    reportsEarlier = names.contains(Capability.recovery)
    learnsRights = names.contains(Capability.rights)
    learnsKeys = names.contains(Capability.keys)
    asksHistory = names.contains(Capability.history)
    knowsLists = names.contains(Capability.lists)
    onlyWrites = names.contains(Capability.writes)
    isEdge = !onlyWrites && names.contains { Capability.edgeNumber($0) != nil }
    learnsUpstream = names.contains(Capability.upstream)
    wantsLatest = names.contains(Capability.latest)
    knowsHubs = names.contains(Capability.hubs)
    isSibling = names.contains(Capability.sibling)
    counts = names.contains(Capability.counts) && (isSibling || mayCount)
  }
}

/// A session's cached position in a joined model, valid while the model's `seating` is unchanged.
struct Seat {
  var model: Int
  /// The identity's index among the model's writers.
  var writer: Int
  /// The model's `seating` when the seat was found.
  var seating: UInt64
  /// What the session may write there; nil: everything.
  var limitation: WriteLimitation?

  func isValid(in index: Int, _ log: ModelLog) -> Bool { model == index && seating == log.members.seating }
}

/// A session's membership in a model, with the join that is not answered yet, if any.
struct JoinRecord {
  var open: Join?
  /// From then on the session is served on the request connection.
  var subscribeBy: UInt64
  var delivery: Joined.Delivery?
  /// The hub's version when the join named a later one while a batch was being stored.
  var aheadOf: Version?
  /// The version that the last `alive` reported. It names no epoch, so it counts only for sessions that cannot be
  /// asked, and for people.
  var applied: Version?
  /// The number of divergences that the peer healed in this session, as last reported.
  var healed: UInt32 = 0
  /// The log may have forgotten its writer: the peer says hello again before it writes.
  var mustGreet = false

  /// What goes on from the membership before.
  init(_ open: Join?, subscribeBy: UInt64, delivery: Joined.Delivery?, after before: JoinRecord?) {
    (self.open, self.subscribeBy, self.delivery) = (open, subscribeBy, delivery)
    (healed, mustGreet) = (before?.healed ?? 0, before?.mustGreet ?? false)
  }

  /// A join that keeps how the session is served.
  init(_ join: Join, subscribeBy: UInt64, after before: JoinRecord?) {
    self.init(join, subscribeBy: subscribeBy, delivery: before?.delivery, after: before)
  }
}

/// What is known of an identity beyond its session.
struct IdentityRecord {
  var session: SessionID?
  /// That of its last session's hello.
  var place: HelloPlace?
  /// What has proven it, kept with the session where its proposals may be passed on to another hub.
  var secret: Secret?
  var lastSeen: UInt64
  /// Whether it has received a welcome. A welcome may be lost, so only a join proves it; until then the next welcome
  /// again reports the identity as unknown.
  var hasReceivedWelcome = false
  /// The models in which it has a last decided number.
  var models: Set<Int> = []
  /// The number of existing models that its joins made.
  var made = 0
  /// When it joined the models that it has not left, milliseconds since 1970.
  var presentSince: [Topic: UInt64] = [:]

  /// A session of it begins.
  mutating func begin(_ session: SessionID, _ hello: Hello, keepsSecret: Bool, at time: UInt64) {
    (self.session, place, lastSeen) = (session, HelloPlace(of: hello), time)
    secret = keepsSecret ? hello.identity.secret : nil
  }

  /// Why a hello begins no session; nil: it may.
  func refusal(of hello: Hello) -> (code: ErrorCode, text: String)? {
    let place = HelloPlace(of: hello)
    if place.isLate(after: self.place) { return (.fenced, "a later session of this identity has begun") }
    guard session != nil, let present = self.place, place.yields(to: present) else { return nil }
    return (.closing, "another run of this identity has a session here")
  }

  /// Its session has ended.
  mutating func end(at time: UInt64) { (session, secret, lastSeen) = (nil, nil, time) }
}

/// A publish connection: the session topics and models to which it subscribed.
struct SubscriberRecord {
  var sessions: Set<SessionID> = []
  var topics: Set<Topic> = []
  /// What the name of its sessions uses; nil: no limits, or none of its sessions has been welcomed yet.
  var usage: NameUsage?
}

/// The sessions with their indices and the deadlines of their leases (R16).
struct SessionTable {
  private(set) var records: [SessionID: SessionRecord] = [:]
  var identities: [Tag: IdentityRecord] = [:]
  /// When the latest evicted identity that had a last decided number was last seen.
  var evictedLastSeen: UInt64?
  /// Identities with a last decided number in the log that this hub started with.
  var writersBefore: Set<Tag> = []
  var subscribers: [SubscriberID: SubscriberRecord] = [:]
  /// Session topics that were subscribed before their session's hello was read.
  var earlySubscribers: [SessionID: SubscriberID] = [:]
  private(set) var byConnection: [ConnectionID: Set<SessionID>] = [:]
  /// Those of other hubs of the log.
  private(set) var siblings: Set<SessionID> = []
  /// Sessions that joined a prefix.
  var withPrefixes: Set<SessionID> = []
  /// Sessions with outcomes to send, and the bytes past which a message of outcomes is full; the longest conflict then
  /// still fits into the frame.
  var withOutcomes: [SessionID] = []
  let outcomeBytes: Int
  /// No lease ends before then. Asked with each drain, so it is not computed from all sessions: leases only grow
  /// longer, and `expired` finds the first that ends.
  private(set) var nextExpiry = UInt64.max
  /// The session changed last and its index: messages of one session come in runs.
  private var latest: (id: SessionID, index: Dictionary<SessionID, SessionRecord>.Index)?

  init(outcomeBytes: Int) { self.outcomeBytes = outcomeBytes }

  subscript(id: SessionID) -> SessionRecord? { records[id] }

  var count: Int { records.count }

  /// By session number: a dictionary's order differs between runs, and a history must be repeatable.
  var inOrder: [SessionRecord] { records.values.sorted { $0.id < $1.id } }

  mutating func add(_ record: SessionRecord) {
    latest = nil
    records[record.id] = record
    record.usage?.sessions += 1
    nextExpiry = min(nextExpiry, record.expiresAt)
    byConnection[record.connection, default: []].insert(record.id)
    if record.capabilities.isSibling { siblings.insert(record.id) }
  }

  mutating func remove(_ id: SessionID) -> SessionRecord? {
    latest = nil
    guard let record = records.removeValue(forKey: id) else { return nil }
    record.usage?.sessions -= 1
    withPrefixes.remove(id)
    siblings.remove(id)
    byConnection[record.connection]?.remove(id)
    if byConnection[record.connection]?.isEmpty == true { byConnection[record.connection] = nil }
    return record
  }

  /// Changes a session in place; does nothing if it has ended.
  @discardableResult
  mutating func with<Result>(_ id: SessionID, _ body: (inout SessionRecord) -> Result) -> Result? {
    if let latest, latest.id == id { return body(&records.values[latest.index]) }
    guard let index = records.index(forKey: id) else { return nil }
    latest = (id, index)
    return body(&records.values[index])
  }

  /// A proposal of a session waits no longer, and gets no answer from here.
  mutating func endWait(_ id: SessionID) { with(id) { $0.unacknowledged = max($0.unacknowledged - 1, 0) } }

  /// A session's join of a model. Reads by index, because returning a record copies all of it.
  func join(of id: SessionID, in topic: Topic) -> JoinRecord? {
    guard let index = records.index(forKey: id) else { return nil }
    return records.values[index].joins[topic]
  }

  /// A model has another topic: its identities were present since the same time.
  mutating func changeTopic(_ old: Topic, to new: Topic) {
    for tag in Array(identities.keys) {
      guard let since = identities[tag]?.presentSince.removeValue(forKey: old) else { continue }
      identities[tag]?.presentSince[new] = since
    }
  }

  /// A subscriber's session is known, and with it whose the subscriptions are.
  mutating func identify(_ subscriber: SubscriberID, as usage: NameUsage?) {
    guard let usage, let record = subscribers[subscriber], record.usage == nil else { return }
    usage.subscriptions += record.topics.count
    subscribers[subscriber]?.usage = usage
  }

  mutating func subscribe(_ subscriber: SubscriberID, to topic: Topic) {
    guard subscribers[subscriber]?.topics.insert(topic).inserted == true else { return }
    subscribers[subscriber]?.usage?.subscriptions += 1
  }

  mutating func unsubscribe(_ subscriber: SubscriberID, from topic: Topic) {
    guard subscribers[subscriber]?.topics.remove(topic) != nil else { return }
    subscribers[subscriber]?.usage?.subscriptions -= 1
  }

  mutating func forget(_ subscriber: SubscriberID) {
    guard let record = subscribers.removeValue(forKey: subscriber) else { return }
    record.usage?.subscriptions -= record.topics.count
  }

  func isSubscribed(_ subscriber: SubscriberID?, to topic: Topic) -> Bool {
    subscriber.flatMap { subscribers[$0] }?.topics.contains(topic) ?? false
  }

  mutating func renew(_ id: SessionID, now: UInt64) {
    with(id) { $0.expiresAt = now + $0.leaseMilliseconds }
  }

  /// Gives every session a full term: after a long pause of the hub the peers are not to blame.
  mutating func renewAll(now: UInt64) {
    for id in records.keys { renew(id, now: now) }
  }

  /// The sessions whose lease has ended.
  mutating func expired(now: UInt64) -> [SessionID] {
    guard nextExpiry <= now else { return [] }
    nextExpiry = .max
    var ended: [SessionID] = []
    // By index: iterating over the records would copy each.
    for index in records.indices {
      let expiresAt = records.values[index].expiresAt
      if expiresAt <= now { ended.append(records.keys[index]) } else { nextExpiry = min(nextExpiry, expiresAt) }
    }
    return ended.sorted()
  }
}
