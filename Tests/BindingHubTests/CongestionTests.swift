import BindingHub
import BindingProtocol
import Testing

/// Request connections whose peers read too slowly: messages are left out, then one update brings the peer up to
/// date (G9).
@Suite struct CongestionTests {
  var bench = HubBench()

  /// Ann follows `lamp` on her request connection; Ben writes it.
  private mutating func follow(_ count: ProposalNumber) {
    bench.live(.ben)
    bench.send(.ann, .hello(Hello(identity: Speaker.ann.identity, leaseMilliseconds: 60_000)))
    bench.send(.ann, .join([Join(request: 1, model: "lamp")]))
    #expect(bench.wait(1_000).joined(.ann).map(\.delivery) == [.routed])
    for number in 0..<count { bench.write(.ben, 1 + number, .set("a", "\(number)")) }
  }

  private mutating func leaveOut(_ topic: Topic = HubBench.lamp) {
    let head = HubMessage.head(Head(epoch: HubBench.epoch, version: 1, digest: 0))
    let frame = head.encode(topic: topic, start: HubBench.start)
    bench.act { machine, _, _ in
      frame.withUnsafeBytes { machine.leftOut($0, for: Speaker.ann.connection) }
    }
  }

  private mutating func makeRoom() -> [HubMessage] {
    bench.act { machine, _, output in machine.becameWritable(Speaker.ann.connection, into: &output) }.messages(to: .ann)
  }

  @Test("a peer that missed N messages gets the head once, and one delta for all of them")
  mutating func oneHead() {
    follow(3)
    for _ in 0..<5 { leaveOut() }
    for number in 4...50 { bench.write(.ben, ProposalNumber(number), .set("a", "\(number)")) }
    let messages = makeRoom()
    #expect(messages.count == 1)
    guard case .head(let head)? = messages.first else {
      Issue.record("\(messages)")
      return
    }
    #expect(head.version == 50)
    let received = bench.send(.ann, .join([Join(request: 2, model: "lamp", epoch: HubBench.epoch, version: 3)]))
    #expect(received.joined(.ann).map(\.follows) == [.delta])
    #expect(bench.counters.foldedCommits == 47)
    #expect(bench.counters.leftOut == 5)
    #expect(makeRoom().isEmpty)
  }

  @Test("the head of an ephemeral model names the epoch of that model, not of the log")
  mutating func ephemeralEpoch() {
    follow(1)
    bench.send(.ann, .join([Join(request: 2, model: Room.name)]))
    bench.wait(1_000)
    leaveOut(Room.ephemeralLamp)
    let epochs = makeRoom().map { message in
      if case .head(let head) = message { head.epoch } else { nil as Epoch? }
    }
    #expect(epochs == [Epoch(HubBench.start)])
  }

  @Test("messages left out of a model that the peer has left since are not made up for")
  mutating func left() {
    follow(3)
    leaveOut()
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    #expect(makeRoom().isEmpty)
  }

  @Test("a closed connection is owed nothing, and an unknown one neither")
  mutating func gone() {
    follow(3)
    leaveOut()
    bench.close(Speaker.ann.connection)
    #expect(makeRoom().isEmpty)
    bench.send(.ann, .leave(Leave()))
    leaveOut()
    #expect(bench.counters.leftOut == 1)
  }

  @Test("the debts of a connection end with its last session")
  mutating func ended() {
    follow(3)
    leaveOut()
    bench.send(.ann, .leave(Leave()))
    bench.send(.ann, .hello(Hello(identity: Speaker.ann.identity, leaseMilliseconds: 60_000)))
    #expect(makeRoom().isEmpty)
  }

  @Test("a delta counts the commits that it compacts; a first join counts none")
  mutating func counted() {
    bench.live(.ben)
    for number in 1...10 { bench.write(.ben, ProposalNumber(number), .set("a", "\(number)")) }
    bench.live(.ann)
    #expect(bench.counters.foldedCommits == 0)
    bench.send(.ann, .join([Join(request: 2, model: "lamp", epoch: HubBench.epoch, version: 4)]))
    #expect(bench.counters.foldedCommits == 6)
  }
}
