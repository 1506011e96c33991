import BindingHub
import BindingProtocol
import Testing

/// Limits on models, sessions, topics and frames: accepted at the limit; past it a clear answer and a counter (G9).
@Suite struct RoomTests {
  var bench = HubBench()

  // MARK: Models

  @Test("maxModels models can be joined")
  mutating func modelsAtLimit() {
    bench = HubBench { $0.limits.maxModels = 2 }
    bench.live(.ann)
    #expect(bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1).joined(.ann).count == 1)
  }

  @Test("a model past maxModels is an error, and the session goes on")
  mutating func modelsPastLimit() {
    bench = HubBench { $0.limits.maxModels = 1 }
    bench.live(.ann)
    let errors = bench.send(.ann, .join([Join(request: 2, model: "fan")])).errors(.ann)
    #expect(errors.map(\.code) == [.overLimit])
    #expect(errors.map(\.isFatal) == [false])
    #expect(bench.counters.modelsRefused == 1)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a model id of 200 bytes is accepted")
  mutating func idAtLimit() {
    let id = String(repeating: "m", count: 200)
    #expect(bench.live(.ann, model: id).joined(.ann).map(\.model) == [id])
  }

  @Test("a model id of 201 bytes is a bad name, and counted")
  mutating func idPastLimit() {
    bench.hello(.ann)
    let errors = bench.send(.ann, .join([Join(request: 1, model: String(repeating: "m", count: 201))])).errors(.ann)
    #expect(errors.map(\.code) == [.badName])
    #expect(bench.counters.modelsRefused == 1)
  }

  // MARK: Sessions

  @Test("maxSessions sessions are welcomed")
  mutating func sessionsAtLimit() {
    bench = HubBench { $0.limits.maxSessions = 2 }
    bench.hello(.ann)
    #expect(bench.hello(.ben).welcome(.ben) != nil)
  }

  @Test("a session past maxSessions is refused, and welcomed when another has left")
  mutating func sessionsPastLimit() {
    bench = HubBench { $0.limits.maxSessions = 2 }
    bench.hello(.ann)
    bench.hello(.ben)
    let received = bench.hello(.cat)
    #expect(received.welcome(.cat) == nil)
    #expect(received.errors(.cat).map(\.code) == [.tooManySessions])
    #expect(bench.counters.sessionsRefused == 1)
    bench.send(.ben, .leave(Leave()))
    #expect(bench.hello(.cat).welcome(.cat) != nil)
  }

  @Test("a later session of the same identity needs no room")
  mutating func sameIdentityNeedsNoRoom() {
    bench = HubBench { $0.limits.maxSessions = 1 }
    bench.hello(.ann)
    let again = Speaker.ann.again(21)
    #expect(bench.hello(again).welcome(again) != nil)
  }

  @Test("past maxIdentities, identities without a session are forgotten, the longest unseen first")
  mutating func identities() {
    bench = HubBench { $0.maxIdentities = 2 }
    for peer in [Speaker.ann, .ben] {
      bench.live(peer)
      bench.write(peer, 1, .set("a", "1"))
      bench.now += 10
      bench.send(peer, .leave(Leave()))
    }
    bench.hello(.cat)
    #expect(bench.counters.forgottenIdentities == 1)
    let (ann, ben) = (Speaker.ann.again(21), Speaker.ben.again(22))
    #expect(bench.hello(ben).welcome(ben)?.knewIdentity == true)
    #expect(bench.hello(ann).welcome(ann)?.knewIdentity == false)
  }

  @Test("a welcome reports how long identities are remembered: a week, or less after an early eviction")
  mutating func remembered() {
    bench = HubBench { $0.maxIdentities = 1 }
    #expect(bench.hello(.ann).welcome(.ann)?.limits.identityMilliseconds == 604_800_000)
    #expect(bench.send(.ann, .leave(Leave())).forgotten == [Speaker.ann.identity.tag])
    #expect(bench.live(.ben).welcome(.ben)?.limits.identityMilliseconds == 604_800_000, "ann had no mark")
    bench.write(.ben, 1, .set("a", "1"))
    #expect(bench.send(.ben, .leave(Leave())).forgotten.isEmpty, "the store keeps the marks of who did not leave")
    bench.now += 70
    #expect(bench.hello(.cat).welcome(.cat)?.limits.identityMilliseconds == 70)
    let ben = Speaker.ben.again(22)
    bench.now += 5
    #expect(bench.hello(ben).welcome(ben)?.knewIdentity == false)
  }

  @Test("a welcome never reports a memory of 0 ms, which means that a hub does not report it")
  mutating func rememberedAtLeast() {
    bench = HubBench { $0.maxIdentities = 1 }
    bench.live(.ben)
    bench.write(.ben, 1, .set("a", "1"))
    bench.send(.ben, .leave(Leave()))
    #expect(bench.hello(.cat).welcome(.cat)?.limits.identityMilliseconds == 1)
  }

  @Test("a forgotten peer is told so until it has received it, as a welcome may be lost with its connection")
  mutating func repeatedUntilReceived() {
    bench = HubBench { $0.maxIdentities = 1 }
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .leave(Leave()))
    bench.live(.cat)
    for session in 21...23 as ClosedRange<UInt64> {
      let ann = Speaker.ann.again(session)
      #expect(bench.hello(ann).welcome(ann)?.knewIdentity == false, "nothing was heard of the welcome before it")
    }
    let ann = Speaker.ann.again(23)
    bench.send(ann, .join([Join(request: 1, model: "m")]))
    let later = Speaker.ann.again(24)
    #expect(bench.hello(later).welcome(later)?.knewIdentity == true)
  }

  @Test("a peer that sent a malformed frame and returns is known")
  mutating func malformedIsRemembered() {
    bench.live(.ann)
    bench.deliver([Array(Speaker.ann.frame(.ping(Ping(token: 1))).dropLast())], on: 1)
    let again = Speaker.ann.again(21)
    #expect(bench.hello(again).welcome(again)?.knewIdentity == true)
  }

  @Test("an identity without a session is forgotten after its time")
  mutating func oldIdentities() {
    bench = HubBench { $0.identityMilliseconds = 3_600_000 }
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .leave(Leave()))
    for _ in 0..<3_600 { bench.wait(1_000) }
    #expect(bench.counters.forgottenIdentities == 0)
    for _ in 0..<3_600 { bench.wait(1_000) }
    #expect(bench.counters.forgottenIdentities == 1)
  }

  // MARK: Topics

  private mutating func joinMany(_ models: Range<Int>) -> [ErrorMessage] {
    models.flatMap { bench.send(.ann, .join([Join(request: UInt32($0), model: "m\($0)")])).errors(.ann) }
  }

  @Test("a session may join four times maxTopics, most of them served on its request connection")
  mutating func topicsAtLimit() {
    bench = HubBench { $0.limits.maxTopics = 2 }
    bench.hello(.ann)
    #expect(joinMany(0..<8).isEmpty)
  }

  @Test("a model past four times maxTopics is an error, and the session goes on")
  mutating func topicsPastLimit() {
    bench = HubBench { $0.limits.maxTopics = 2 }
    bench.hello(.ann)
    let errors = joinMany(0..<9)
    #expect(errors.map(\.code) == [.tooManyTopics])
    #expect(errors.map(\.isFatal) == [false])
    #expect(bench.counters.topicsRefused == 1)
    #expect(bench.send(.ann, .ping(Ping(token: 4))).messages(to: .ann).count == 1)
  }

  @Test("the prefixes of a session are bounded like its models")
  mutating func prefixes() {
    bench = HubBench { $0.limits.maxTopics = 2 }
    bench.hello(.ann)
    let errors = (0..<9).flatMap {
      bench.send(.ann, .join([Join(request: UInt32($0), prefix: "p\($0)/")])).errors(.ann)
    }
    #expect(errors.first?.code == .tooManyTopics)
  }

  @Test("a publish connection that subscribes to far more topics than it may join is cut")
  mutating func subscriptions() {
    bench = HubBench { $0.limits.maxTopics = 2 }
    bench.hello(.ann)
    for topic in 0..<Topic(18) { #expect(bench.subscribe(.ann, Topics.bytes(HubBench.lamp + topic)).cut.isEmpty) }
    #expect(bench.subscribe(.ann, Topics.bytes(HubBench.lamp + 18)).cut == [Speaker.ann.subscriber])
    #expect(bench.counters.topicsRefused == 1)
  }

  // MARK: Frames

  /// A propose of one proposal that sets `a` is 13 + 2 + 18 + 11 bytes plus its value.
  private static func frame(ofBytes count: Int) -> [UInt8] {
    Speaker.ann.frame(.propose([.of(1, [.set("a", text(ofBytes: count - 44))])]))
  }

  @Test("a frame of maxFrameBytes is accepted")
  mutating func frameAtLimit() {
    bench = HubBench { $0.limits.maxFrameBytes = 300 }
    bench.live(.ann)
    #expect(bench.deliver([Self.frame(ofBytes: 300)], on: 1).outcomes(.ann) == [1: .committed(1)])
  }

  @Test("a frame one byte past maxFrameBytes is refused and counted")
  mutating func framePastLimit() {
    bench = HubBench { $0.limits.maxFrameBytes = 300 }
    bench.live(.ann)
    let received = bench.deliver([Self.frame(ofBytes: 301)], on: 1)
    #expect(received.outcomes(.ann).isEmpty)
    #expect(received.errors(.ann).count == 1)
    #expect(bench.counters.malformedFrames == 1)
  }

  @Test("more outcomes in one drain than a message can count do not crash the hub")
  func manyOutcomes() async {
    await #expect(processExitsWith: .success) {
      var bench = HubBench()
      bench.live(.ann)
      let early = (0..<40_000).map { NumberedProposal.of(5 + ProposalNumber($0), []) }
      let received = bench.send(.ann, .propose(early), .propose(early))
      let outcomeCount = received.messages(to: .ann).reduce(0) {
        if case .outcomes(let outcomes) = $1 { $0 + outcomes.outcomes.count } else { $0 }
      }
      #expect(outcomeCount == 80_000)
    }
  }
}
