import BindingHub
import BindingPeer
import BindingProtocol

/// A session upstream for a peer that writes through an edge. It only writes (capability `writes`): the reading session
/// of the same connection has the commits.
struct UplinkWriter: Sendable {
  enum Phase: Sendable { case closed, greeting, open }

  /// The hello of the peer. Its session upstream has another number, a new one for each connection.
  let hello: Hello
  var upstream: SessionID = 0
  var phase = Phase.closed
  /// The edge waits for the welcome, to welcome the peer itself.
  var isAwaited = false
  /// Whether the upstream hub must know the identity: it was welcomed and has joined something there.
  var isEstablished = false
  var wasWelcomed = false
  var models: [String: UplinkJoin] = [:]
  var topics: [Topic: String] = [:]
  var lastSentAt: UInt64 = 0
  var lastUsedAt: UInt64 = 0
  /// After a refused hello, no other one before.
  var greetsFrom: UInt64 = 0

  init(_ hello: Hello, now: UInt64) { (self.hello, lastUsedAt) = (hello, now) }

  /// Whether its peer is present upstream: it has joined an ephemeral model.
  var isPresent: Bool { models.keys.contains(where: Names.isEphemeral) }

  /// Whether something waits for this session to open, or needs it open.
  var hasWork: Bool {
    isAwaited || isPresent || models.values.contains { $0.wanted != nil || !$0.queue.isEmpty }
  }

  /// Whether nothing is under way.
  var isIdle: Bool { !hasWork && models.values.allSatisfy(\.inFlight.isEmpty) }

  /// The connection is gone.
  /// - Returns: by model, the numbers of proposals without an outcome, in order.
  mutating func lose() -> [(model: String, numbers: [ProposalNumber])] {
    (phase, upstream) = (.closed, 0)
    topics.removeAll()
    var lost: [(String, [ProposalNumber])] = []
    for model in models.keys.sorted() {
      let numbers = models[model]?.lose() ?? []
      if !numbers.isEmpty { lost.append((model, numbers)) }
    }
    return lost
  }
}

/// A writer's place in one model upstream.
struct UplinkJoin: Sendable {
  enum Progress: Sendable, Equatable {
    case none
    case asked(request: UInt32, at: UInt64)
    case joined
  }
  var topic: Topic?
  var progress = Progress.none
  /// A join that the edge wants answered.
  var wanted: EdgeJoin?
  var unacknowledged: ProposalNumber = 1
  /// Proposals that wait for the join.
  var queue: [PassedProposal] = []
  /// What was passed on and has no outcome, in order; with why this edge forbids it, if it does.
  var inFlight: [(number: ProposalNumber, refusal: Refusal?)] = []

  /// - Returns: the numbers of proposals without an outcome, in order.
  mutating func lose() -> [ProposalNumber] {
    (topic, progress) = (nil, .none)
    let numbers = Set(inFlight.map(\.number) + queue.map(\.number)).sorted()
    inFlight.removeAll()
    queue.removeAll()
    return numbers
  }

  /// An outcome has arrived.
  /// - Returns: what the peer is told: only of proposals that were passed on.
  mutating func settle(_ outcome: WireOutcome) -> [WireOutcome] {
    guard case .committed(let count, let version) = outcome.rest else {
      guard let index = inFlight.firstIndex(where: { $0.number == outcome.number }) else { return [] }
      let refusal = inFlight.remove(at: index).refusal
      guard case .expired = outcome.rest, let refusal else { return [outcome] }
      return [WireOutcome(topic: outcome.topic, number: outcome.number, .refused(refusal))]
    }
    let last = outcome.number + (UInt32(count) - 1)
    let known = inFlight.filter { outcome.number <= $0.number && $0.number <= last }.map(\.number)
    inFlight.removeAll { outcome.number <= $0.number && $0.number <= last }
    if known.count == Int(count) { return [outcome] }
    return Set(known).sorted().map { number in
      WireOutcome(
        topic: outcome.topic, number: number,
        .committed(count: 1, version: version + Version(number - outcome.number)))
    }
  }
}

/// The writers of an uplink, by the edge's sessions.
struct UplinkWriters: Sendable {
  private(set) var records: [SessionID: UplinkWriter] = [:]
  /// The edge's session of each session upstream.
  private var bySession: [SessionID: SessionID] = [:]
  var lastRequest: UInt32 = 0
  var nextDeadline = UInt64.max

  /// An idle session is let go after this long.
  static let idleMilliseconds: UInt64 = 30_000
  /// A join that is not answered is sent again after this long.
  static let joinMilliseconds: UInt64 = 3_000
  /// The most proposals of one writer that wait for its session to open.
  static let mostQueued = 512
  /// Bytes of proposals in one message.
  static let messageBytes = 262_144

  subscript(id: SessionID) -> UplinkWriter? { records[id] }

  mutating func add(_ id: SessionID, _ hello: Hello, now: UInt64) {
    if records[id] == nil { records[id] = UplinkWriter(hello, now: now) }
  }

  mutating func with<Result>(_ id: SessionID, _ body: (inout UplinkWriter) -> Result) -> Result? {
    guard let index = records.index(forKey: id) else { return nil }
    return body(&records.values[index])
  }

  mutating func bind(_ id: SessionID, to upstream: SessionID) {
    if let old = records[id]?.upstream { bySession[old] = nil }
    with(id) { $0.upstream = upstream }
    bySession[upstream] = id
  }

  mutating func unbind(_ id: SessionID) {
    if let old = records[id]?.upstream { bySession[old] = nil }
  }

  mutating func remove(_ id: SessionID) -> UplinkWriter? {
    unbind(id)
    return records.removeValue(forKey: id)
  }

  /// The edge's session to which a frame is addressed; nil: the reading session, or all of a model's.
  func owner(ofFrame frame: UnsafeRawBufferPointer) -> SessionID? {
    guard frame.count >= HubHeader.byteCount + 8, let kind = HubMessageKind(rawValue: frame[4]),
      kind == .catchup || kind == .past || kind.fixedTopic == Topics.none
    else { return nil }
    let session = frame.loadUnaligned(fromByteOffset: HubHeader.byteCount, as: UInt64.self).littleEndian
    return bySession[session]
  }

  /// The uplink is open again.
  mutating func greetAgain() {
    for id in records.keys { with(id) { $0.greetsFrom = 0 } }
  }
}
