import BindingHub
import BindingProtocol
import Testing

/// Heartbeats and heads (R7), and what a peer that is ahead proves (R8).
@Suite struct HeartbeatTests {
  var bench = HubBench()

  init() { bench.live(.ann) }

  @Test("heartbeats are numbered and sent at every interval, also when idle")
  mutating func heartbeats() {
    #expect(bench.wait(999).heartbeats().isEmpty)
    #expect(bench.wait(1).heartbeats().map(\.number) == [1])
    let second = bench.wait(1_000)
    #expect(second.heartbeats() == [Heartbeat(epoch: HubBench.epoch, number: 2, now: bench.time.wall)])
    #expect(second.published.map(\.header.topic) == [Topics.heartbeat])
  }

  @Test("a heartbeat has at most 64 bytes")
  mutating func small() throws {
    let frame = try #require(bench.wait(1_000).published.first)
    #expect(frame.byteCount <= 64)
  }

  @Test("head and digest of a changed model go out with the next three heartbeats, then no more")
  mutating func heads() {
    bench.write(.ann, 1, .set("a", "1"))
    let head = Head(
      epoch: HubBench.epoch, version: 1, digest: fieldDigest(name: "a", version: 1, value: json("1")))
    #expect((0..<5).map { _ in bench.wait(1_000).heads() } == [[head], [head], [head], [], []])
  }

  @Test("another change restarts the three heartbeats, with the newer head")
  mutating func headsAnew() {
    bench.write(.ann, 1, .set("a", "1"))
    bench.wait(1_000)
    bench.wait(1_000)
    bench.write(.ann, 2, .set("a", "2"))
    #expect((0..<4).map { _ in bench.wait(1_000).heads().map(\.version) } == [[2], [2], [2], []])
  }

  @Test("a routed session gets heads on its request connection")
  mutating func routedHeads() {
    bench.hello(.ben)
    bench.send(.ben, .join([Join(request: 1, model: "lamp")]))
    bench.wait(1_000)
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.wait(1_000).heads(.connection(Speaker.ben.connection)).map(\.version) == [1])
  }

  @Test("a session without a publish connection gets the heartbeat on its request connection")
  mutating func routedHeartbeat() {
    bench.unsubscribe(.ann, Topics.sessionTopic(Speaker.ann.session))
    let received = bench.wait(1_000)
    #expect(received.heartbeats(.connection(Speaker.ann.connection)).map(\.number) == [1])
  }

  @Test("a refusal is no change and sends no head")
  mutating func refusal() {
    bench.write(.ann, 1, .set("a", "{"))
    #expect(bench.wait(1_000).heads().isEmpty)
  }

  @Test("askHeads is answered with the heads of the joined models only")
  mutating func askHeads() {
    bench.live(.ben, model: "fan", topic: HubBench.lamp + 1)
    bench.write(.ann, 1, .set("a", "1"))
    let head = ModelHead(
      topic: HubBench.lamp, version: 1, digest: fieldDigest(name: "a", version: 1, value: json("1")))
    let answer = HeadsAnswer(session: Speaker.ann.session, epoch: HubBench.epoch, heads: [head])
    #expect(bench.send(.ann, .askHeads).messages(to: .ann) == [.heads(answer)])
  }

  // MARK: A peer that is ahead (R8)

  @Test("a peer ahead of the head in the same epoch starts a new, later epoch for all peers")
  mutating func ahead() throws {
    bench.write(.ann, 1, .set("a", "1"))
    bench.hello(.ben)
    let received = bench.send(.ben, .join([Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 9)]))
    let epoch = try #require(received.newEpoch)
    #expect(epoch > HubBench.epoch)
    #expect(bench.machine.epoch == epoch)
    #expect(bench.counters.newEpochs == 1)
    #expect(bench.wait(1_000).heads().map(\.epoch) == [epoch])
  }

  @Test("a hub believes a peer that is ahead once in a start")
  mutating func believedOnce() throws {
    bench.hello(.ben)
    bench.send(.ben, .join([Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 9)]))
    let epoch = bench.machine.epoch
    bench.hello(.cat)
    let received = bench.send(.cat, .join([Join(request: 1, model: "lamp", epoch: epoch, version: 99)]))
    #expect(received.newEpoch == nil)
    #expect(bench.machine.epoch == epoch)
  }

  @Test("a peer ahead while a batch is being stored is believed once that is stored, level with it or not")
  mutating func aheadMeanwhile() throws {
    bench.write(.ann, 1, .set("a", "1"))
    bench.settling = .later
    bench.write(.ann, 2, .set("a", "2"))
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 2)
    #expect(bench.send(.ben, .join([join])).newEpoch == nil)
    let received = try bench.settleWithStore()
    #expect(received.newEpoch != nil)
    #expect(received.askedOffers(.ben).count == 1)
  }

  @Test("a peer at the head starts no new epoch")
  mutating func atHead() {
    bench.write(.ann, 1, .set("a", "1"))
    bench.hello(.ben)
    let received = bench.join(.ben, Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1))
    #expect(received.newEpoch == nil)
  }

  @Test("a decision not yet stored is made again in the new epoch")
  mutating func decidedAnew() throws {
    bench.hello(.ben)
    bench.together([
      (.ann, .propose([.of(1, [.set("a", "1")])])),
      (.ben, .join([Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 9)])),
    ])
    bench.wait(1_000)
    bench.wait(1_000)
    bench.wait(1_000)
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(received.commits().map(\.epoch) == [bench.machine.epoch])
    #expect(received.outcomes(.ann) == [1: .committed(1)])
  }
}
