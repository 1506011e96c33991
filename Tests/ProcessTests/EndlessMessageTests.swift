import BindingProtocol
import Foundation
import Testing

/// An endless message is cut off before it fills the hub's memory.
@Suite("Endless messages at a running hub", .serialized)
struct EndlessMessageTests {
  enum Port: CaseIterable { case request, publish }

  private let bench: Bench
  private let hub: RunningProcess
  /// The hub's second endpoint, over tcp.
  private let tcp: String

  init() throws {
    bench = try Bench()
    hub = try bench.startHub(["--listen", "tcp://127.0.0.1:0"])
    let line = try #require(hub.line { $0.hasPrefix("listening tcp://") })
    tcp = String(line.dropFirst("listening ".count))
  }

  private func endpoint(_ port: Port, isTCP: Bool) throws -> String {
    guard port == .publish else { return isTCP ? tcp : bench.hub }
    guard isTCP else { return bench.hub + ".pub" }
    // Publishing over tcp has its own port, which the welcome names.
    let raw = try RawPeer(tcp)
    try raw.send(.hello(Hello(identity: raw.identity)), start: 0)
    let endpoints = try raw.next { if case .welcome(let welcome) = $1 { welcome.endpoints } else { nil } }
    return try #require(try HubAddress(tcp).publishEndpoint(among: endpoints))
  }

  /// The hub's resident memory in kilobytes.
  private func memory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(hub.pid)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
  }

  private func hello() -> [UInt8] {
    let identity = Identity(secret: .random(), name: "raw")
    return PeerMessage.hello(Hello(identity: identity)).encode(session: 5, start: 0)
  }

  @Test(
    "endless parts, empty or large, are cut off on each port and transport, in bounded memory",
    arguments: Port.allCases, [false, true])
  func endless(port: Port, isTCP: Bool) throws {
    #expect(try bench.run("set", "lamp.level=0.5").code == 0)
    let endpoint = try endpoint(port, isTCP: isTCP)
    let before = try memory()
    var connections = 0
    for size in [0, 60_000] {
      for isWelcomed in port == .request ? [false, true] : [false] {
        let raw = try RawZMTP(endpoint, kind: port == .request ? "DEALER" : "SUB")
        if isWelcomed { #expect(raw.send(RawZMTP.whole(hello()))) }
        let many = Array(repeatElement(RawZMTP.part(size), count: size == 0 ? 30_000 : 1).joined())
        var sent = 0
        // At most 64 MB: without a bound, that many empty parts cost 1.9 GB.
        while sent < 64_000_000, raw.send(many) { sent += many.count }
        #expect(sent < 64_000_000)
        connections += 1
      }
    }
    try bench.wait("cutMessages", of: "gate", atLeast: connections)
    #expect(try memory() - before < 48_000)
    #expect(try bench.run("set", "lamp.level=0.75").code == 0)
  }

  @Test("parts that arrive byte by byte are cut off too")
  func dripping() throws {
    let raw = try RawZMTP(bench.hub, kind: "DEALER")
    var parts = 0
    while parts < 5_000, raw.send([1]), raw.send([0]) {
      parts += 1
      usleep(500)
    }
    #expect(parts < 5_000)
    try bench.wait("cutMessages", of: "gate", atLeast: 1)
  }

  @Test("a complete message of two parts is answered with malformed and ends its session and no other")
  func twoParts() throws {
    let (raw, other) = (try RawPeer(bench.hub), try RawPeer(bench.hub))
    for peer in [raw, other] {
      try peer.hello()
      try peer.join("raw")
    }
    let frame = PeerMessage.propose([raw.proposal(1, "a", "1")]).encode(session: raw.session, start: raw.start)
    try raw.send(parts: [Array(frame.prefix(20)), Array(frame.dropFirst(20))])
    let error = try raw.error()
    #expect(error.code == .malformed && error.isFatal && error.session == raw.session)
    try raw.propose(1, "a", "1")
    #expect(try raw.error().code == .unknownSession)
    try other.propose(1, "a", "2")
    #expect(try other.outcome() == .committed(count: 1, version: 1))
    #expect(try bench.counter("cutMessages", of: "gate") == 0)
  }
}
