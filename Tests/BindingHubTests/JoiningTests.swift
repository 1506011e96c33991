import BindingProtocol
import Testing

@testable import BindingHub

/// How a join is answered: when, on which connection, and with what.
@Suite struct JoiningTests {
  var bench = HubBench()

  init() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"), .set("b", "1"))
    bench.write(.ann, 2, .set("a", "2"))
  }

  // MARK: Names

  @Test("an invalid name in a join fails that join only: the frame's other joins and the session go on")
  mutating func wrongName() {
    bench.hello(.ben)
    let joins = [
      Join(request: 7, model: "lamp"), Join(request: 8, model: "a\u{1B}b"), Join(request: 9, prefix: "shop"),
      Join(request: 10, model: "fan"),
    ]
    let received = bench.send(.ben, .join(joins))
    #expect(
      received.errors(.ben).map(\.code) == [.badName, .badName] && received.errors(.ben).allSatisfy { !$0.isFatal })
    let allowed = "allowed are A-Z a-z 0-9 _ - in segments joined by /"
    #expect(
      received.errors(.ben).map(\.text) == [
        "a\\u{1b}b: has byte 0x1b at byte 1; \(allowed)",
        "shop: does not end in /; a prefix does, or is empty for all models",
      ])
    #expect(received.errors(.ben).map(\.refusedJoin) == ["a\\u{1b}b", "shop"])
    let assigned: [String] = received.messages(to: .ben).compactMap {
      if case .topic(let topic) = $0 { topic.model } else { nil }
    }
    #expect(assigned == ["lamp", "fan"])
    #expect(bench.send(.ben, .ping(Ping(token: 1))).errors(.ben).isEmpty)
    #expect(bench.counters.malformedFrames == 0)
  }

  @Test("a frame of joins that is malformed elsewhere is refused whole")
  mutating func wrongFrame() {
    bench.hello(.ben)
    let received = bench.send(
      .ben, .join([Join(request: 7, model: "lamp"), Join(request: 8, model: "fan", unacknowledged: 0)]))
    #expect(received.errors(.ben).map(\.isFatal) == [true] && received.messages(to: .ben).count == 1)
  }

  // MARK: When and on which connection (R13)

  @Test("a join gets its topic immediately and its full answer only after the subscription")
  mutating func afterSubscription() {
    bench.hello(.ben)
    let early = bench.send(.ben, .join([Join(request: 7, model: "lamp")]))
    let assigned = TopicAssigned(session: Speaker.ben.session, request: 7, topic: HubBench.lamp, model: "lamp")
    #expect(early.messages(to: .ben) == [.topic(assigned)])
    let joined = bench.subscribe(.ben, Topics.bytes(HubBench.lamp)).joined(.ben)
    #expect(joined.map(\.delivery) == [.published])
    #expect(joined.map(\.request) == [7])
  }

  @Test("the subscription of another connection does not count for a join")
  mutating func othersSubscription() {
    bench.hello(.ben)
    bench.send(.ben, .join([Join(request: 1, model: "lamp")]))
    #expect(bench.subscribe(.cat, Topics.bytes(HubBench.lamp)).joined(.ben).isEmpty)
  }

  @Test("a join without a subscription is answered after its timeout and served on the request connection")
  mutating func routed() {
    bench.hello(.ben)
    bench.send(.ben, .join([Join(request: 1, model: "lamp")]))
    #expect(bench.wait(999).joined(.ben).isEmpty)
    #expect(bench.wait(1).joined(.ben).map(\.delivery) == [.routed])
    #expect(bench.counters.routedJoins == 1)
    let received = bench.send(.ann, .propose([.of(3, [.set("a", "3")])]))
    #expect(received.commits(.connection(Speaker.ben.connection)).map(\.version) == [3])
    #expect(received.commits().map(\.version) == [3])
  }

  @Test("a session topic subscribed before the hello counts")
  mutating func subscribedEarly() {
    bench.subscribe(.ben, Topics.sessionTopic(Speaker.ben.session))
    bench.send(.ben, .hello(Hello(identity: Speaker.ben.identity)))
    #expect(bench.join(.ben, Join(request: 1, model: "lamp")).joined(.ben).map(\.delivery) == [.published])
  }

  @Test("past maxTopics a session is served on its request connection immediately")
  mutating func pastTopics() {
    bench = HubBench { $0.limits.maxTopics = 1 }
    bench.live(.ben)
    #expect(bench.send(.ben, .join([Join(request: 2, model: "fan")])).joined(.ben).map(\.delivery) == [.routed])
  }

  // MARK: With what

  @Test("an empty replica gets a snapshot with names, origins, versions and numbers")
  mutating func snapshot() {
    let read = bench.read()
    #expect(read.version == 2)
    #expect(
      read.fields == [
        "a": .init(value: "2", version: 2, origin: Speaker.ann.origin, number: 2),
        "b": .init(value: "1", version: 1, origin: Speaker.ann.origin, number: 1),
      ])
  }

  @Test("a replica of this epoch gets a delta since its version")
  mutating func delta() throws {
    bench.write(.ann, 3, .set("c", "1"), .set("d", "1"))
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 2, namesKnown: 2)
    let received = bench.join(.ben, join)
    #expect(received.joined(.ben).map(\.follows) == [.delta])
    let chunk = try #require(received.chunks(.ben).first)
    #expect(chunk.form == .delta)
    #expect(chunk.previous == 2 && chunk.version == 3)
    #expect(chunk.names == NamesRun(first: 2, names: ["c", "d"]))
    #expect(chunk.entries.map(\.field) == [2, 3])
  }

  @Test("a delta longer than the model is sent as a snapshot")
  mutating func longDelta() {
    bench.write(.ann, 3, .delete("a"))
    bench.write(.ann, 4, .delete("b"))
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 2, namesKnown: 2)
    #expect(bench.join(.ben, join).joined(.ben).map(\.follows) == [.snapshot])
  }

  @Test("a delta names a field deleted since")
  mutating func deltaWithDeletion() throws {
    bench.write(.ann, 3, .set("c", "1"))
    bench.write(.ann, 4, .delete("b"))
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 3, namesKnown: 3)
    let chunk = try #require(bench.join(.ben, join).chunks(.ben).first)
    #expect(chunk.form == .delta)
    #expect(chunk.entries.map(\.field) == [1])
    #expect(chunk.entries.map(\.value) == [nil])
  }

  @Test("a current replica gets nothing more")
  mutating func current() {
    bench.hello(.ben)
    let received = bench.join(.ben, Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 2, namesKnown: 2))
    #expect(received.joined(.ben).map(\.follows) == [.nothing])
    #expect(received.chunks(.ben).isEmpty)
  }

  @Test("a replica of another epoch gets a snapshot")
  mutating func otherEpoch() {
    bench.hello(.ben)
    let received = bench.join(.ben, Join(request: 1, model: "lamp", epoch: HubBench.oldEpoch, version: 2))
    #expect(received.joined(.ben).map(\.follows) == [.snapshot])
  }

  @Test("a join of an unknown model creates it, empty")
  mutating func unknownModel() {
    let joined = bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1).joined(.ann)
    #expect(joined.map(\.version) == [0])
    #expect(joined.map(\.follows) == [.nothing])
  }

  @Test("a large model arrives in chunks within the limit that together equal it", arguments: [false, true])
  mutating func chunks(_ isDelta: Bool) throws {
    bench = HubBench { $0.limits.chunkBytes = 1_000 }
    bench.live(.ann)
    var wanted: [String: String] = [:]
    bench.write(.ann, 1, .set("first", "1"))
    // Many writers with long names, so that a chunk holds many origins too.
    for number in 0..<40 {
      let writer = Speaker(100 + UInt64(number), String(repeating: "w", count: 60) + "\(number)")
      bench.live(writer)
      let field = String(repeating: "f", count: 60) + "\(number)"
      bench.write(writer, 1, .set(field, text(ofBytes: 20 + number)))
      wanted[field] = text(ofBytes: 20 + number)
    }
    bench.hello(.ben)
    let join =
      isDelta
      ? Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1, namesKnown: 1)
      : Join(request: 1, model: "lamp")
    if !isDelta { wanted["first"] = "1" }
    let received = bench.join(.ben, join)
    let chunks = received.chunks(.ben)
    #expect(chunks.map(\.chunk) == (0..<UInt32(chunks.count)).map { $0 })
    #expect(chunks.map(\.isLast) == chunks.indices.map { $0 == chunks.count - 1 })
    let longest = received.frames(to: .ben).filter { $0.message.kind == .catchup }.map(\.byteCount).max() ?? 0
    #expect(longest <= 1_000)
    let names = (isDelta ? ["first"] : []) + chunks.flatMap(\.names.names)
    let values = chunks.flatMap(\.entries).map { (names[Int($0.field)], $0.value?.description) }
    #expect(Dictionary(values) { left, _ in left } == wanted.mapValues { $0 })
  }

  // MARK: The last decided number

  @Test("a join's answer and snapshot carry the joining peer's last decided number (R5)")
  mutating func lastDecided() {
    let received = bench.send(.ann, .join([Join(request: 2, model: "lamp")]))
    #expect(received.joined(.ann).map(\.lastDecided) == [2])
    #expect(received.chunks(.ann).map(\.lastDecided) == [2])
  }

  @Test("a join with a higher unacknowledged number stores a raised last decided number before its answer (R8)")
  mutating func raisesLastDecided() throws {
    bench.hello(.ben)
    bench.settling = .later
    let early = bench.join(.ben, Join(request: 1, model: "lamp", unacknowledged: 5))
    #expect(early.joined(.ben).isEmpty)
    #expect(bench.waiting.flatMap(\.decisions) == [Decision(origin: Speaker.ben.origin, number: 4, outcome: nil)])
    #expect(try bench.settleWithStore().joined(.ben).map(\.lastDecided) == [4])
    #expect(bench.counters.raisedMarks == 1)
  }

  @Test("numbers below a raised last decided number are unknown, and the next is accepted")
  mutating func belowRaisedLastDecided() {
    bench.hello(.ben)
    bench.join(.ben, Join(request: 1, model: "lamp", unacknowledged: 5))
    #expect(bench.write(.ben, 3, .set("a", "3")) == .unknown)
    #expect(bench.write(.ben, 5, .set("a", "5")) == .committed(3))
  }

  @Test("a join during an append also raises the last decided number")
  mutating func raisesWhileStoring() throws {
    bench.hello(.ben)
    bench.settling = .later
    bench.send(.ann, .propose([.of(3, [.set("a", "3")])]))
    var received = bench.join(.ben, Join(request: 1, model: "lamp", unacknowledged: 5))
    while !bench.waiting.isEmpty { received = received + (try bench.settleWithStore()) }
    #expect(received.joined(.ben).map(\.lastDecided) == [4])
  }

  @Test("numbers that a join has named are decided for a later process too, which does not know of them")
  mutating func namedByEarlierProcess() throws {
    bench.hello(.ben)
    bench.settling = .later
    bench.send(.ann, .propose([.of(3, [.set("a", "3")])]))
    bench.join(.ben, Join(request: 1, model: "lamp", unacknowledged: 5))
    let next = Speaker.ben.again(9)
    bench.hello(next)
    var received = bench.join(next, Join(request: 1, model: "lamp"))
    while !bench.waiting.isEmpty { received = received + (try bench.settleWithStore()) }
    #expect(received.joined(next).map(\.lastDecided) == [4])
    bench.settling = .atOnce
    #expect(bench.write(next, 1, .set("a", "1")) == .unknown)
  }

  // MARK: Prefixes

  @Test("a prefix join announces the matching models, and the last message is complete")
  mutating func prefix() throws {
    bench.live(.ben, model: "shop/one", topic: HubBench.lamp + 1)
    bench.send(.ben, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    let announce = try #require(bench.send(.ann, .join([Join(request: 9, prefix: "shop/")])).announces(.ann).first)
    #expect(announce.isComplete)
    #expect(announce.models == [AnnouncedModel(model: "shop/one", topic: HubBench.lamp + 1, version: 1, fields: 1)])
  }

  @Test("models made later are announced once, with their first commit")
  mutating func laterModels() {
    bench.send(.ann, .join([Join(request: 9, prefix: "shop/")]))
    #expect(bench.live(.ben, model: "shop/one", topic: HubBench.lamp + 1).announces(.ann).isEmpty)
    let first = bench.send(.ben, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)])).announces(.ann)
    #expect(first.map(\.request) == [9])
    #expect(first.flatMap(\.models).map(\.model) == ["shop/one"])
    let second = bench.send(.ben, .propose([.of(2, [.set("a", "2")], topic: HubBench.lamp + 1)])).announces(.ann)
    #expect(second.isEmpty)
  }

  @Test("more models than one message holds are announced in several, only the last of them complete")
  mutating func manyModels() {
    bench = HubBench { $0.limits.maxTopics = 2_000 }
    bench.hello(.ann)
    for number in 0..<1_001 {
      let topic = HubBench.lamp + Topic(number)
      bench.join(.ann, Join(request: 1, model: "m/\(number)"), topic: topic)
      bench.send(.ann, .propose([.of(1, [.set("a", "1")], topic: topic)]))
    }
    let announces = bench.send(.ann, .join([Join(request: 9, prefix: "m/")])).announces(.ann)
    #expect(announces.map(\.models.count) == [512, 489])
    #expect(announces.map(\.isComplete) == [false, true])
  }
}
