import BindingHub
import BindingProtocol
import Testing

/// Many models and sessions at one hub do not interfere with each other.
@Suite struct ManyModelsTests {
  var bench = HubBench()

  /// Ann joins N models; returns their topics.
  mutating func join(_ count: Int) -> [Topic] {
    let topics = (0..<count).map { HubBench.lamp + Topic($0) }
    bench.hello(.ann)
    for (number, topic) in topics.enumerated() {
      bench.join(.ann, Join(request: UInt32(number + 1), model: "m\(number)"), topic: topic)
    }
    return topics
  }

  @Test("decisions for many models in one drain are stored and published separately")
  mutating func apart() {
    let topics = join(200)
    for number in 1...2 as ClosedRange<ProposalNumber> {
      let received = bench.send(
        .ann, .propose(topics.map { .of(number, [.set("f", "\(number)\($0 % 1_000)")], topic: $0) }))
      #expect(received.commits().map(\.version) == topics.map { _ in Version(number) })
      #expect(topics.allSatisfy { received.outcomes(.ann, topic: $0)[number] == .committed(Version(number)) })
    }
    for (number, topic) in topics.enumerated() {
      #expect(bench.read("m\(number)", topic: topic).values == ["f": "2\(topic % 1_000)"])
    }
  }

  @Test("a decision for one model that was not stored does not appear in another")
  mutating func dropped() {
    let topics = join(2)
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("gone", "1")], topic: topics[0])]))
    bench.settle(.full)
    bench.wait(1_000)
    bench.settling = .atOnce
    bench.send(.ann, .propose([.of(1, [.set("kept", "2")], topic: topics[1])]))
    #expect(bench.read("m0", topic: topics[0]).values.isEmpty)
    #expect(bench.read("m1", topic: topics[1]).values == ["kept": "2"])
  }

  @Test("a delta of a model with few fields spans many commits")
  mutating func longDelta() throws {
    let topic = join(1)[0]
    bench.send(.ann, .propose([.of(1, [.set("a", "0"), .set("b", "0"), .set("c", "0")], topic: topic)]))
    for number in 2...200 as ClosedRange<ProposalNumber> {
      bench.send(.ann, .propose([.of(number, [.set("a", "\(number)")], confirmed: number - 1, topic: topic)]))
    }
    bench.hello(.ben)
    let join = Join(request: 1, model: "m0", epoch: HubBench.epoch, version: 2, namesKnown: 3)
    let received = bench.join(.ben, join, topic: topic)
    #expect(received.joined(.ben).map(\.follows) == [.delta])
    #expect(try #require(received.chunks(.ben).first).entries.map(\.version) == [200])
  }

  @Test("the heads of many models go out a few at a time, within half a heartbeat, with each of three heartbeats")
  mutating func heads() {
    let topics = join(600)
    for first in stride(from: 0, to: 600, by: 200) {
      bench.send(.ann, .propose(topics[first..<first + 200].map { .of(1, [.set("f", "1")], topic: $0) }))
    }
    for _ in 0..<3 {
      var received = bench.wait(bench.machine.nextDeadline - bench.now)
      let began = bench.now
      #expect(received.frames.count { $0.message.kind == .heartbeat } == 1)
      var counts = [received.heads().count]
      while bench.machine.nextDeadline < began + 1_000 {
        received = bench.wait(bench.machine.nextDeadline - bench.now)
        counts.append(received.heads().count)
        #expect(bench.now <= began + 500)
      }
      #expect(counts.allSatisfy { $0 <= 128 } && counts.reduce(0, +) == 600)
    }
    #expect(bench.wait(1_000).heads().isEmpty)
  }

  @Test("a renewed lease is checked again when it would have ended")
  mutating func deadlines() {
    bench = HubBench { $0.heartbeatMilliseconds = 5_000 }
    bench.hello(.ann, lease: 1_000)
    bench.hello(.ben, lease: 3_000)
    bench.now += 500
    bench.send(.ann, .ping(Ping(token: 1)))
    bench.wait(500)
    #expect(bench.counters.expiredLeases == 0)
    #expect(bench.machine.nextDeadline == bench.now + 500)
    bench.wait(500)
    #expect(bench.counters.expiredLeases == 1)
    #expect(bench.machine.nextDeadline == bench.now + 1_500)
  }

  @Test("an ended session that joined a prefix is not told of new models")
  mutating func goneFromPrefix() {
    bench.hello(.ben)
    bench.hello(.cat)
    for speaker in [Speaker.ben, .cat] { bench.send(speaker, .join([Join(request: 1, prefix: "")])) }
    bench.send(.ben, .leave(Leave()))
    let topic = join(1)[0]
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")], topic: topic)]))
    #expect(received.messages(to: .ben).isEmpty)
    #expect(received.messages(to: .cat).map(\.kind) == [.announce])
  }
}
