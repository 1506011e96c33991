/// The header of every frame from a peer.
package struct PeerHeader: Sendable, Hashable {
  /// The kind of the message.
  package var kind: PeerMessageKind
  /// 0 only in a `status`, `verify` or `drain` outside a session.
  package var session: SessionID
  /// The hub's start number; 0 in `hello`, `status`, `verify` and `drain`.
  package var start: StartNumber

  package init(kind: PeerMessageKind, session: SessionID, start: StartNumber) {
    self.kind = kind
    self.session = session
    self.start = start
  }

  /// Reads the header and leaves `reader` at the body. Later errors name the kind.
  package init(from reader: inout WireReader) throws(WireError) {
    let number = try reader.u8("kind")
    guard let kind = PeerMessageKind(rawValue: number) else {
      throw reader.error("kind", "is \(number), not a kind of peer message", code: .unknownKind)
    }
    reader.message = kind.name
    self.kind = kind
    session = try reader.u64("session")
    start = try reader.u32("start")
    if session == 0, !kind.needsNoSession { throw reader.error("session", "is 0") }
    if start != 0, !kind.knowsStart { throw reader.error("start", "is \(start), must be 0") }
  }

  /// Appends the header.
  package func write(to writer: inout WireWriter) {
    writer.u8(kind.rawValue)
    writer.u64(session)
    writer.u32(start)
  }

  /// The session in the header of a frame that could not be read; 0 if the frame is too short.
  package static func session(ofFrame frame: UnsafeRawBufferPointer) -> SessionID {
    frame.count >= 9 ? frame.little64(at: 1) : 0
  }
}

/// A message from a peer to the hub.
package enum PeerMessage: Sendable, Hashable {
  case hello(Hello)
  case join([Join])
  case propose([NumberedProposal])
  case alive(Alive)
  case leave(Leave)
  case askHeads
  case ping(Ping)
  case offer(Offer)
  case status
  case approval(Approval)
  case awaitApplied(AwaitApplied)
  case report([AppliedEntry])
  case verify(Verify)
  case drain(DrainRequest)
  case history(HistoryRequest)
  case forward(Forward)
  case counted(AppliedCount)

  /// The kind of the message.
  package var kind: PeerMessageKind {
    switch self {
    case .hello: .hello
    case .join: .join
    case .propose: .propose
    case .alive: .alive
    case .leave: .leave
    case .askHeads: .askHeads
    case .ping: .ping
    case .offer: .offer
    case .status: .status
    case .approval: .approval
    case .awaitApplied: .awaitApplied
    case .report: .report
    case .verify: .verify
    case .drain: .drain
    case .history: .history
    case .forward: .forward
    case .counted: .counted
    }
  }

  /// Reads a whole frame.
  package static func decode(
    _ frame: UnsafeRawBufferPointer
  ) throws(WireError) -> (header: PeerHeader, message: PeerMessage) {
    var reader = WireReader(frame)
    let header = try PeerHeader(from: &reader)
    return (header, try PeerMessage(header.kind, from: &reader))
  }

  /// Reads a whole frame.
  package static func decode(_ frame: [UInt8]) throws(WireError) -> (header: PeerHeader, message: PeerMessage) {
    try frame.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try decode(buffer) }
    }.get()
  }

  /// Reads the body of a frame of this kind, to its end.
  package init(_ kind: PeerMessageKind, from reader: inout WireReader) throws(WireError) {
    switch kind {
    case .hello: self = .hello(try Hello(from: &reader))
    case .join: self = .join(try reader.elements(try reader.count16("joins", minimum: 30)))
    case .propose:
      let count = try reader.count16("proposals", minimum: NumberedProposal.minimumBytes)
      self = .propose(try reader.elements(count))
    case .alive: self = .alive(try Alive(from: &reader))
    case .leave: self = .leave(try Leave(from: &reader))
    case .askHeads: self = .askHeads
    case .ping: self = .ping(try Ping(from: &reader))
    case .offer: self = .offer(try Offer(from: &reader))
    case .status: self = .status
    case .approval: self = .approval(try Approval(from: &reader))
    case .awaitApplied: self = .awaitApplied(try AwaitApplied(from: &reader))
    case .report: self = .report(try AppliedEntry.entries(from: &reader))
    case .verify: self = .verify(try Verify(from: &reader))
    case .drain: self = .drain(try DrainRequest(from: &reader))
    case .history: self = .history(try HistoryRequest(from: &reader))
    case .forward: self = .forward(try Forward(from: &reader))
    case .counted: self = .counted(try AppliedCount(from: &reader))
    }
    try reader.end()
  }

  /// Appends the whole frame. `start` is written as 0 for `hello`, `status`, `verify` and `drain`.
  package func write(to writer: inout WireWriter, session: SessionID, start: StartNumber) {
    PeerHeader(kind: kind, session: session, start: kind.knowsStart ? start : 0).write(to: &writer)
    switch self {
    case .hello(let hello): hello.write(to: &writer)
    case .join(let joins):
      writer.count16(joins.count)
      writer.elements(joins)
    case .propose(let proposals):
      writer.count16(proposals.count)
      writer.elements(proposals)
    case .alive(let alive): alive.write(to: &writer)
    case .leave(let leave): leave.write(to: &writer)
    case .ping(let ping): ping.write(to: &writer)
    case .offer(let offer): offer.write(to: &writer)
    case .approval(let approval): approval.write(to: &writer)
    case .awaitApplied(let wanted): wanted.write(to: &writer)
    case .report(let entries):
      writer.count16(entries.count)
      writer.elements(entries)
    case .verify(let verify): verify.write(to: &writer)
    case .drain(let request): request.write(to: &writer)
    case .history(let request): request.write(to: &writer)
    case .forward(let forward): forward.write(to: &writer)
    case .counted(let count): count.write(to: &writer)
    case .askHeads, .status: break
    }
  }

  /// The whole frame.
  package func encode(session: SessionID, start: StartNumber) -> [UInt8] {
    var writer = WireWriter()
    write(to: &writer, session: session, start: start)
    return writer.bytes
  }
}

extension PeerMessageKind {
  /// Whether its header contains the hub's start number: false for kinds that need no session.
  var knowsStart: Bool { self != .hello && !needsNoSession }
  /// Whether it may be asked without a session.
  var needsNoSession: Bool { self == .status || self == .verify || self == .drain }
}
