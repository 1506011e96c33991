import BindingHub
import BindingProtocol
import Testing

/// A hub remembers no secrets: a hello proves that its tag is its own.
@Suite struct ProofTests {
  var bench = HubBench()

  /// Who has read ann's tag somewhere.
  private var thief: Speaker {
    var thief = Speaker.ann.again(21)
    thief.identity.secret = Secret(high: 4, low: 4)
    return thief
  }

  @Test("a hello with another secret is refused and counted, and who knows the right one is not disturbed")
  mutating func wrongSecret() {
    bench.live(.ann)
    let received = bench.hello(thief)
    #expect(received.welcome(thief) == nil)
    #expect(received.errors(thief).map(\.code) == [.notYours])
    #expect(received.errors(thief).map(\.isFatal) == [true])
    #expect(bench.counters.wrongSecrets == 1)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("it is refused as well by a hub that starts again and hears it first, with a log and without")
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

  @Test("a tag of zeros, which stands for nobody, is malformed, and nobody's presence is disturbed")
  mutating func nobodysTag() {
    var nobody = Speaker.cat
    nobody.identity = Identity(tag: .none, secret: nobody.identity.secret, name: "nobody")
    let received = bench.hello(nobody)
    #expect(received.welcome(nobody) == nil && received.errors(nobody).map(\.code) == [.malformed])
    #expect(bench.counters.malformedFrames == 1 && bench.counters.wrongSecrets == 0)
  }
}
