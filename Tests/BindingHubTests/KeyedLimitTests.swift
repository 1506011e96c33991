import BindingKeys
import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingHub

/// Limits of names and addresses at a hub with keys, over real sockets.
@Suite("Limits of connections at a hub with keys, over real sockets")
struct KeyedLimitTests {
  /// Ann may have three connections and write four times in a burst.
  private static let access = #"""
    {"bindbus": "access", "version": 1, "roles": {
      "staff": {"read": ["*"], "write": ["*"], "describe": ["*"], "fanout": true,
                "limits": {"connections": 3, "writesPerSecond": 1}},
      "free": {"read": ["*"], "write": ["*"], "describe": ["*"], "fanout": true, "admin": true}},
     "members": {"ann": ["staff"], "*": ["free"]}}
    """#
  private let hub: KeyedHub

  init() throws { hub = try KeyedHub(access: KeyedLimitTests.access) }

  private func report() throws -> JSON { try #require(HubStatus.ask(hub.ipc, timeout: .seconds(20))) }

  private func counter(_ name: String, of part: String = "gate") throws -> Int64 {
    guard case .integer(let count)? = try report()[part]?[name] else { throw Silence() }
    return count
  }

  /// Sends a heartbeat's answer, as a living peer does, and waits until the hub has read it.
  private func beat(_ caller: Caller) throws {
    try caller.send(.ping(Ping(token: 1)))
    while true { if case .pong = try caller.next() { return } }
  }

  /// Keeps these alive until it is true.
  private func wait(beating callers: [Caller], until isTrue: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      if try isTrue() { return }
      for caller in callers { try beat(caller) }
    }
    throw Silence()
  }

  @Test("past a name's connections the one silent longest is cut, and the new one gets in; living ones stay")
  func silent() throws {
    let key = try hub.member("ann")
    let dead = try Caller(hub.tcp, hub.options(key))
    try dead.hello()
    let alive = try (0..<2).map { _ in try Caller(hub.tcp, hub.options(key)) }
    for caller in alive { try caller.hello() }
    // Silent for more than two heartbeats of 250 ms.
    let since = Date()
    try wait(beating: alive) { Date() > since + 0.8 }
    let back = try Caller(hub.tcp, hub.options(key))
    try back.hello()
    try dead.requestEnds()
    for caller in alive + [back] { try beat(caller) }
    #expect(try counter("limitedConnections", of: "counters") >= 1)
    let ben = try Caller(hub.tcp, hub.options(try hub.member("ben")))
    try ben.hello()
  }

  @Test("a peer that comes back before its dead connection is noticed gets in at once")
  func comesBack() throws {
    let key = try hub.member("ann")
    let identity = Identity(secret: .random(), name: "phone")
    let first = try Caller(hub.tcp, hub.options(key))
    try first.send(.hello(Hello(identity: identity, capabilities: [Capability.users])))
    guard case .welcome = try first.next() else { throw Silence() }
    let others = try (0..<2).map { _ in try Caller(hub.tcp, hub.options(key)) }
    for caller in others { try caller.hello(subscribing: false) }
    let again = try Caller(hub.tcp, hub.options(key))
    try again.send(.hello(Hello(identity: identity, capabilities: [Capability.users])))
    guard case .welcome = try again.next() else { throw Silence() }
    try first.requestEnds()
    for caller in others { try beat(caller) }
  }

  @Test("while all connections of a name are alive a new one is refused with the limit and the cure, and ends")
  func allAlive() throws {
    let key = try hub.member("ann")
    let end = Date(timeIntervalSinceNow: 60)
    // A machine so busy that living peers seem silent proves nothing: then another try.
    while try !isRefused(with: key), Date() < end {}
    #expect(Date() < end)
  }

  /// - Returns: whether a fourth connection was refused; false if the others had no time to show that they are alive.
  private func isRefused(with key: KeyPair) throws -> Bool {
    let alive = try (0..<3).map { _ in try Caller(hub.tcp, hub.options(key)) }
    for caller in alive { try caller.hello(subscribing: false) }
    let late = try Caller(hub.tcp, hub.options(key))
    try #require(try late.dealer.wait(for: .writable, timeoutMilliseconds: 20_000))
    let begin = Date()
    for caller in alive { try beat(caller) }
    let identity = Identity(secret: .random(), name: "late")
    try late.send(.hello(Hello(identity: identity, capabilities: [Capability.users])))
    let answer = try late.next()
    guard Date() < begin + 0.4 else { return false }
    guard case .error(let error) = answer else { throw Silence() }
    #expect(error.code == .tooManySessions)
    #expect(error.text.hasPrefix("ann has 3 connections, all of them alive, and its limit is 3. Close some"))
    try wait(beating: alive) { try late.isCut() }
    for caller in alive { #expect(try !caller.isCut()) }
    return true
  }

  @Test("a name past its writes is told to wait, the log and the status name it, and another name is not held back")
  func writes() throws {
    let ann = try Caller(hub.tcp, hub.options(try hub.member("ann")))
    try ann.hello()
    let ben = try Caller(hub.tcp, hub.options(try hub.member("ben")))
    try ben.hello()
    for (caller, held) in [(ann, 16), (ben, 0)] {
      let topic = try caller.join("lamp")
      let writes = (1...20).map { NumberedProposal.of($0, [.set("level", "\($0)")], topic: topic) }
      try caller.send(.propose(writes))
      var outcomes: [WireOutcome.Rest] = []
      while outcomes.count < 20 {
        guard case .outcomes(let some) = try caller.next() else { continue }
        for outcome in some.outcomes {
          let count = if case .committed(let count, _) = outcome.rest { Int(count) } else { 1 }
          outcomes += Array(repeating: outcome.rest, count: count)
        }
      }
      #expect(outcomes.filter { $0.retryReason == .rateLimited }.count == held)
    }
    let limited = try report()["limited"]?.elements ?? []
    #expect(limited.map { $0["name"]?.string } == ["ann"])
    #expect(limited.first?["writesPerSecond"] == .integer(16))
    let end = Date(timeIntervalSinceNow: 20)
    var log = ""
    while !log.contains("\"limited\""), Date() < end {
      log = (try? String(contentsOfFile: hub.keys.auditPath, encoding: .utf8)) ?? ""
    }
    #expect(log.contains(#""event":"limited","name":"ann","limit":"writesPerSecond","most":1,"times":16"#), "\(log)")
  }

  @Test("120 members behind one address all come back at once, and none is held back")
  func crowd() throws {
    let keys = try (0..<120).map { try hub.member("member\($0)") }
    let callers = try keys.map { try Caller(hub.tcp, hub.options($0)) }
    for caller in callers {
      try caller.send(
        .hello(Hello(identity: Identity(secret: .random(), name: "peer"), capabilities: [Capability.users])))
    }
    for caller in callers { guard case .welcome = try caller.next() else { throw Silence() } }
    #expect(try counter("limitedAddresses") == 0)
    #expect(try counter("refusedKeys") == 2, "the hub's own tests of its endpoints")
  }

  @Test("an address with many refused keys is held back on arrival, and a member behind it still gets in")
  func strangers() throws {
    let own = try hub.member("anna")
    // Each attempt is a connection of its own, many at a time.
    let context = try Context()
    let end = Date(timeIntervalSinceNow: 60)
    while try counter("limitedAddresses") == 0, Date() < end {
      var crowd: [StrangerConnection] = []
      for _ in 0..<40 {
        crowd.append(try StrangerConnection(in: context, hub.tcp, hub.options(try .random())))
      }
      for stranger in crowd { try stranger.waitForEnd() }
    }
    #expect(try counter("limitedAddresses") > 0)
    #expect(try counter("refusedKeys") >= 100)
    var isIn = false
    while !isIn, Date() < end {
      let anna = try Caller(hub.tcp, hub.options(own))
      isIn = try anna.isWelcomed(milliseconds: 1_000)
    }
    #expect(isIn)
  }

  @Test("a connection that says nothing ends after 10 s")
  func saysNothing() throws {
    let key = try hub.member("anna")
    let quiet = try Caller(hub.tcp, hub.options(key))
    // Two heartbeats tell the hub the time.
    try quiet.requestEnds()
    let cut = try counter("limitedAddresses")
    #expect(cut == 1)
  }
}

/// One attempt of a stranger to connect.
private final class StrangerConnection {
  private let socket: Socket
  private var events: SocketEvents

  init(in context: Context, _ address: HubAddress, _ options: [SocketOption]) throws {
    socket = try Socket(.dealer, in: context)
    try socket.set(options + [.reconnectInterval(milliseconds: nil), .linger(milliseconds: 0)])
    events = try SocketEvents(of: socket)
    try socket.connect(address.description)
  }

  func waitForEnd() throws {
    _ = try events.first { change in
      switch change {
      case .handshakeFailed, .closed, .disconnected: true
      default: false
      }
    }
  }
}

extension Caller {
  /// Joins a model.
  fileprivate func join(_ model: String) throws -> Topic {
    try send(.join([Join(request: 1, model: model)]))
    while true { if case .joined(let joined) = try next() { return joined.topic } }
  }

  /// Says hello; false if no welcome comes in time, or the connection ends.
  fileprivate func isWelcomed(milliseconds: Int) throws -> Bool {
    guard try dealer.wait(for: .writable, timeoutMilliseconds: milliseconds) else { return false }
    let hello = Hello(identity: Identity(secret: .random(), name: "anna"), capabilities: [Capability.users])
    guard try dealer.send(PeerMessage.hello(hello).encode(session: session, start: 0)) == .sent,
      let answer = try frame(milliseconds: milliseconds)
    else { return false }
    if case .welcome = try HubMessage.decode(answer).message { return true }
    return false
  }
}
