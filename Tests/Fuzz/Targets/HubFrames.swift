import BindingPeer
import BindingProtocol

/// The frames of hubs: each is decoded alone, and all reach a peer's session that has written. It must trap on nothing.
extension FuzzTarget {
  static let hubFrames = FuzzTarget(
    name: "hub-frames",
    seeds: {
      let frames = FuzzVectors.frames(toHub: false)
      return frames.map { InputParts.joined($0) }
        + [InputParts.joined(frames.map { ($0, false) }), FuzzedPeer.conversation]
    },
    run: { bytes in
      var peer = FuzzedPeer()
      for (frame, isOther) in InputParts(bytes) {
        if frame.isEmpty {
          peer.wait(isOther ? 11_000 : 400)
          continue
        }
        if let finding = differences(frame) { return finding }
        peer.deliver(frame)
        if isOther { peer.write() }
      }
      peer.wait(4_000)
      return nil
    })

  private static func differences(_ frame: UnsafeRawBufferPointer) -> String? {
    var reader = WireReader(frame)
    let header = try? HubHeader(from: &reader)
    let walked = header?.kind == .commits ? commits(reader) : nil
    guard let (header, message) = try? HubMessage.decode(frame) else { return nil }
    // A welcome may name limits that this release does not know.
    if header.kind != .welcome, message.encode(topic: header.topic, start: header.start) != Array(frame) {
      return "a \(header.kind) is written otherwise than it was read"
    }
    if case .commits(let read) = message, walked != read.commits.count { return "the cursor reads other commits" }
    return nil
  }

  /// The number of commits that the cursor reads; nil: it refuses them.
  private static func commits(_ reader: WireReader) -> Int? {
    guard var cursor = try? CommitCursor(reader) else { return nil }
    var (count, bytes) = (0, 0)
    var (origins, names) = (cursor.origins, cursor.names)
    while (try? origins.next()) == true { bytes += origins.origin.name.utf8.count }
    while (try? names.next()) == true { bytes += names.name.count }
    while (try? cursor.next()) == true {
      count += 1
      var changes = cursor.changes
      while (try? changes.next()) == true { bytes += changes.value?.count ?? 0 }
    }
    return bytes <= reader.frame.count ? count : nil
  }
}

/// A peer's session that is welcomed under the number that the vectors have, has joined `lamp`, and writes to it.
struct FuzzedPeer {
  private static let lamp = Topics.firstModel
  private var session: Session
  private var now: UInt64 = 1_000
  private var number = 0
  /// The number that the session drew for itself: the vectors have another one.
  private var own: [UInt8] = []

  init() {
    let identity = Identity(secret: Secret(high: 1, low: 2), name: "me")
    session = Session(identity: identity, seed: 1, now: 1_000, keepsOutbox: true)
    act { session, now, effects in
      session.join("lamp", now: now, into: &effects)
      session.joinPrefix("", now: now, into: &effects)
      session.opened(now: now, into: &effects)
    }
    write()
    for frame in FuzzedPeer.beginning { frame.withUnsafeBytes { deliver($0) } }
    write()
  }

  private static let beginning: [[UInt8]] = {
    let messages: [HubMessage] = [
      .welcome(
        Welcome(
          session: FuzzVectors.session, logID: 1, epoch: 100, knewIdentity: false, mayAskOffers: true,
          durability: .memory, heartbeatMilliseconds: 1_000, leaseMilliseconds: 9_000, now: 5, hub: "hub",
          limits: Limits(), endpoints: [HubEndpoint(request: "tcp:7877", publish: "tcp:7878")],
          capabilities: ["applied", "ephemeral", "rescue", "rights", "users"])),
      .topic(TopicAssigned(session: FuzzVectors.session, request: 2, topic: lamp, model: "lamp")),
      .joined(
        Joined(
          session: FuzzVectors.session, request: 2, topic: lamp, epoch: 100, version: 0, digest: 0, lastDecided: 0,
          delivery: .published, follows: .nothing, model: "lamp")),
    ]
    return messages.map { $0.encode(topic: lamp, start: FuzzVectors.start) }
  }()

  /// A conversation that touches much of the session, as a seed.
  static var conversation: [UInt8] { InputParts.joined(beginning.map { ($0, false) }) }

  /// Delivers a frame, with the session's own number where the frame has that of the vectors.
  mutating func deliver(_ frame: UnsafeRawBufferPointer) {
    let theirs = withUnsafeBytes(of: FuzzVectors.session.littleEndian) { Array($0) }
    var bytes = Array(frame)
    let place = HubHeader.byteCount
    if bytes.count >= place + 8, Array(bytes[place..<place + 8]) == theirs, own.count == 8 {
      bytes.replaceSubrange(place..<place + 8, with: own)
    }
    act { session, now, effects in bytes.withUnsafeBytes { session.receive($0, now: now, into: &effects) } }
  }

  mutating func wait(_ milliseconds: UInt64) {
    now += milliseconds
    act { session, now, effects in session.tick(now: now, into: &effects) }
  }

  /// Writes a field of `lamp`.
  mutating func write() {
    number += 1
    let proposal = Proposal(operations: [FieldOperation(.set, "level", FieldValue(json: .integer(Int64(number))))])
    act { session, now, effects in _ = try? session.write(proposal, to: "lamp", now: now, into: &effects) }
  }

  private mutating func act(_ body: (inout Session, UInt64, inout PeerEffects) -> Void) {
    var effects = PeerEffects()
    body(&session, now, &effects)
    session.finishDrain(now: now, into: &effects)
    for case .send(let frame) in effects.link where frame.first == PeerMessageKind.hello.rawValue && frame.count > 9 {
      own = Array(frame[1..<9])
    }
    for case .open in effects.link {
      var more = PeerEffects()
      session.opened(now: now, into: &more)
      for case .send(let frame) in more.link where frame.first == PeerMessageKind.hello.rawValue && frame.count > 9 {
        own = Array(frame[1..<9])
      }
    }
  }
}
