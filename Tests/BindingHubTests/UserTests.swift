import BindingProtocol
import Testing

@testable import BindingHub

/// The users whom a hub with keys names in commits, beside the names that peers choose. Ann's connection is anna's,
/// ben's is ben's.
@Suite("Users in commits")
struct UserTests {
  private var bench = HubBench()

  init() {
    identify(.ann, "anna")
    identify(.ben, "ben")
    bench.live(.ann)
  }

  private mutating func identify(_ peer: Speaker, _ user: String) {
    bench.act { machine, _, _ in machine.identify(peer.connection, as: .named(user, role: nil)) }
  }

  private func origin(_ peer: Speaker, _ user: String?) -> Origin {
    Origin(tag: peer.identity.tag, name: peer.identity.name, user: user)
  }

  @Test("a commit names the user of the connection that proposed it")
  mutating func commit() {
    let received = bench.send(.ann, .propose([.of(1, [.set("level", "1")])]))
    #expect(received.commits().map(\.origins) == [[origin(.ann, "anna")]])
  }

  @Test("a commit over a connection whose user nobody has told names none")
  mutating func nobody() {
    bench.live(.cat)
    let received = bench.send(.cat, .propose([.of(1, [.set("level", "1")])]))
    #expect(received.commits().map(\.origins) == [[origin(.cat, nil)]])
  }

  @Test("a conflict names the user who wrote")
  mutating func conflict() {
    bench.write(.ann, 1, .set("level", "1"))
    bench.live(.ben)
    let condition = WireCondition(epoch: HubBench.epoch, version: 0, field: .name("level"))
    let outcome = bench.propose(.ben, .of(1, [.set("level", "2")], conditions: [condition]))[1]
    guard case .conflict(let conflict)? = outcome else {
      Issue.record("\(String(describing: outcome))")
      return
    }
    #expect(conflict.origin == origin(.ann, "anna"))
  }

  @Test("an owner is told which user asks")
  mutating func approval() {
    let name = Names.ephemeral("lamp")
    bench.join(.ann, Join(request: 2, model: name), topic: HubBench.lamp + 1)
    bench.propose(.ann, .of(1, [.set(Names.owner, "true")], topic: HubBench.lamp + 1))
    bench.live(.ben)
    let received = bench.send(.ben, .propose([.of(1, [.set("level", "1")])]))
    let asked = received.messages(to: .ann).compactMap { message -> Origin? in
      if case .approve(let request) = message { request.origin } else { nil }
    }
    #expect(asked == [origin(.ben, "ben")])
  }

  /// Anna sets `level`; then ben sets `hue` as the same identity. Returns what the hub sends at that.
  @discardableResult
  private mutating func handOn() -> Received {
    bench.write(.ann, 1, .set("level", "1"))
    let later = Speaker.ann.again(11)
    identify(later, "ben")
    bench.live(later)
    return bench.send(later, .propose([.of(2, [.set("hue", "2")])]))
  }

  @Test("an identity that another member sends on writes in that member's name; earlier commits keep theirs")
  mutating func handedOn() throws {
    let received = handOn()
    #expect(received.commits().map(\.origins) == [[origin(.ann, "ben")]])
    #expect(bench.read().fields.mapValues(\.origin.user) == ["level": "anna", "hue": "ben"])
  }

  @Test("the stored model names them, from its batches and from its chunks")
  mutating func stored() throws {
    handOn()
    let batches = try #require(try bench.store.load("lamp"))
    var compactor = try ModelCompactor(batches)
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    for model in [batches, StoredModel(model: "lamp", chunks: chunks, batches: [])] {
      var other = HubBench(stored: [model])
      #expect(other.read().fields.mapValues(\.origin.user) == ["level": "anna", "hue": "ben"])
    }
  }

  @Test("what is brought back after a loss stands under the user who offered it, whatever the offer claims")
  mutating func broughtBack() {
    var bench = HubBench(tailProven: false)
    bench.act { machine, _, _ in machine.identify(Speaker.ann.connection, as: .named("anna", role: nil)) }
    bench.hello(.ann)
    bench.joinAhead(.ann, 3)
    let claimed = Origin(tag: Tag(rawValue: 0xBEEF), name: "gone", user: "chief")
    bench.offer(.ann, 3, .of("level", "1", version: 3, origin: claimed))
    bench.wait(5_000)
    #expect(bench.read().fields["level"]?.origin == origin(.ann, "anna"))
  }

  @Test("a hello that does not know users is refused over such a connection, and only there")
  mutating func older() {
    for (peer, code) in [(Speaker.ben, ErrorCode.otherProtocol), (.cat, nil)] {
      let received = bench.send(peer, .hello(Hello(identity: peer.identity)))
      #expect(received.errors(peer).map(\.code) == (code.map { [$0] } ?? []))
      #expect((received.welcome(peer) == nil) == (code != nil))
    }
  }
}
