import BindingPeer
import Testing

/// A session without a real hub: the test makes the hub's messages and reads the session's effects.
struct PeerBench {
  static let identity = Identity(secret: Secret(high: 1, low: 2), name: "me")
  static let own = identity.tag
  static let me = identity.origin
  static let other = Origin(tag: Tag(rawValue: 0xB2), name: "other")
  static let lamp: Topic = Topics.firstModel

  var session: Session
  var now: UInt64 = 1_000
  var start: StartNumber = 7
  var epoch: Epoch = 100
  var log: LogID = 1
  /// The hub's clock.
  var hubClock: UInt64 = 0
  /// The capabilities in the hub's welcome.
  var capabilities: [String] = []
  /// The session number of the last hello.
  var sessionID: SessionID = 0

  init(options: SessionOptions = SessionOptions(), seed: UInt64 = 1, keepsOutbox: Bool = false) {
    session = Session(identity: Self.identity, seed: seed, options: options, now: 1_000, keepsOutbox: keepsOutbox)
  }

  /// Uses an existing session.
  init(_ session: Session) { self.session = session }

  /// Runs `body` on the session, ends the drain, and returns the resulting effects.
  mutating func act<Failure: Error>(
    _ body: (inout Session, UInt64, inout PeerEffects) throws(Failure) -> Void
  ) throws(Failure) -> Drain {
    var effects = PeerEffects()
    try body(&session, now, &effects)
    session.finishDrain(now: now, into: &effects)
    let drain = Drain(effects)
    if let hello = drain.helloSession { sessionID = hello }
    return drain
  }

  /// One drain in which these messages arrive.
  @discardableResult
  mutating func hub(_ messages: HubMessage..., start: StartNumber? = nil, topic: Topic = Self.lamp) -> Drain {
    let frames = messages.map { $0.encode(topic: topic, start: start ?? self.start) }
    return deliver(frames)
  }

  @discardableResult
  mutating func deliver(_ frames: [[UInt8]]) -> Drain {
    act { session, now, output in
      for frame in frames { frame.withUnsafeBytes { session.receive($0, now: now, into: &output) } }
    }
  }

  /// Advances the time and ticks the session.
  @discardableResult
  mutating func wait(_ milliseconds: UInt64) -> Drain {
    now += milliseconds
    return act { session, now, output in session.tick(now: now, into: &output) }
  }

  // MARK: Joining a model

  @discardableResult
  mutating func open() -> Drain { act { session, now, output in session.opened(now: now, into: &output) } }

  @discardableResult
  mutating func lose() -> Drain { act { session, now, output in session.lost(now: now, into: &output) } }

  @discardableResult
  mutating func join(_ model: String = "lamp") -> Drain {
    act { session, now, output in session.join(model, now: now, into: &output) }
  }

  @discardableResult
  mutating func welcome(knew: Bool = false, limits: Limits = Limits()) -> Drain {
    hub(
      .welcome(
        Welcome(
          session: sessionID, logID: log, epoch: epoch, knewIdentity: knew, mayAskOffers: true, durability: .memory,
          heartbeatMilliseconds: 1_000, leaseMilliseconds: 9_000, now: hubClock, hub: "hub", limits: limits,
          endpoints: [HubEndpoint(request: "tcp:7877", publish: "tcp:7878")], capabilities: capabilities)))
  }

  /// Opens, is welcomed, and joins `lamp` with the snapshot's fields.
  @discardableResult
  mutating func live(
    version: Version = 0, _ fields: [Entry] = [], lastDecided: ProposalNumber = 0, knew: Bool = false,
    limits: Limits = Limits()
  ) -> Drain {
    if !session.joinedModels.contains("lamp") { join() }
    open()
    let request = welcome(knew: knew, limits: limits).request
    return catchUp(request, version: version, fields, lastDecided: lastDecided)
  }

  /// Answers a join with a snapshot, or, if `previous` is given, with a delta.
  @discardableResult
  mutating func catchUp(
    _ request: UInt32, from previous: Version? = nil, version: Version, _ fields: [Entry],
    lastDecided: ProposalNumber = 0
  ) -> Drain {
    hub(
      assigned(request),
      joined(request, version: version, lastDecided: lastDecided, follows: previous == nil ? .snapshot : .delta),
      chunk(request, from: previous, version: version, fields, lastDecided: lastDecided))
  }
}

// MARK: The hub's messages

/// A field in a catch-up. Its index in the list is its id.
struct Entry {
  var name: String
  var value: String?
  var version: Version
  var origin = PeerBench.other
  var number: ProposalNumber = 1
}

extension PeerBench {
  func assigned(_ request: UInt32, _ topic: Topic = Self.lamp, model: String = "lamp") -> HubMessage {
    .topic(TopicAssigned(session: sessionID, request: request, topic: topic, model: model))
  }

  func joined(
    _ request: UInt32, version: Version, lastDecided: ProposalNumber = 0, follows: Joined.Follows,
    model: String = "lamp",
    topic: Topic = Self.lamp
  ) -> HubMessage {
    .joined(
      Joined(
        session: sessionID, request: request, topic: topic, epoch: epoch, version: version, digest: 0,
        lastDecided: lastDecided,
        delivery: .published, follows: follows, model: model))
  }

  func chunk(
    _ request: UInt32, from previous: Version? = nil, version: Version, _ fields: [Entry],
    lastDecided: ProposalNumber = 0,
    chunk: UInt32 = 0, isLast: Bool = true, firstID: FieldID = 0, namesKnown: FieldID? = nil
  ) -> HubMessage {
    let origins = [PeerBench.me, PeerBench.other]
    let entries = fields.enumerated().map { index, field in
      CatchupEntry(
        field: firstID + FieldID(index), version: field.version, origin: field.origin == PeerBench.me ? 0 : 1,
        number: field.number, time: 5, value: field.value.map(json))
    }
    let names = namesKnown.map { NamesRun(first: $0) } ?? NamesRun(first: firstID, names: fields.map(\.name))
    return .catchup(
      CatchupChunk(
        session: sessionID, request: request, epoch: epoch, previous: previous ?? 0, version: version,
        form: previous == nil ? .snapshot : .delta, chunk: chunk, isLast: isLast, lastDecided: lastDecided,
        origins: origins,
        names: names, entries: entries))
  }

  /// Commits after `previous`, each a list of field ids with their values; `own` gives the numbers of own commits,
  /// by index.
  func commits(
    after previous: Version, _ changes: [[FieldID: String?]], own: [Int: ProposalNumber] = [:], hops: UInt8 = 0,
    names: NamesRun = NamesRun(first: 2), epoch: Epoch? = nil
  ) -> HubMessage {
    let commits = changes.enumerated().map { index, fields in
      Commit(
        origin: own[index] == nil ? 1 : 0, number: own[index] ?? 1, hops: hops,
        changes: fields.sorted { $0.key < $1.key }.map { CommitChange(field: $0.key, value: $0.value.map(json)) })
    }
    return .commits(
      CommitGroup(
        epoch: epoch ?? self.epoch, previous: previous, time: 6, origins: [PeerBench.me, PeerBench.other], names: names,
        commits: commits))
  }

  func outcomes(_ outcomes: (ProposalNumber, WireOutcome.Rest)..., epoch: Epoch? = nil) -> HubMessage {
    .outcomes(
      Outcomes(
        session: sessionID, epoch: epoch ?? self.epoch,
        outcomes: outcomes.map { WireOutcome(topic: Self.lamp, number: $0.0, $0.1) }))
  }

  func heartbeat(_ number: UInt64) -> HubMessage { .heartbeat(Heartbeat(epoch: epoch, number: number, now: 0)) }

  func head(_ version: Version, digest: UInt64) -> HubMessage {
    .head(Head(epoch: epoch, version: version, digest: digest))
  }

  func error(_ code: ErrorCode, fatal: Bool = true) -> HubMessage {
    .error(ErrorMessage(session: sessionID, code: code, isFatal: fatal, text: "because"))
  }
}

// MARK: Writing

extension PeerBench {
  @discardableResult
  mutating func write(_ proposal: Proposal, to model: String = "lamp") throws(WriteError) -> (id: WriteID, drain: Drain)
  {
    var id: WriteID?
    let drain = try act { session, now, output throws(WriteError) in
      id = try session.write(proposal, to: model, now: now, into: &output)
    }
    guard let id else { throw .empty }
    return (id, drain)
  }

  @discardableResult
  mutating func set(_ fields: [String: String]) throws(WriteError) -> WriteID { try write(.set(fields)).id }

  func shown(_ field: String) -> String? { session.shown("lamp", field)?.description }
}

extension Proposal {
  static func set(_ fields: [String: String]) -> Proposal {
    Proposal(operations: fields.sorted { $0.key < $1.key }.map { FieldOperation(.set, $0.key, json($0.value)) })
  }

  static func one(_ verb: Verb, _ field: String, _ value: String? = nil) -> Proposal {
    Proposal(operations: [FieldOperation(verb, field, value.map(json))])
  }
}

func json(_ text: String) -> FieldValue { FieldValue(bytes: Array(text.utf8)) }
