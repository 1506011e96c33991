import BindingHub
import BindingProtocol
import Testing

@Suite("Barriers: which peers have applied a version")
struct BarrierTests {
  /// Two peers in `lamp` that report versions, and one commit of ann's.
  private func bench(_ configure: (inout HubMachineConfiguration) -> Void = { _ in }) -> HubBench {
    var bench = HubBench(configure)
    for peer in [Speaker.ann, .ben] { bench.reporting(peer) }
    bench.write(.ann, 1, .set("level", "0.5"))
    return bench
  }

  private func wait(
    _ version: Version = 1, count: UInt32 = 0, timeoutMilliseconds: UInt32 = 2_000, request: UInt32 = 9,
    epoch: Epoch = HubBench.epoch
  ) -> PeerMessage {
    .awaitApplied(
      AwaitApplied(
        request: request, topic: HubBench.lamp, epoch: epoch, version: version, count: count,
        timeoutMilliseconds: timeoutMilliseconds))
  }

  @Test("a barrier asks all joined peers immediately, and ends when the last of them reports the version")
  func complete() {
    var bench = bench()
    let asked = bench.send(.ann, wait())
    #expect(asked.asks() == [AskApplied(epoch: HubBench.epoch, version: 1)])
    #expect(asked.awaited(.ann).isEmpty)
    #expect(bench.send(.ann, .has(1)).awaited(.ann).isEmpty)
    let end = bench.send(.ben, .has(1)).awaited(.ann)
    #expect(end == [Awaited(session: Speaker.ann.session, request: 9, applied: 2, of: 2, end: .complete)])
    #expect(bench.counters.barriers == 1)
  }

  @Test("a lower version, or one of another epoch, does not end a barrier")
  func tooOld() {
    var bench = bench()
    bench.write(.ann, 2, .set("level", "0.6"))
    bench.send(.ann, wait(2, count: 1))
    #expect(bench.send(.ben, .has(1)).awaited(.ann).isEmpty)
    #expect(bench.send(.ben, .has(2, epoch: HubBench.oldEpoch)).awaited(.ann).isEmpty)
    #expect(bench.send(.ben, .has(3)).awaited(.ann).map(\.end) == [.complete])
  }

  @Test("a barrier that times out names the missing peers")
  func missing() {
    var bench = bench()
    bench.send(.ann, wait())
    bench.send(.ann, .has(1))
    #expect(bench.wait(1_999).awaited(.ann).isEmpty)
    let end = bench.wait(1).awaited(.ann)
    #expect(
      end == [Awaited(session: Speaker.ann.session, request: 9, applied: 1, of: 2, end: .incomplete, missing: ["ben"])])
    #expect(bench.counters.barriersMissed == 1)
  }

  @Test("a barrier for N peers ends when any N have the version")
  func count() {
    var bench = bench()
    bench.send(.ann, wait(count: 2))
    bench.send(.ann, .has(1))
    bench.reporting(.cat)
    let end = bench.send(.cat, .has(1)).awaited(.ann)
    #expect(end.map(\.end) == [.complete])
    #expect(end.first?.applied == 2 && end.first?.of == 2)
  }

  @Test("a barrier for all does not wait for peers that joined later")
  func later() {
    var bench = bench()
    bench.send(.ann, wait())
    bench.reporting(.cat)
    bench.send(.ann, .has(1))
    #expect(bench.send(.ben, .has(1)).awaited(.ann).map(\.of) == [2])
  }

  @Test("a barrier does not count a session that left, ended, or was silent for its lease")
  func gone() {
    for message in [PeerMessage.leave(Leave()), .leave(Leave(topics: [HubBench.lamp]))] {
      var bench = bench()
      bench.send(.ann, wait())
      bench.send(.ann, .has(1))
      #expect(bench.send(.ben, message).awaited(.ann).map(\.of) == [1])
    }
    var bench = bench()
    bench.send(.ann, wait(timeoutMilliseconds: 120_000))
    bench.send(.ann, .has(1))
    var ends: [Awaited] = []
    for _ in 0..<61 where ends.isEmpty {
      bench.send(.ann, .ping(Ping(token: 1)))
      ends = bench.wait(1_000).awaited(.ann)
    }
    #expect(ends.map(\.end) == [.complete] && ends.first?.of == 1)
  }

  @Test("a session that leaves ends its own barriers and receives no result")
  func ownLeave() {
    var bench = bench()
    bench.send(.ann, wait())
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    bench.send(.ben, .has(1))
    #expect(bench.wait(3_000).awaited(.ann).isEmpty)
    #expect(bench.send(.ann, wait()).awaited(.ann).map(\.end) == [.notJoined])
  }

  @Test("the hub asks for versions with each heartbeat, only while a barrier waits")
  func again() {
    var bench = bench()
    #expect(bench.wait(1_000).asks().isEmpty)
    bench.send(.ann, wait(timeoutMilliseconds: 60_000))
    #expect(bench.wait(1_000).asks().count == 1)
    #expect(bench.wait(1_000).asks().count == 1)
    bench.send(.ann, .has(1))
    bench.send(.ben, .has(1))
    #expect(bench.wait(1_000).asks().isEmpty)
  }

  @Test("a barrier of another epoch is answered immediately")
  func otherEpoch() {
    var bench = bench()
    #expect(bench.send(.ann, wait(epoch: HubBench.oldEpoch)).awaited(.ann).map(\.end) == [.otherEpoch])
  }

  @Test("barriers past the limit of a session or of the hub are refused and counted")
  func limits() {
    var bench = bench {
      $0.maxBarriersPerSession = 2
      $0.maxBarriers = 3
    }
    for request in 1...2 { #expect(bench.send(.ann, wait(request: UInt32(request))).awaited(.ann).isEmpty) }
    #expect(bench.send(.ann, wait(request: 3)).awaited(.ann).map(\.end) == [.tooMany])
    #expect(bench.send(.ben, wait(request: 1)).awaited(.ben).isEmpty)
    #expect(bench.send(.ben, wait(request: 2)).awaited(.ben).map(\.end) == [.tooMany])
    #expect(bench.counters.barriersRefused == 2)
    // An ended barrier makes room.
    bench.wait(2_000)
    #expect(bench.send(.ben, wait(request: 3)).awaited(.ben).isEmpty)
  }

  @Test("the hub asks only sessions that named the capability; other sessions' alive reports their version")
  func oldPeer() {
    var bench = bench()
    bench.live(.cat)
    let asked = bench.send(.ann, wait())
    #expect(asked.asks(.publish).isEmpty)
    #expect(asked.asks(.connection(Speaker.ann.connection)).count == 1)
    #expect(asked.asks(.connection(Speaker.ben.connection)).count == 1)
    #expect(asked.asks(.connection(Speaker.cat.connection)).isEmpty)
    bench.send(.ann, .has(1))
    bench.send(.ben, .has(1))
    let alive = PeerMessage.alive(
      Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 0, applied: 1)]))
    #expect(bench.send(.cat, alive).awaited(.ann).map(\.of) == [3])
    // The earlier report is remembered.
    bench.send(.ann, wait(request: 10))
    bench.send(.ann, .has(1))
    #expect(bench.send(.ben, .has(1)).awaited(.ann).map(\.applied) == [3])
  }

  @Test("a session that did not name the capability may not use barriers")
  func notNamed() {
    for message in [wait(), .has(1)] {
      var bench = bench()
      bench.live(.cat)
      let errors = bench.send(.cat, message).errors(.cat)
      #expect(errors.map(\.code) == [.unknownKind])
      #expect(errors.first?.text.contains("which the hello did not name") == true)
    }
  }

  @Test("a routed session is asked on its request connection")
  func routed() {
    var bench = HubBench()
    bench.send(.ann, .hello(Hello(identity: Speaker.ann.identity, capabilities: [Capability.applied])))
    bench.send(.ann, .join([Join(request: 1, model: "lamp")]))
    bench.wait(1_000)
    let asked = bench.send(.ann, wait(0))
    #expect(asked.asks(.connection(Speaker.ann.connection)).count == 1 && asked.asks(.publish).isEmpty)
  }

  @Test("a barrier ends with `otherEpoch` when the hub finds that its log has lost its end")
  func newEpoch() {
    var bench = bench()
    bench.send(.ann, wait(timeoutMilliseconds: 60_000))
    let received = bench.send(
      .ben,
      .join([Join(request: 2, model: "lamp", epoch: HubBench.epoch, version: 99, namesKnown: 0, unacknowledged: 1)]))
    #expect(received.awaited(.ann).map(\.end) == [.otherEpoch])
  }

  @Test("a replica that healed itself is counted once and reported as a notice")
  func healed() {
    var bench = bench()
    let notice = HubNotice.healed(peer: "ben-\(Speaker.ben.identity.tag.short)", model: "lamp", version: 1)
    #expect(bench.send(.ben, .has(1, healed: 1)).notices == [notice])
    #expect(bench.send(.ben, .has(1, healed: 1)).notices.isEmpty)
    #expect(bench.counters.healedDivergences == 1)
  }
}

extension PeerMessage {
  /// A report that the peer has a version of `lamp`.
  static func has(
    _ version: Version, digest: UInt64 = 0, healed: UInt32 = 0, epoch: Epoch = HubBench.epoch,
    topic: Topic = HubBench.lamp
  ) -> PeerMessage {
    .report([AppliedEntry(topic: topic, epoch: epoch, version: version, digest: digest, healed: healed)])
  }
}

extension HubBench {
  /// Says hello with the capability to be asked, and joins `lamp`.
  mutating func reporting(_ peer: Speaker, model: String = "lamp", topic: Topic = HubBench.lamp) {
    send(
      peer,
      .hello(Hello(identity: peer.identity, leaseMilliseconds: 60_000, capabilities: [Capability.applied])))
    subscribe(peer, Topics.sessionTopic(peer.session), Topics.bytes(Topics.heartbeat))
    join(peer, Join(request: 1, model: model), topic: topic)
  }
}

extension Received {
  func awaited(_ peer: Speaker) -> [Awaited] {
    messages(to: peer).compactMap { if case .awaited(let awaited) = $0 { awaited } else { nil } }
  }

  func asks(_ destination: HubOutput.Destination = .publish) -> [AskApplied] {
    frames.filter { $0.destination == destination }
      .compactMap { if case .ask(let ask) = $0.message { ask } else { nil } }
  }
}
