import BindingHub
import BindingProtocol
import Testing

/// A hub remembers no secrets: a hello proves that its tag is its own.
@Suite struct ProofTests {
  var bench = HubBench()

  /// A client that has read ann's tag somewhere.
  private var thief: Speaker {
    var thief = Speaker.ann.again(21)
    thief.identity.secret = Secret(high: 4, low: 4)
    return thief
  }

  @Test("a hello with a wrong secret is refused and counted, and the tag's owner is not disturbed")
  mutating func wrongSecret() {
    bench.live(.ann)
    let received = bench.hello(thief)
    #expect(received.welcome(thief) == nil)
    #expect(received.errors(thief).map(\.code) == [.notYours])
    #expect(received.errors(thief).map(\.isFatal) == [true])
    #expect(bench.counters.wrongSecrets == 1)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a restarted hub refuses a wrong secret that arrives first, with a log and without")
  mutating func wrongSecretFirst() throws {
    let store = LogStore()
    bench = HubBench(store: store)
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    for stored in [try store.loadAll(), []] {
      bench = HubBench(store: stored.isEmpty ? LogStore() : store, stored: stored)
      #expect(bench.hello(thief).errors(thief).map(\.code) == [.notYours])
      #expect(bench.counters.wrongSecrets == 1)
      #expect(bench.live(.ann).welcome(.ann)?.knewIdentity == !stored.isEmpty)
      #expect(bench.write(.ann, stored.isEmpty ? 1 : 2, .set("a", "2")) == .committed(stored.isEmpty ? 1 : 2))
    }
  }

  @Test("a hello with the zero tag is malformed and disturbs no peer's presence")
  mutating func nobodysTag() {
    var nobody = Speaker.cat
    nobody.identity = Identity(tag: .none, secret: nobody.identity.secret, name: "nobody")
    let received = bench.hello(nobody)
    #expect(received.welcome(nobody) == nil && received.errors(nobody).map(\.code) == [.malformed])
    #expect(bench.counters.malformedFrames == 1 && bench.counters.wrongSecrets == 0)
  }
}
