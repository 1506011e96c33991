import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@Suite("Bad input at a running hub", .serialized)
struct BadInputTests {
  private let bench: Bench
  private let hub: RunningProcess
  private let watcher: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    watcher = try bench.start("watch", "lamp", "--json")
    try bench.run("set", "lamp.level=0.5")
    try #require(watcher.line { $0.contains("0.5") } != nil, "\(watcher.output)")
  }

  /// Expects that other peers still write and watch.
  private func expectOthersUndisturbed() throws {
    #expect(try bench.run("set", "lamp.level=0.75").code == 0)
    #expect(watcher.line { $0.contains("0.75") } != nil, "\(watcher.output)")
  }

  @Test("a malformed frame is counted and answered, and other peers are not affected")
  func garbage() throws {
    let raw = try RawPeer(bench.hub)
    try raw.send([0xFF, 1, 2])
    #expect(try raw.error().code == .unknownKind)
    try raw.send((0..<400).map { UInt8(truncatingIfNeeded: $0 * 37) })
    try bench.wait("malformedFrames", atLeast: 2)
    try expectOthersUndisturbed()
  }

  @Test("a truncated frame ends the session that sent it and no other")
  func truncated() throws {
    let (raw, other) = (try RawPeer(bench.hub), try RawPeer(bench.hub))
    for peer in [raw, other] {
      try peer.hello()
      try peer.join("raw")
    }
    let whole = PeerMessage.propose([raw.proposal(1, "a", "1")]).encode(session: raw.session, start: raw.start)
    try raw.send(Array(whole.dropLast()))
    let error = try raw.error()
    #expect(error.code == .malformed && error.isFatal)
    try raw.propose(1, "a", "1")
    #expect(try raw.error().code == .unknownSession)
    try other.propose(1, "a", "2")
    #expect(try other.outcome() == .committed(count: 1, version: 1))
    try expectOthersUndisturbed()
  }

  @Test("a frame with another hub's start number is answered with staleStart")
  func staleStart() throws {
    let raw = try RawPeer(bench.hub)
    try raw.hello()
    try raw.send(.ping(Ping(token: 1)), start: raw.start &+ 1)
    #expect(try raw.error().code == .staleStart)
    try bench.wait("staleStarts", atLeast: 1)
  }

  @Test("a peer with another protocol number gets an error that names the hub's")
  func otherProtocol() throws {
    let raw = try RawPeer(bench.hub)
    try raw.send(.hello(Hello(lowest: 7, highest: 9, identity: raw.identity)), start: 0)
    let error = try raw.error()
    #expect(error.code == .otherProtocol && error.text.contains("0 to 0"))
  }

  @Test("an oversize frame costs its sender the connection and other peers nothing")
  func oversize() throws {
    let raw = try RawPeer(bench.hub)
    try raw.send([UInt8](repeating: 7, count: 2_000_000))
    try expectOthersUndisturbed()
  }

  @Test("a replayed proposal gets its first outcome and takes effect once")
  func replayed() throws {
    let raw = try RawPeer(bench.hub)
    try raw.hello()
    try raw.join("raw")
    for _ in 0..<3 {
      try raw.propose(1, "a", "1")
      #expect(try raw.outcome() == .committed(count: 1, version: 1))
    }
    #expect(try bench.counter("repeats") == 2)
  }

  @Test("a second session of an identity takes over, and the earlier one is fenced and cannot write")
  func fenced() throws {
    let earlier = try RawPeer(bench.hub)
    try earlier.hello()
    try earlier.join("raw")
    let later = try RawPeer(bench.hub, identity: earlier.identity)
    try later.hello()
    #expect(try earlier.error().code == .fenced)
    try earlier.propose(1, "a", "1")
    #expect(try earlier.error().code == .unknownSession)
    try later.join("raw")
    try later.propose(1, "a", "2")
    #expect(try later.outcome() == .committed(count: 1, version: 1))
  }

  @Test("an identity with a wrong secret is refused")
  func wrongSecret() throws {
    let owner = try RawPeer(bench.hub)
    try owner.hello()
    var forged = owner.identity
    forged.secret = Secret(high: 1, low: 2)
    let thief = try RawPeer(bench.hub, identity: forged)
    try thief.send(.hello(Hello(identity: forged)), start: 0)
    #expect(try thief.error().code == .notYours)
    try owner.join("raw")
  }

  @Test(
    "a restarted hub refuses an impostor that connects before the real peer, which then continues",
    arguments: ["process", "memory"])
  func thiefComesFirst(_ durability: String) throws {
    let bench = try Bench()
    let first = try bench.startHub(["--durability", durability])
    let victim = try bench.start("pipe", "lamp")
    let witness = try RawPeer(bench.hub)
    try witness.hello()
    try witness.join("lamp")
    victim.write("{\"level\":1}")
    let tag = try witness.nextPublished { if case .commits(let group) = $1 { group.origins.first?.tag } else { nil } }
    victim.send(SIGSTOP)
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub(["--durability", durability])
    let forged = Identity(tag: tag, secret: .random(), name: "pipe")
    let thief = try RawPeer(bench.hub, identity: forged)
    try thief.send(.hello(Hello(identity: forged)), start: 0)
    #expect(try thief.error().code == .notYours)
    victim.send(SIGCONT)
    victim.write("{\"level\":2}")
    #expect(try bench.run("wait", "lamp.level=2", "--timeout", "20s").code == 0)
    #expect(try bench.counter("wrongSecrets") == 1)
    withExtendedLifetime(second) {}
  }

  @Test("two peers with one name both work, distinguished by their tags")
  func sameName() throws {
    let twins = [try RawPeer(bench.hub, name: "twin"), try RawPeer(bench.hub, name: "twin")]
    for twin in twins {
      try twin.hello()
      try twin.join("raw")
    }
    for (index, twin) in twins.enumerated() {
      try twin.propose(1, "a", "\(index)")
      #expect(try twin.outcome() == .committed(count: 1, version: Version(index + 1)))
    }
    let meta = try bench.run("get", "raw.a", "--meta").output
    #expect(meta.contains("by twin-\(twins[1].identity.tag.short)"))
  }

  @Test("an oversize value is refused with the name of the limit, and the next number is accepted")
  func longValue() throws {
    let raw = try RawPeer(bench.hub)
    try raw.hello()
    try raw.join("raw")
    try raw.propose(1, "a", "\"" + String(repeating: "x", count: 65_536) + "\"")
    guard case .refused(let refusal) = try raw.outcome() else {
      Issue.record("it was not refused")
      return
    }
    #expect(refusal.code == .valueTooLarge && refusal.text.contains("maxValueBytes"))
    try raw.propose(2, "a", "1")
    #expect(try raw.outcome() == .committed(count: 1, version: 1))
  }

  @Test("a flood of connections is cut off, connected peers continue, and new ones can connect after it")
  func connectionFlood() throws {
    let bench = try Bench()
    let command =
      "ulimit -n 256; exec \(Bench.program("bindhub")) serve --listen \(bench.hub) --exit-with-stdin --log error"
    let hub = try RunningProcess("/bin/sh", ["-c", command])
    try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
    let watcher = try bench.start("watch", "lamp", "--json")
    let writer = try bench.start("pipe", "lamp")
    writer.write("{\"level\":1}")
    try #require(watcher.line { $0.contains("\"level\":1") } != nil)
    var crowd: SilentConnections? = SilentConnections(
      to: bench.folder.appendingPathComponent("hub.sock").path, count: 150)
    for number in 2...20 { writer.write("{\"level\":\(number)}") }
    #expect(watcher.line { $0.contains("\"level\":20") } != nil, "\(watcher.output)")
    withExtendedLifetime(crowd) {}
    crowd = nil
    try bench.wait("refusedConnections", of: "gate", atLeast: 1)
    #expect(try bench.run("set", "lamp.level=21", "--timeout", "20s").code == 0)
  }

  @Test("a subscriber of thousands of topics is cut off, and others continue")
  func subscriptionFlood() throws {
    let raw = try RawPeer(bench.hub)
    try raw.hello()
    try raw.floodSubscriptions(5_000)
    try bench.wait("cutSubscribers", of: "gate", atLeast: 1)
    try expectOthersUndisturbed()
  }
}
