import BindingProtocol
import Testing

@testable import BindingHub

/// Released names of deleted fields: the remaining fields get new numbers, which every peer learns again.
@Suite struct RenumberedModelTests {
  private static func bench(_ store: any Store = LogStore(), stored: [StoredModel] = []) -> HubBench {
    HubBench(store: store, stored: stored) { $0.limits.maxModelFields = 40 }
  }
  var bench = RenumberedModelTests.bench()

  private func topic(_ model: String = "lamp") -> Topic { bench.machine.topic(of: model) ?? Topics.none }

  /// Writes and deletes N fields with new names.
  private mutating func wear(_ count: Int, from number: ProposalNumber = 2) -> Received {
    var received = Received(HubOutput())
    for index in 0..<ProposalNumber(count) {
      let name = "n\(number + 2 * index)"
      received =
        received
        + bench.send(
          .ann,
          .propose([
            .of(number + 2 * index, [.set(name, "1")], topic: topic()),
            .of(number + 2 * index + 1, [.delete(name)], topic: topic()),
          ]))
    }
    return received
  }

  /// Ann has set `kept`, and has deleted enough other fields for a renumbering.
  private mutating func renumber() -> Received {
    bench.live(.ann)
    bench.write(.ann, 1, .set("kept", "1"))
    return wear(29)
  }

  private mutating func comeBack(_ peer: Speaker, unacknowledged: ProposalNumber = 1) -> Received {
    bench.hello(peer)
      + bench.join(peer, Join(request: 9, model: "lamp", unacknowledged: unacknowledged), topic: topic())
  }

  @Test("a model accepts new names however many it has had, and its versions go on")
  mutating func worn() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("kept", "1"))
    var number: ProposalNumber = 2
    for _ in 0..<20 {
      _ = wear(10, from: number)
      number += 20
      if bench.machine.hasOpenSession(Speaker.ann.session) { continue }
      // Unanswered proposals are resent.
      _ = comeBack(.ann, unacknowledged: number)
    }
    #expect(bench.counters.refusals[.modelFull] ?? 0 == 0)
    #expect(bench.counters.renumberedModels > 3)
    #expect(bench.read(topic: topic()).values == ["kept": "1"])
    #expect(bench.machine.hub.models[0].fields.count < 40)
  }

  @Test("a hub that has lost its tail forgets no deletion while a peer may restore the field")
  mutating func notEarly() {
    bench = HubBench(tailProven: false) {
      $0.limits.maxModelFields = 40
      $0.earlyMilliseconds = 2_000
      $0.recoveryQuietMilliseconds = 0
    }
    _ = renumber()
    #expect(bench.counters.renumberedModels == 0)
    bench.wait(2_100)
    #expect(bench.counters.renumberedModels == 1)
  }

  @Test("peers of a renumbered model say hello again and learn numbers from 0 under a new topic")
  mutating func sessions() {
    bench.live(.ben)
    let received = renumber()
    #expect(bench.counters.renumberedModels == 1)
    #expect(received.errors(.ann).map(\.code).first == .unknownSession)
    #expect(received.errors(.ben).map(\.code) == [.unknownSession] && received.errors(.ben).first?.isFatal == true)
    #expect(topic() != HubBench.lamp)
    // A frame that was in flight has no effect any more.
    #expect(bench.send(.ben, .propose([.of(1, [.set("late", "1")])])).errors(.ben).map(\.code) == [.unknownSession])
    let back = comeBack(.ben)
    #expect(back.joined(.ben).map(\.follows) == [.snapshot])
    #expect(back.chunks(.ben).flatMap(\.names.names) == ["kept"])
    #expect(back.chunks(.ben).flatMap(\.entries).map(\.field) == [0])
    let outcomes = bench.send(
      .ben,
      .propose([
        .of(1, [WireOperation(verb: .set, field: .id(0), value: FieldValue(bytes: Array("2".utf8)))], topic: topic())
      ])
    ).outcomes(.ben, topic: topic())
    #expect(outcomes == [1: .committed(bench.machine.head(of: "lamp")?.version ?? 0)])
    #expect(bench.read(topic: topic()).values == ["kept": "2"])
  }

  @Test("a number decided before a renumbering is not decided again after it")
  mutating func lastDecidedNumbers() {
    _ = renumber()
    let back = comeBack(.ann, unacknowledged: 1)
    #expect(
      back.joined(.ann).map(\.lastDecided) == [
        bench.machine.hub.models[0].writers.lastStored(of: Speaker.ann.identity.tag)
      ])
    let outcomes = bench.send(.ann, .propose([.of(1, [.set("kept", "9")], topic: topic())])).outcomes(
      .ann, topic: topic())
    #expect(outcomes == [1: .committed(1)])
    #expect(bench.read(topic: topic()).values == ["kept": "1"])
  }

  @Test("a condition on an earlier version of a forgotten field conflicts")
  mutating func comparison() {
    _ = renumber()
    _ = comeBack(.ben)
    func compare(_ number: ProposalNumber, since version: Version) -> WireOutcome.Rest? {
      bench.send(
        .ben,
        .propose([.of(number, [.set("n2", "9")], conditions: [.unchanged("n2", since: version)], topic: topic())])
      ).outcomes(.ben, topic: topic())[number]
    }
    #expect(compare(1, since: 2)?.conflict != nil)
    let head = bench.machine.head(of: "lamp")?.version ?? 0
    #expect(compare(2, since: head) == .committed(head + 1))
  }

  @Test("a described field that was deleted stays known: its default is not written again")
  mutating func described() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("@description", #"{"fields":{"level":{}}}"#), .set("level", "1"))
    bench.write(.ann, 2, .delete("level"))
    _ = wear(30, from: 3)
    #expect(bench.counters.renumberedModels == 1)
    _ = comeBack(.ben)
    let outcomes = bench.send(
      .ben,
      .propose([
        .of(
          1, [WireOperation(verb: .setIfAbsent, field: .name("level"), value: FieldValue(bytes: Array("5".utf8)))],
          topic: topic())
      ])
    ).outcomes(.ben, topic: topic())
    #expect(outcomes == [1: .unchanged])
  }

  @Test("after a restart the numbers are those of the record, also when it was compacted")
  mutating func restart() throws {
    let store = LogStore()
    bench = Self.bench(store)
    _ = renumber()
    _ = comeBack(.ben)
    bench.send(.ben, .propose([.of(1, [.set("new", "2")], topic: topic())]))
    let all = try store.loadAll()
    var compactor = try ModelCompactor(try #require(all.first))
    #expect(compactor.names == ["kept", "new"])
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    for stored in [all, [StoredModel(model: "lamp", chunks: chunks, batches: [])]] {
      var later = Self.bench(store, stored: stored)
      #expect(later.read().values == ["kept": "1", "new": "2"])
      #expect(later.machine.hub.models[0].position.deltasFrom == bench.machine.hub.models[0].position.deltasFrom)
      #expect(later.machine.head(of: "lamp")?.digest == bench.machine.head(of: "lamp")?.digest)
    }
  }

  @Test("a renumbering that the full store rejects changes nothing and is retried")
  mutating func full() throws {
    bench.live(.ann)
    bench.write(.ann, 1, .set("kept", "1"))
    _ = wear(28)
    bench.settling = .later
    bench.send(.ann, .propose([.of(58, [.set("x", "1")]), .of(59, [.delete("x")])]))
    try bench.settleWithStore()
    #expect(
      bench.waiting.map(\.record) == [bench.machine.hub.models[0].position.record + 1]
        && bench.waiting[0].form != .ordinary)
    bench.settle(.full)
    #expect(topic() == HubBench.lamp && bench.machine.hasOpenSession(Speaker.ann.session))
    bench.settling = .atOnce
    bench.wait(5_000)
    #expect(bench.counters.renumberedModels == 1)
    #expect(bench.read(topic: topic()).values == ["kept": "1"])
  }

  @Test("a proposal that arrives while a renumbering is stored is not applied by the old numbers")
  mutating func meanwhile() throws {
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("first", "1"))
    bench.write(.ann, 2, .set("kept", "1"))
    _ = wear(27, from: 3)
    bench.settling = .later
    bench.send(.ann, .propose([.of(57, [.set("x", "1")]), .of(58, [.delete("x")]), .of(59, [.delete("first")])]))
    try bench.settleWithStore()
    try #require(bench.waiting.map(\.form) == [.renumbering(kept: [1])])
    // Field 0 was `first`, and will be `kept`.
    bench.send(
      .ben, .propose([.of(1, [WireOperation(verb: .set, field: .id(0), value: FieldValue(bytes: Array("9".utf8)))])]))
    try bench.settleWithStore()
    bench.settling = .atOnce
    #expect(bench.read(topic: topic()).values == ["kept": "1"])
  }

  @Test("a model reloaded after an unknown append has the store's numbers")
  mutating func unknown() throws {
    bench.live(.ann)
    bench.write(.ann, 1, .set("first", "1"))
    bench.write(.ann, 2, .set("kept", "1"))
    _ = wear(27, from: 3)
    bench.settling = .later
    bench.send(.ann, .propose([.of(57, [.set("x", "1")]), .of(58, [.delete("x")]), .of(59, [.delete("first")])]))
    try bench.settleWithStore()
    let batches = bench.waiting
    try #require(batches.map(\.form) == [.renumbering(kept: [1])])
    _ = try bench.store.append(batches)
    bench.settle(.unknown)
    bench.settling = .atOnce
    bench.reload(try #require(try (bench.store as? LogStore)?.loadAll().first))
    #expect(bench.counters.renumberedModels == 1)
    #expect(topic() != HubBench.lamp)
    #expect(bench.read(topic: topic()).values == ["kept": "1"])
  }

  @Test("a renumbering batch survives encoding, and one whose numbers do not rise is an error")
  func bytes() throws {
    let batch = Batch.renumbering(of: "lamp", record: 7, epoch: 5, version: 9, kept: [0, 3, 8])
    #expect(try Self.read(Self.bytes(batch)) == batch)
    let falling = Self.bytes(.renumbering(of: "lamp", record: 7, epoch: 5, version: 9, kept: [3, 3]))
    let error = #expect(throws: WireError.self) { try Self.read(falling) }
    #expect(error?.description.contains("does not rise") == true)
    var compactor = ModelCompactor("lamp")
    #expect(throws: StoreError.self) {
      try compactor.apply(.renumbering(of: "lamp", record: 1, epoch: 5, version: 0, kept: [4]))
    }
  }

  @Test("the refusal of a full model counts the names of deleted fields and names the remedy")
  mutating func text() {
    bench.live(.ann)
    let names = (0..<38).map { WireOperation.set("f\($0)", "1") }
    bench.write(.ann, 1, .set("a", "1"), .set("b", "1"))
    bench.propose(.ann, .of(2, names))
    bench.write(.ann, 3, .delete("a"))
    guard case .refused(let refusal)? = bench.write(.ann, 4, .set("c", "1")) else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.text.contains("39 fields and the names of 1 deleted ones"), "\(refusal.text)")
  }

  private static func bytes(_ batch: Batch) -> [UInt8] {
    var writer = WireWriter()
    batch.write(to: &writer)
    return writer.bytes
  }

  private static func read(_ bytes: [UInt8]) throws -> Batch {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(WireError) in
        var reader = WireReader(bytes, message: "batch")
        return try Batch(from: &reader)
      }
    }.get()
  }
}
