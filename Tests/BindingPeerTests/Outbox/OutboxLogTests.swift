import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("The bytes of an outbox file")
struct OutboxLogTests {
  private static let identity = Identity(secret: Secret(high: 1, low: 0xFFFF_FFFF_FFFF_FFFF), name: "kitchen")

  private static func write(_ id: UInt64, _ operations: [FieldOperation]) -> KeptWrite {
    KeptWrite(
      id: WriteID(rawValue: id), model: "shop/kiosk-3",
      proposal: Proposal(
        operations: operations, conditions: [Condition(field: "level", epoch: 3, version: 4)],
        metadata: [MetadataEntry(name: "user", value: "ann")], hops: 2),
      time: 1_700_000_000_000,
      seen: [
        KeptSight(field: "level", epoch: 3, version: 4, digest: 77), KeptSight(field: "on", epoch: 3, version: 0),
      ])
  }

  private static let entries: [OutboxRecord.Content] = [
    .began(identity), .entry(.welcomed(log: 9, epoch: 1 << 40)),
    .entry(.written(write(1, [FieldOperation(.set, "level", json("0.8")), FieldOperation(.delete, "on")]))),
    .entry(.written(write(2, [FieldOperation(.clear, "")]))),
    .entry(.numbered(WriteID(rawValue: 1), 1, conditions: [Condition(field: "on", epoch: 5, version: 6)])),
    .entry(.withdrawn(WriteID(rawValue: 2))), .entry(.decided(WriteID(rawValue: 1), .conflict)),
    .counted(model: "lamp", last: 12), .left,
  ]

  private func log(_ contents: [OutboxRecord.Content], header: [UInt8] = OutboxLog.header) -> [UInt8] {
    var writer = WireWriter()
    writer.raw(header)
    for content in contents { OutboxLog.append(OutboxRecord(run: 1, content: content), to: &writer) }
    return writer.withUnsafeBytes { Array($0) }
  }

  private func parse(_ bytes: [UInt8]) throws -> (content: OutboxContent, end: Int) {
    try bytes.withUnsafeBytes { try OutboxLog.parse($0) }
  }

  @Test("the checksum is the published CRC-32C")
  func checksum() {
    let sum = { (bytes: [UInt8]) in bytes.withUnsafeBytes { Checksum.crc32c($0) } }
    #expect(sum(Array("123456789".utf8)) == 0xE306_9283)
    #expect(sum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
  }

  @Test("the header and the shortest record are the bytes of docs/reference/outbox-format.md")
  func bytes() {
    let hex = log([.left]).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(hex == "62696e646f75740a01000000" + "e706edf4" + "f1dd3689" + "05000000" + "0801000000")
  }

  @Test("every kind of record survives encoding")
  func roundTrip() throws {
    for content in Self.entries {
      var writer = WireWriter()
      OutboxRecord(run: 7, content: content).write(to: &writer)
      let read = try writer.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        return try OutboxRecord(from: &reader)
      }
      #expect(read == OutboxRecord(run: 7, content: content))
    }
  }

  @Test("unacknowledged writes are found with number and last conditions; decided writes are not")
  func unfinished() throws {
    let run = try #require(try parse(log(Array(Self.entries.prefix(6)))).content.unfinished.first)
    #expect(run.identity == Self.identity && run.log == 9 && run.epoch == 1 << 40)
    #expect(run.writes.map(\.id.rawValue) == [1, 2] && run.writes.map(\.number) == [1, nil])
    #expect(run.writes[0].proposal.conditions.map(\.field) == ["on"] && run.writes[1].isWithdrawn)
    #expect(try parse(log(Array(Self.entries.prefix(7)))).content.unfinished.first?.writes.map(\.id.rawValue) == [2])
    #expect(try parse(log(Self.entries)).content.isEmpty)
  }

  @Test("a compacted file has the same content, and keeps last numbers that no write shows")
  func compacted() throws {
    let content = try parse(log(Array(Self.entries.prefix(8)))).content
    let again = try parse(content.compacted).content
    #expect(again.unfinished == content.unfinished)
    #expect(again.unfinished.first?.lastNumbers == ["shop/kiosk-3": 1, "lamp": 12])
  }

  @Test("a file truncated at any byte yields all records before it")
  func truncated() throws {
    let bytes = log(Self.entries)
    var ends = [OutboxLog.headerBytes]
    for count in 1...Self.entries.count { ends.append(log(Array(Self.entries.prefix(count))).count) }
    for count in 0...bytes.count {
      let (content, end) = try parse(Array(bytes.prefix(count)))
      let whole = ends.last { $0 <= count } ?? 0
      #expect(end == whole)
      let records = ends.firstIndex(of: whole) ?? 0
      #expect(content == (try parse(log(Array(Self.entries.prefix(records))))).content)
    }
  }

  @Test("a flipped bit is an error or cuts off the last record; it never changes content")
  func flippedBits() throws {
    let contents = Array(Self.entries.prefix(8))
    let bytes = log(contents)
    let lastRecord = log(Array(contents.dropLast())).count
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      let result = Result { try parse(damaged) }
      if bit / 8 < 8 {
        #expect(throws: OutboxDamage.notAnOutbox) { try result.get() }
      } else if bit / 8 < 16 {
        #expect(throws: OutboxDamage.damaged(at: 8)) { try result.get() }
      } else if bit / 8 < lastRecord {
        #expect(throws: OutboxDamage.self) { try result.get() }
      } else {
        #expect(try result.get().end == lastRecord)
      }
    }
  }

  @Test("a newer version is identified by its number, another file by its first bytes")
  func otherFiles() {
    #expect(throws: OutboxDamage.newerVersion(3)) { try parse(log([.left], header: OutboxLog.header(version: 3))) }
    #expect(throws: OutboxDamage.notAnOutbox) { try parse(Array("#!/bin/sh\necho hello\n".utf8)) }
    #expect(throws: OutboxDamage.notAnOutbox) { try parse(Array("short".utf8)) }
  }

  @Test("a record of unknown kind with a valid checksum is damage")
  func unknownKind() {
    var writer = WireWriter()
    writer.raw(OutboxLog.header)
    writer.u32(0)
    writer.u32(5)
    writer.u8(99)
    writer.u32(1)
    writer.patch32(
      at: 16, writer.withUnsafeBytes { Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[20...])) })
    #expect(throws: OutboxDamage.damaged(at: 16)) { try parse(writer.withUnsafeBytes { Array($0) }) }
  }
}
