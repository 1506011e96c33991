import BindingProtocol
import ZeroMQ

/// Writes as fast as acknowledgements allow, over one connection: to a hub in several sessions, to a forwarder in
/// as many that only the writer counts. The frames are the same.
final class Writer {
  private final class Session {
    let id = SessionID.random(in: 1 ... .max)
    var sent: ProposalNumber = 0
    var acknowledged: ProposalNumber = 0
  }

  let publish: String
  let topic: Topic
  private let kind: Contender
  private let context: Context
  private let dealer: Socket
  private var sessions: [Session] = []
  /// Held so that the hub keeps seeing a peer with both connections.
  private var hubSessions: HubSessions?
  private var start: StartNumber = 1
  private var message = Message()
  private var writer = WireWriter()
  /// Unacknowledged changes of a session: the hub's limit.
  private let window = 256
  /// Changes go to this many fields in turn.
  private let fields: FieldID
  /// The session that accepted the last offer.
  private var turn = 0

  init(
    _ kind: Contender, request: String, publish: String, sessions count: Int, model: String = HubSessions.model,
    fields: FieldID = 16, options: [SocketOption] = []
  ) throws {
    (self.kind, self.fields) = (kind, fields)
    context = try Context()
    dealer = try Sockets.dealer(to: request, options, in: context)
    for _ in 0..<count { sessions.append(Session()) }
    guard kind == .hub else {
      (self.publish, topic) = (publish, Topics.firstModel)
      return
    }
    var joined = try HubSessions(options, in: context)
    (self.publish, topic, start) = try joined.join(
      sessions.map(\.id), over: dealer, request: request, model: model)
    let last = try joined.name(fields, of: topic, session: sessions[0].id, start, over: dealer)
    hubSessions = consume joined
    (sessions[0].sent, sessions[0].acknowledged) = (last, last)
  }

  /// The subscription prefix of the messages that this writer's changes become.
  var prefix: [UInt8] { kind == .hub ? Topics.bytes(topic) : [PeerMessageKind.propose.rawValue] }

  /// Writes for that long, `batch` changes a message, then waits until all is acknowledged.
  func write(batch: Int, nanoseconds: UInt64) throws {
    let end = now() + nanoseconds
    while now() < end {
      var hasSent = false
      for session in sessions where Int(session.sent - session.acknowledged) + batch <= window {
        try send(batch, in: session)
        hasSent = true
      }
      if !hasSent { _ = try dealer.wait(for: .readable, timeoutMilliseconds: 1_000) }
      try receive()
    }
    try finish()
  }

  /// Writes one change and waits for its acknowledgement.
  func writeOne() throws {
    try send(1, in: sessions[0])
    try finish()
  }

  private func finish() throws {
    while sessions.contains(where: { $0.acknowledged < $0.sent }) {
      _ = try dealer.wait(for: .readable, timeoutMilliseconds: 1_000)
      try receive()
    }
  }

  /// Sends `count` changes in one message, if a session has room for them.
  /// - Returns: whether one had.
  func offer(_ count: Int, bytes: Int, value: (inout WireWriter) -> Void) throws -> Bool {
    for _ in sessions {
      turn = (turn + 1) % sessions.count
      guard Int(sessions[turn].sent - sessions[turn].acknowledged) + count <= window else { continue }
      try send(count, in: sessions[turn], bytes: bytes, value: value)
      return true
    }
    return false
  }

  /// Receives acknowledgements; waits at most `milliseconds` for the first.
  func receive(for milliseconds: Int) throws {
    if milliseconds > 0 { _ = try dealer.wait(for: .readable, timeoutMilliseconds: milliseconds) }
    try receive()
  }

  var isAllAcknowledged: Bool { sessions.allSatisfy { $0.acknowledged == $0.sent } }

  private func send(
    _ count: Int, in session: Session, bytes: Int = 16,
    value: (inout WireWriter) -> Void = { Frames.digits(now(), into: &$0) }
  ) throws {
    Frames.proposals(
      count, from: session.sent + 1, confirmed: session.acknowledged, session: session.id, start: start, topic: topic,
      fields: fields, into: &writer, bytes: bytes, value: value)
    try writer.withUnsafeBytes { _ = try dealer.send($0) }
    session.sent += ProposalNumber(count)
  }

  private func receive() throws {
    while try dealer.receive(into: &message) {
      try message.withBytes { frame in
        if kind == .forwarder { return share(frame.loadUnaligned(as: UInt32.self)) }
        guard case (_, .outcomes(let outcomes)) = try HubMessage.decode(Array(frame)) else { return }
        guard let session = sessions.first(where: { $0.id == outcomes.session }) else { return }
        for outcome in outcomes.outcomes {
          guard case .committed(let count, _) = outcome.rest else { throw RefusalError(outcome: outcome) }
          session.acknowledged = outcome.number + UInt32(count) - 1
        }
      }
    }
  }

  /// A forwarder counts a connection's changes; they are acknowledged in the order in which the sessions took
  /// turns.
  private func share(_ count: UInt32) {
    var left = count
    for session in sessions {
      let part = min(left, session.sent - session.acknowledged)
      session.acknowledged += part
      left -= part
    }
  }

  struct RefusalError: Error, CustomStringConvertible {
    let outcome: WireOutcome
    var description: String { "the hub did not commit: \(outcome)" }
  }
}
