import BindingProtocol
import Testing

@testable import BindingHub

/// A model that is deleted completely, left by all and owed to no peer is removed: its name, room and memory are
/// free.
@Suite struct RemovedModelTests {
  var bench = HubBench()

  /// Ann makes a model, deletes what she wrote, confirms all of it and leaves.
  private mutating func churn(_ model: String, confirming: Bool = true) {
    let received = bench.send(.ann, .join([Join(request: 1, model: model)]))
    guard case .topic(let assigned)? = received.messages(to: .ann).first else {
      Issue.record("\(model) was not joined")
      return
    }
    bench.subscribe(.ann, Topics.bytes(assigned.topic))
    bench.send(
      .ann,
      .propose([
        .of(1, [.set("a", "1")], topic: assigned.topic),
        .of(2, [WireOperation(verb: .clear, field: .id(0), value: nil)], topic: assigned.topic),
      ]))
    if confirming {
      bench.send(
        .ann, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: assigned.topic, confirmed: 2, applied: 2)])))
    }
    bench.send(.ann, .leave(Leave(topics: [assigned.topic])))
    bench.unsubscribe(.ann, Topics.bytes(assigned.topic))
  }

  private func topic(_ model: String) -> Topic { bench.machine.topic(of: model) ?? Topics.none }

  @Test("a hub accepts new models after maxModels were removed, and reuses their slots")
  mutating func churn() {
    bench = HubBench { $0.limits.maxModels = 3 }
    bench.hello(.ann)
    for number in 0..<5_000 {
      churn("c/m\(number)")
      if number % 10 == 9 { bench.wait(1_000) }
      if number % 10 == 9 { bench.send(.ann, .alive(Alive(heartbeat: 1, entries: []))) }
    }
    #expect(bench.counters.removedModels == 5_000)
    #expect(bench.counters.modelsRefused == 0)
    #expect(bench.machine.hub.models.count <= 40)
    #expect(bench.machine.hub.models.namedCount == 0)
    #expect(bench.machine.hub.sessions.identities.values.allSatisfy { $0.models.isEmpty && $0.made == 0 })
  }

  @Test(
    "a model stays when one of its writers was forgotten for want of room: the next start knows it from the store")
  mutating func evicted() {
    bench = HubBench { $0.maxIdentities = 1 }
    bench.hello(.ann)
    churn("lamp", confirming: false)
    bench.send(.ann, .leave(Leave()))
    bench.hello(.ben)
    bench.wait(1_000)
    #expect(bench.counters.forgottenIdentities == 1)
    #expect(bench.counters.removedModels == 0 && bench.machine.topic(of: "lamp") != nil)
  }

  @Test("a removed name starts again beyond its old versions, and is written like any other")
  mutating func again() {
    bench.hello(.ann)
    churn("lamp")
    #expect(bench.machine.topic(of: "lamp") == nil)
    let received =
      bench.send(.ben, .hello(Hello(identity: Speaker.ben.identity)))
      + bench.join(.ben, Join(request: 1, model: "lamp"))
    bench.subscribe(.ben, Topics.sessionTopic(Speaker.ben.session), Topics.bytes(topic("lamp")))
    #expect(received.errors(.ben).isEmpty)
    #expect(topic("lamp") != HubBench.lamp)
    let outcomes = bench.send(.ben, .propose([.of(1, [.set("a", "2")], topic: topic("lamp"))]))
      .outcomes(.ben, topic: topic("lamp"))
    #expect(outcomes == [1: .committed(3)])
  }

  @Test("a peer that returns to a removed and recreated model is behind, which is no lost tail")
  mutating func behind() {
    bench.hello(.ann)
    churn("lamp")
    bench.hello(.ben)
    // Ben had the first epoch of it, with a value.
    let join = Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1, namesKnown: 0)
    let received = bench.send(.ben, .join([join])) + bench.subscribe(.ben, Topics.bytes(topic("lamp")))
    #expect(bench.counters.newEpochs == 0)
    #expect(received.joined(.ben).map(\.follows) == [.snapshot])
    #expect(received.chunks(.ben).map(\.version) == [2])
    #expect(received.chunks(.ben).flatMap(\.entries).isEmpty)
  }

  @Test("a condition on a version of a removed model conflicts, as later changes are unknown")
  mutating func comparison() {
    bench.hello(.ann)
    churn("lamp")
    bench.live(.ben)
    bench.subscribe(.ben, Topics.bytes(topic("lamp")))
    func compare(_ number: ProposalNumber, since version: Version) -> WireOutcome.Rest? {
      bench.send(
        .ben,
        .propose([
          .of(number, [.set("a", "9")], conditions: [.unchanged("a", since: version)], topic: topic("lamp"))
        ])
      ).outcomes(.ben, topic: topic("lamp"))[number]
    }
    #expect(compare(1, since: 1)?.conflict != nil)
    #expect(compare(2, since: 2) == .committed(3))
  }

  @Test("a model stays while a writer has unconfirmed outcomes in it")
  mutating func unconfirmed() {
    bench.hello(.ann)
    churn("lamp", confirming: false)
    #expect(bench.counters.removedModels == 0)
    // Decided proposals are not decided again.
    bench.join(.ann, Join(request: 2, model: "lamp", unacknowledged: 1), topic: topic("lamp"))
    let repeated = bench.write(.ann, 1, .set("a", "1"))
    #expect(repeated == .committed(1))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 2, applied: 2)])))
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    #expect(bench.counters.removedModels == 1)
  }

  @Test("a model stays while a peer has joined it, and while a field has a value")
  mutating func needed() {
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .leave(Leave()))
    bench.send(.ben, .leave(Leave()))
    #expect(bench.counters.removedModels == 0)
    #expect(bench.read().values == ["a": "1"])
    bench.hello(.cat)
    bench.join(.cat, Join(request: 1, model: "lamp"))
    bench.propose(.cat, .of(1, [.delete("a")]))
    #expect(bench.counters.removedModels == 0)
    bench.send(.cat, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 1, applied: 2)])))
    #expect(bench.counters.removedModels == 0)
    // Ann's write is unconfirmed too, until no peer can ask for it.
    bench.send(.cat, .leave(Leave()))
    #expect(bench.counters.removedModels == 0)
  }

  @Test("a forgotten identity keeps no model")
  mutating func forgotten() {
    bench = HubBench { $0.identityMilliseconds = 3_600_000 }
    bench.hello(.ann, lease: 2_000)
    churn("lamp", confirming: false)
    for _ in 0..<3_599 { bench.wait(1_000) }
    #expect(bench.counters.removedModels == 0)
    for _ in 0..<3_700 { bench.wait(1_000) }
    #expect(bench.counters.forgottenIdentities == 1)
    #expect(bench.counters.removedModels == 1)
  }

  @Test("a number used in a removed model is not accepted again: a join reports the last decided one")
  mutating func numbers() {
    bench.hello(.ann)
    churn("lamp")
    bench.join(.ann, Join(request: 2, model: "lamp", unacknowledged: 3), topic: HubBench.lamp + 1)
    #expect(topic("lamp") == HubBench.lamp + 1)
    let outcomes = bench.send(
      .ann,
      .propose([.of(2, [.set("a", "old")], topic: topic("lamp")), .of(3, [.set("a", "3")], topic: topic("lamp"))])
    ).outcomes(.ann, topic: topic("lamp"))
    #expect(outcomes[2] != .committed(3))
    #expect(outcomes[3] == .committed(3))
  }

  @Test("a peer that joins during a removal gets the model recreated after it")
  mutating func joinMeanwhile() throws {
    bench.hello(.ann)
    bench.hello(.ben)
    bench.live(.cat)
    bench.write(.cat, 1, .set("a", "1"))
    bench.propose(.cat, .of(2, [.delete("a")], confirmed: 1))
    bench.send(.cat, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 2, applied: 2)])))
    bench.settling = .later
    bench.send(.cat, .leave(Leave(topics: [HubBench.lamp])))
    #expect(bench.waiting.map(\.form) == [.removal])
    var received = bench.send(.ben, .join([Join(request: 1, model: "lamp")]))
    #expect(received.messages(to: .ben).isEmpty)
    received = try bench.settleWithStore()
    #expect(received.messages(to: .ben).map(\.kind) == [.topic])
    received = bench.subscribe(.ben, Topics.bytes(topic("lamp")))
    #expect(received.joined(.ben).map(\.version) == [2])
  }

  @Test(
    "a removal that the full store rejects is retried, and peers that join meanwhile join the existing model")
  mutating func full() throws {
    bench.live(.ann)
    bench.propose(.ann, .of(1, [.set("a", "1")]))
    bench.propose(.ann, .of(2, [.delete("a")], confirmed: 1))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 2, applied: 2)])))
    bench.settling = .later
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    bench.hello(.ben)
    bench.send(.ben, .join([Join(request: 1, model: "lamp")]))
    bench.settle(.full)
    #expect(topic("lamp") == HubBench.lamp)
    bench.send(.ben, .leave(Leave()))
    bench.settling = .atOnce
    bench.wait(2_000)
    #expect(bench.counters.removedModels == 1)
  }

  @Test("a restarted hub starts above removed models, and removes those that no peer can ask for any more")
  mutating func restart() throws {
    let store = LogStore()
    bench = HubBench(store: store)
    bench.hello(.ann)
    churn("c/gone")
    bench.hello(.ben)
    bench.send(.ann, .leave(Leave()))
    var later = HubBench(store: store, stored: try store.loadAll())
    later.live(.ben, model: "c/gone")
    let outcomes = later.propose(.ben, .of(1, [.set("a", "2")]))
    #expect(outcomes == [1: .committed(3)])
    #expect(later.counters.newEpochs == 0)
  }

  @Test("recovery does not restore a removed model from a peer that still has it")
  mutating func recover() {
    bench = HubBench(tailProven: false)
    bench.wait(1_000)
    bench.hello(.ann)
    churn("lamp")
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", epoch: HubBench.oldEpoch, version: 9)
    let received = bench.send(.ben, .join([join])) + bench.subscribe(.ben, Topics.bytes(topic("lamp")))
    #expect(received.askedOffers(.ben).isEmpty)
    // It asks for models that it lacks without having removed them.
    let other = Join(request: 2, model: "fan", epoch: HubBench.oldEpoch, version: 9)
    #expect(bench.send(.ben, .join([other])).askedOffers(.ben).count == 1)
  }

  @Test("an ephemeral model is removed with its model, and does not keep it")
  mutating func ephemeralModel() {
    bench.hello(.ann)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    bench.send(.ann, .join([Join(request: 2, model: "@ephemeral/lamp")]))
    bench.subscribe(.ann, Topics.bytes(topic("@ephemeral/lamp")))
    bench.propose(.ann, .of(1, [.set("a", "1")]))
    bench.propose(.ann, .of(2, [.delete("a")], confirmed: 1))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 2, applied: 2)])))
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp, HubBench.lamp + 1])))
    #expect(bench.machine.hub.models.namedCount == 0)
    #expect(bench.machine.presence.models.isEmpty)
  }

  @Test("one peer may not make all models of a hub; other peers still can, and so can it after a removal")
  mutating func share() {
    bench = HubBench { $0.limits.maxModels = 2_000 }
    bench.hello(.ann)
    bench.hello(.ben)
    for number in 0..<1_000 { bench.send(.ann, .join([Join(request: UInt32(number), model: "m\(number)")])) }
    let errors = bench.send(.ann, .join([Join(request: 1, model: "more")])).errors(.ann)
    #expect(errors.map(\.code) == [.overLimit])
    #expect(errors.first?.text.hasPrefix("more: this peer has created 1000 models; maxModelsPerPeer is 1000") == true)
    #expect(bench.send(.ben, .join([Join(request: 1, model: "more")])).errors(.ben).isEmpty)
    bench.send(.ann, .leave(Leave(topics: [topic("m0")])))
    #expect(bench.send(.ann, .join([Join(request: 1, model: "again")])).errors(.ann).isEmpty)
  }
}
