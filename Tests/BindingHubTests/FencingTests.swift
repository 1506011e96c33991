import BindingHub
import BindingProtocol
import Testing

/// A later session of an identity ends the earlier one.
@Suite struct FencingTests {
  var bench = HubBench()

  @Test("a second hello of an identity fences its earlier session, which gets an error")
  mutating func fenced() {
    bench.live(.ann)
    let later = Speaker.ann.again(21)
    let received = bench.hello(later)
    #expect(received.errors(.ann).map(\.code) == [.fenced])
    #expect(received.errors(.ann).map(\.session) == [Speaker.ann.session])
    #expect(received.welcome(later)?.knewIdentity == true)
    #expect(bench.counters.fencedSessions == 1)
  }

  @Test("a hello of an earlier connection that comes later is fenced, and disturbs no session")
  mutating func lateHello() {
    let (first, second) = (Speaker.ann, Speaker.ann.again(21))
    open(second, run: 7, count: 10)
    let late = open(first, run: 7, count: 9)
    #expect(late.errors(first).map(\.code) == [.fenced])
    #expect(late.errors(second).isEmpty)
    bench.join(second, Join(request: 1, model: "lamp"))
    #expect(bench.write(second, 1, .set("a", "1")) == .committed(1))
    // Neither a later connection of the run, nor another run, is late.
    #expect(open(Speaker.ann.again(22), run: 7, count: 11).errors(second).map(\.code) == [.fenced])
    #expect(open(Speaker.ann.again(23), run: 8, count: 1).welcome(Speaker.ann.again(23)) != nil)
    #expect(bench.counters.fencedSessions == 3)
  }

  /// Says hello over one of the connections of a run.
  @discardableResult
  private mutating func open(_ peer: Speaker, run: UInt64, count: Int) -> Received {
    var opening = Opening(run: run)
    for _ in 0..<count { opening.advance() }
    let capabilities = [Capability.users, Capability.lists, opening.text]
    let received = bench.send(peer, .hello(Hello(identity: peer.identity, capabilities: capabilities)))
    bench.subscribe(peer, Topics.sessionTopic(peer.session))
    return received
  }

  @Test("what an edge says again for a peer takes no place of another run's session, and does once that is over")
  mutating func saidAgain() {
    let (peer, edge) = (Speaker.ann, Speaker.ann.again(21))
    open(peer, run: 7, count: 1)
    let capabilities = [Capability.users, "opening:6-9", "through:e-1", Capability.again]
    let hello = PeerMessage.hello(Hello(identity: edge.identity, capabilities: capabilities))
    let refused = bench.send(edge, hello)
    #expect(refused.errors(edge).map(\.code) == [.closing] && refused.errors(peer).isEmpty)
    bench.send(peer, .leave(Leave()))
    #expect(bench.send(edge, hello).welcome(edge) != nil)
    #expect(bench.counters.fencedSessions == 0)
  }

  @Test("messages of a fenced session are refused")
  mutating func refusesFencedSession() {
    bench.live(.ann)
    bench.live(.ben)
    bench.live(Speaker.ann.again(21))
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(received.errors(.ann).map(\.code) == [.unknownSession])
    #expect(bench.read().version == 0)
    #expect(bench.counters.unknownSessions == 1)
  }

  @Test("a later session continues the numbers of the earlier one")
  mutating func goesOn() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    let later = Speaker.ann.again(21)
    bench.live(later)
    #expect(bench.write(later, 1, .set("a", "1")) == .committed(1))
    #expect(bench.write(later, 2, .set("a", "2")) == .committed(2))
  }

  @Test("a repeated hello is welcomed twice and fences no session")
  mutating func helloTwice() {
    bench.hello(.ann)
    let received = bench.hello(.ann)
    #expect(received.welcome(.ann) != nil)
    #expect(received.errors(.ann).isEmpty)
    #expect(bench.counters.fencedSessions == 0)
  }
}
