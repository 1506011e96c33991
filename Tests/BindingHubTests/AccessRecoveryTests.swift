import BindingProtocol
import Testing

@testable import BindingHub

/// Whose replicas a recovering hub believes when rights change (protocol.md 15-13). Ann and ben may write everything,
/// until another policy is in force.
@Suite("Rights during a recovery")
struct AccessRecoveryTests {
  private var bench = HubBench(tailProven: false)

  init() {
    apply(writers: .ann, .ben)
    for peer in [Speaker.ann, .ben] {
      bench.act { machine, _, _ in machine.identify(peer.connection, as: .named(peer.identity.name, role: nil)) }
      bench.hello(peer)
    }
  }

  private mutating func apply(writers: Speaker...) {
    let everything = Dictionary(
      uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, [AccessPattern("*")].compactMap(\.self)) })
    let names = Dictionary(uniqueKeysWithValues: writers.map { ($0.identity.name, ["staff"]) })
    bench.act { machine, _, _ in
      _ = machine.apply(AccessPolicy(roles: ["staff": AccessRole(everything)], names: names))
    }
  }

  /// Ben, who is further ahead, offers a false value; ann offers what was stored.
  private mutating func offerBoth() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.joinAhead(.ben, 9)
    _ = bench.offer(.ben, 9, .of("a", "false", version: 9, number: 50))
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7, number: 2), .of("b", "2", version: 6, number: 1))
  }

  /// What the model has; from now on everybody may do everything.
  private mutating func read() -> [String: String] {
    bench.act { machine, _, _ in _ = machine.apply(AccessPolicy?.none) }
    return bench.read().values
  }

  @Test("the replica of a peer that has lost the right does not count when the recovery ends")
  mutating func lost() {
    offerBoth()
    apply(writers: .ann)
    bench.wait(400)
    #expect(read() == ["a": "1", "b": "2"])
  }

  @Test("nor when that peer is gone")
  mutating func gone() {
    offerBoth()
    _ = bench.send(.ben, .leave(Leave(topics: [])))
    apply(writers: .ann)
    bench.wait(400)
    #expect(read() == ["a": "1", "b": "2"])
  }

  @Test("the replica of a peer that is gone, and may still write, counts")
  mutating func kept() {
    offerBoth()
    _ = bench.send(.ann, .leave(Leave(topics: [])))
    apply(writers: .ann)
    bench.wait(400)
    #expect(read() == ["a": "1", "b": "2"])
  }

  @Test("nothing is recovered when nobody who offered may write any more, and writes go on")
  mutating func none() {
    offerBoth()
    apply()
    bench.wait(400)
    #expect(read().isEmpty)
    apply(writers: .ann)
    bench.join(.ann, Join(request: 2, model: "lamp"))
    #expect(bench.write(.ann, 1, .set("a", "3")) == .committed(1))
  }

  @Test("a right that is lost and comes back before the end counts")
  mutating func back() {
    offerBoth()
    apply(writers: .ann)
    apply(writers: .ann, .ben)
    bench.wait(400)
    #expect(read()["a"] == "false")
  }

  @Test("what a refused append undid is merged anew, by the rights of then")
  mutating func afterFull() {
    offerBoth()
    bench.settling = .later
    bench.wait(400)
    apply(writers: .ann)
    bench.settle(.full)
    bench.settling = .atOnce
    bench.wait(2_000)
    #expect(read() == ["a": "1", "b": "2"])
  }
}
