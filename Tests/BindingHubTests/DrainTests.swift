import BindingHub
import BindingProtocol
import Testing

/// The other hubs of the log: sessions are told them, and sent there when the hub is drained.
@Suite struct DrainTests {
  static let others = [HubAddress(tcp: "10.0.0.6", port: 7_877), HubAddress(tcp: "10.0.0.7", port: 7_877)]
  static let admin = Speaker(77, "admin")
  var bench = HubBench { $0.otherHubs = others }

  /// A hello of a peer that goes where it is told.
  @discardableResult
  mutating func hello(_ peer: Speaker, lease: UInt32 = 60_000) -> Received {
    bench.send(
      peer, .hello(Hello(identity: peer.identity, leaseMilliseconds: lease, capabilities: Capability.all)))
  }

  mutating func drain(within milliseconds: UInt32 = 30_000, isAnyway: Bool = false) -> Received {
    let frame = PeerMessage.drain(DrainRequest(withinMilliseconds: milliseconds, isAnyway: isAnyway))
      .encode(session: 0, start: 0)
    return bench.deliver([frame], on: DrainTests.admin.connection)
  }

  func report(_ received: Received) -> [String: Int64]? {
    for case .statusReport(let report) in received.messages(to: DrainTests.admin) {
      guard let json = try? report.json.json else { continue }
      return Dictionary(
        uniqueKeysWithValues: ["moved", "left", "milliseconds"].compactMap { name in
          json[name]?.int64.map { (name, $0) }
        })
    }
    return nil
  }

  func hubs(_ received: Received, _ peer: Speaker) -> [[HubAddress]] {
    received.messages(to: peer).compactMap { if case .hubs(let others) = $0 { others.addresses } else { nil } }
  }

  @Test("a session that knows the capability is told the other hubs after its welcome, another one is not")
  mutating func told() {
    #expect(hubs(hello(.ann), .ann) == [DrainTests.others])
    #expect(hubs(bench.hello(.ben), .ben).isEmpty)
    bench = HubBench()
    #expect(hubs(hello(.ann), .ann).isEmpty)
  }

  @Test("a drained hub sends its sessions away with the names of the others, tells how it went, and ends")
  mutating func drained() {
    hello(.ann)
    bench.hello(.ben)
    #expect(drain().notices == [.draining(sessions: 2)])
    let received = bench.wait(0)
    for peer in [Speaker.ann, .ben] {
      #expect(received.errors(peer).map(\.code) == [.closing] && received.errors(peer).allSatisfy(\.isFatal))
    }
    #expect(hubs(received, .ann) == [DrainTests.others] && hubs(received, .ben).isEmpty)
    #expect(report(received) == ["moved": 2, "left": 0, "milliseconds": 0])
    #expect(bench.machine.isDrained && bench.counters.drainedSessions == 2)
  }

  @Test("a hub that is drained welcomes nobody, and says where else to go")
  mutating func refuses() {
    bench = HubBench {
      $0.otherHubs = DrainTests.others
      $0.limits.maxSessions = 1_000
    }
    for number in 0..<250 { hello(Speaker(1_000 + UInt64(number), "p")) }
    _ = drain()
    bench.wait(0)
    let received = hello(.ann)
    #expect(received.welcome(.ann) == nil && received.errors(.ann).map(\.code) == [.closing])
    #expect(hubs(received, .ann) == [DrainTests.others])
    #expect(!bench.machine.isDrained)
  }

  /// How many of the sessions are sent away in each of some times of 10 ms.
  private mutating func sentAway(of count: Int, within milliseconds: UInt32, times: Int) -> [Int] {
    for number in 0..<count { hello(Speaker(1_000 + UInt64(number), "p")) }
    _ = drain(within: milliseconds)
    return (0..<times).map { _ in
      let received = bench.wait(10)
      return received.frames.filter { if case .error = $0.message { true } else { false } }.count
    }
  }

  @Test("ten sessions are sent away every 20 ms, as long as that takes less than half of the time")
  mutating func slices() {
    #expect(sentAway(of: 25, within: 30_000, times: 8) == [10, 0, 10, 0, 5, 0, 0, 0])
    #expect(bench.machine.isDrained)
  }

  @Test("more sessions are sent away in as many as half of the time needs")
  mutating func largeSlices() {
    let sent = sentAway(of: 500, within: 200, times: 12)
    #expect(sent == [101, 0, 101, 0, 101, 0, 101, 0, 96, 0, 0, 0])
    #expect(bench.machine.isDrained)
  }

  @Test("a session is answered first what the store has not confirmed; what it writes meanwhile is left to another hub")
  mutating func answersFirst() throws {
    hello(.ann)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    _ = drain()
    #expect(bench.wait(0).errors(.ann).isEmpty)
    bench.send(.ann, .propose([.of(2, [.set("a", "2")])]))
    let stored = bench.settle(.stored)
    #expect(stored.outcomes(.ann) == [1: .committed(1)])
    let received = bench.wait(100)
    #expect(received.errors(.ann).map(\.code) == [.closing] && bench.machine.isDrained)
    #expect(bench.waiting.isEmpty && bench.counters.proposals == 1)
  }

  @Test("when the time is over the hub ends with the sessions that are left")
  mutating func timeOver() {
    hello(.ann)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    _ = drain(within: 1_000)
    for _ in 0..<9 { bench.wait(100) }
    #expect(!bench.machine.isDrained)
    let received = bench.wait(100)
    #expect(bench.machine.isDrained)
    #expect(report(received) == ["moved": 0, "left": 1, "milliseconds": 1_000])
  }

  @Test("a hub without others refuses with the cure, unless it is to end anyway")
  mutating func alone() throws {
    bench = HubBench()
    hello(.ann)
    let error = try #require(drain().errors(DrainTests.admin).first)
    #expect(error.code == .overLimit && !error.isFatal && error.text.contains("--sibling ADDRESS"))
    bench.wait(0)
    #expect(!bench.machine.isDrained)
    _ = drain(isAnyway: true)
    #expect(bench.wait(0).errors(.ann).map(\.code) == [.closing] && bench.machine.isDrained)
  }

  @Test("anybody could end an insecure hub: it refuses, counts the denial, and names the cure")
  mutating func insecure() throws {
    bench = HubBench {
      $0.otherHubs = DrainTests.others
      $0.isInsecure = true
    }
    let error = try #require(drain().errors(DrainTests.admin).first)
    #expect(error.code == .notPermitted && error.text.contains("SIGTERM"))
    bench.wait(0)
    #expect(!bench.machine.isDrained)
  }

  @Test("a member without the right admin cannot drain a hub")
  mutating func withoutRight() throws {
    let policy = AccessPolicy(
      roles: ["guest": AccessRole([.read: [AccessPattern("*")].compactMap { $0 }])], names: ["admin": ["guest"]])
    bench.act { machine, _, _ in
      _ = machine.apply(policy)
      machine.identify(DrainTests.admin.connection, as: .named("admin", role: nil))
    }
    #expect(drain().errors(DrainTests.admin).map(\.code) == [.notPermitted])
    bench.wait(0)
    #expect(!bench.machine.isDrained)
  }

  @Test("two who ask are both answered, and the shorter time counts")
  mutating func twoAsk() {
    hello(.ann)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    _ = drain(within: 60_000)
    _ = drain(within: 500)
    bench.wait(100)
    let received = bench.wait(400)
    #expect(bench.machine.isDrained)
    #expect(received.messages(to: DrainTests.admin).count == 2)
  }
}
