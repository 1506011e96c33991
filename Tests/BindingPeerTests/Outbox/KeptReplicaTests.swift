import BindingProtocol
import Testing

@testable import BindingPeer

/// A change of a replica in a keep file, for tests.
func record(
  _ version: Version, base: Version? = nil, model: String = "lamp", log: LogID = 1, epoch: Epoch = 100,
  time: UInt64 = 0, marks: [SeenNumber] = [], _ fields: [String: String?] = [:]
) -> ReplicaRecord {
  ReplicaRecord(
    log: log, model: model, epoch: epoch, version: version, base: base ?? 0, isWhole: base == nil, isComplete: true,
    time: time, marks: marks, seen: [],
    fields: fields.sorted { $0.key < $1.key }.map { name, value in
      CommittedField(
        name: name, value: value.map(json), version: value == "gone" ? 0 : version, origin: PeerBench.other, number: 3,
        time: 5)
    })
}

@Suite("The replicas of a keep file")
struct KeptReplicaTests {
  private func values(_ replica: KeptReplica?) -> [String: String?] {
    (replica?.fields ?? [:]).mapValues { $0.value?.description }
  }

  @Test("a record survives encoding, with users, deletions and marks")
  func roundTrip() throws {
    var whole = record(9, marks: [SeenNumber(tag: Tag(rawValue: 7), number: 4)], ["level": "0.8", "on": nil])
    whole.seen = [SeenNumber(tag: Tag(rawValue: 8), number: 5)]
    whole.fields[0].origin = Origin(tag: Tag(rawValue: 9), name: "kitchen", user: "anna")
    for content in [
      OutboxRecord.Content.replica(whole), .replica(record(10, base: 9)), .dropped(log: 3, model: "shop/kiosk-3"),
      .synced(offset: 1 << 40),
    ] {
      var writer = WireWriter()
      OutboxRecord(run: 0, content: content).write(to: &writer)
      let read = try writer.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        return try OutboxRecord(from: &reader)
      }
      #expect(read.content == content && read.run == 0)
    }
  }

  @Test("a record with more writers than an index can name keeps the values, and none of a wrong writer")
  func manyWriters() throws {
    var many = record(5)
    many.fields = (0..<70_000).map { number in
      CommittedField(
        name: "f\(number)", value: json("1"), version: 5,
        origin: Origin(tag: Tag(rawValue: UInt64(number + 1)), name: "p"), number: 1, time: 0)
    }
    var writer = WireWriter()
    many.write(to: &writer)
    let read = try writer.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      return try ReplicaRecord(from: &reader)
    }
    #expect(read.fields.count == 70_000 && read.fields[69_999].value == json("1"))
    for (mine, other) in zip(many.fields, read.fields) {
      #expect(other.origin == mine.origin || other.origin == .none)
    }
  }

  @Test("records add up to the last state; a record that does not follow ends the replica until a whole one")
  func addUp() {
    var kept = KeptReplicas()
    kept.apply(record(5, ["level": "0.3", "on": "true"]))
    kept.apply(record(7, base: 5, ["level": "0.8", "on": nil, "n": "1"]))
    #expect(values(kept[1, "lamp"]) == ["level": "0.8", "on": nil, "n": "1"] && kept[1, "lamp"]?.version == 7)
    kept.apply(record(8, base: 7, ["n": "gone"]))
    #expect(values(kept[1, "lamp"]) == ["level": "0.8", "on": nil])
    kept.apply(record(10, base: 9, ["level": "1"]))
    #expect(kept[1, "lamp"] == nil && kept.bytes == 0)
    kept.apply(record(11, base: 10, ["level": "1"]))
    #expect(kept[1, "lamp"] == nil)
    kept.apply(record(12, ["level": "1"]))
    #expect(values(kept[1, "lamp"]) == ["level": "1"] && kept.models == ["lamp"])
    kept.drop("lamp", of: 1)
    #expect(kept.isEmpty && kept.bytes == 0)
  }

  @Test("a compacted file has the same replicas, and the log that was followed last is the last one")
  func compacts() throws {
    var content = OutboxContent()
    for record in [
      record(5, ["level": "0.3", "on": "true"]), record(7, base: 5, ["level": "0.8", "on": nil]),
      record(3, model: "desk", log: 9, ["a": "1"]), record(4, model: "shop/a", ["b": "\"x\""]),
    ] {
      content.apply(OutboxRecord(run: 0, content: .replica(record)), bytes: 1)
    }
    let again = try content.compacted.withUnsafeBytes { try OutboxLog.read($0) }
    #expect(again.content.replicas == content.replicas && again.format == 2)
    #expect(again.content.replicas.lastLog == 1 && again.content.replicas.models == ["lamp", "shop/a"])
  }

  @Test("the replicas of at most four other logs are kept, those followed last")
  func otherLogs() {
    var kept = KeptReplicas()
    for log in 1...7 as ClosedRange<LogID> { kept.apply(record(5, log: log, time: log, ["a": "1"])) }
    kept.forgetOldLogs()
    #expect((1...7).filter { kept[$0, "lamp"] != nil } == [3, 4, 5, 6, 7])
  }

  @Test("past the limit the models that were complete longest ago are dropped, and others' logs before spared models")
  func surplus() {
    var kept = KeptReplicas()
    let text = "\"\(String(repeating: "x", count: 100))\""
    for (model, time) in [("a", 30), ("b", 10), ("c", 20)] as [(String, UInt64)] {
      kept.apply(record(5, model: model, time: time, ["f": text]))
    }
    let each = kept.bytes / 3
    #expect(kept.surplus(over: 3 * each, sparing: []).isEmpty)
    #expect(kept.surplus(over: 3 * each - 1, sparing: []).map(\.model) == ["b"])
    #expect(kept.surplus(over: each, sparing: ["b"]).map(\.model) == ["c", "a"])
  }

  @Test("format 1 has no replicas: such a record in it is damage")
  func formerFormat() {
    var writer = WireWriter()
    writer.raw(OutboxLog.header(version: 1))
    OutboxLog.append(OutboxRecord(run: 0, content: .replica(record(5, ["a": "1"]))), to: &writer)
    #expect(throws: OutboxDamage.damaged(at: 16)) { try writer.withUnsafeBytes { try OutboxLog.read($0) } }
  }

  @Test("a failing record is damage where the file states that it was synced, else the end")
  func tornAndSynced() throws {
    func file(_ contents: [OutboxRecord.Content]) -> [UInt8] {
      var writer = WireWriter()
      writer.raw(OutboxLog.header(version: 2))
      for content in contents { OutboxLog.append(OutboxRecord(run: 0, content: content), to: &writer) }
      return writer.withUnsafeBytes { Array($0) }
    }
    func read(_ bytes: [UInt8], isShared: Bool = false) throws -> OutboxLog.Reading {
      try bytes.withUnsafeBytes { try OutboxLog.read($0, isShared: isShared) }
    }
    let first = OutboxRecord.Content.replica(record(5, ["a": "1"]))
    let second = OutboxRecord.Content.replica(record(6, base: 5))
    let (one, two) = (file([first]).count, file([first, second]).count)
    var unsynced = file([first, second, .synced(offset: UInt64(one)), .replica(record(7, base: 6))])
    unsynced[one + 20] ^= 1
    let reading = try read(unsynced)
    #expect(reading.end == one && reading.hasMoreBeyond && reading.content.replicas[1, "lamp"]?.version == 5)
    var synced = file([first, second, .synced(offset: UInt64(two))])
    synced[one + 20] ^= 1
    #expect(throws: OutboxDamage.damaged(at: one)) { try read(synced) }
    #expect(try read(synced, isShared: true).end == one)
  }
}
