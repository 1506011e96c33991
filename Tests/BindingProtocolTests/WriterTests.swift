import BindingProtocol
import Testing

@Suite("Writing frames")
struct WriterTests {
  private let lamp = Topics.firstModel

  private func body(_ writer: CommitsWriter) throws -> CommitGroup {
    try writer.finish().withUnsafeBytes { bytes in
      let group = try walked(try CommitCursor(WireReader(bytes)))
      var reader = WireReader(bytes)
      #expect(try CommitGroup(from: &reader) == group)
      try reader.end()
      #expect(bytes.count == writer.byteCount)
      return group
    }
  }

  @Test("the commits writer produces the bytes of the vectors")
  func commitsLikeVectors() throws {
    var writer = CommitsWriter()
    for (file, vector) in GoodVectors.all {
      guard case .toPeer(.commits(let group), let topic, let start) = vector else { continue }
      writer.begin(
        epoch: group.epoch, previous: group.previous, time: group.time, namesKnown: group.names.first)
      for name in group.names.names { _ = writer.introduce(name) }
      for commit in group.commits {
        let origin = writer.origin(group.origins[Int(commit.origin)])
        writer.beginCommit(origin: origin, number: commit.number, hops: commit.hops)
        for change in commit.changes { writer.change(change.field, change.value) }
        writer.endCommit()
      }
      #expect(writer.version == group.version)
      var frame = WireWriter()
      HubHeader(topic: topic, kind: .commits, start: start).write(to: &frame)
      writer.finish(into: &frame)
      #expect(frame.bytes == vector.bytes, "\(file)")
    }
  }

  @Test("a rolled back commit leaves no change, name, origin or version behind")
  func rollback() throws {
    var writer = CommitsWriter()
    writer.begin(epoch: 1, previous: 10, time: 5, namesKnown: 3)
    writer.beginCommit(origin: writer.origin(GoodVectors.kitchen), number: 1, hops: 0)
    #expect(writer.introduce("kept") == 3)
    writer.change(3, FieldValue(json: 1))
    writer.endCommit()
    let before = writer.finish()

    writer.beginCommit(origin: 0, number: 2, hops: 0)
    _ = writer.origin(GoodVectors.driver)
    #expect(writer.introduce("gone") == 4)
    writer.change(4, FieldValue(json: 2))
    writer.delete(0)
    #expect(writer.changeCount == 2)
    writer.rollbackCommit()
    #expect(writer.finish() == before)
    #expect(writer.version == 11)
    #expect(writer.nextID == 4)

    writer.beginCommit(origin: writer.origin(GoodVectors.driver), number: 1, hops: 0)
    #expect(writer.introduce("next") == 4)
    writer.delete(4)
    writer.endCommit()
    let group = try body(writer)
    #expect(group.names == NamesRun(first: 3, names: ["kept", "next"]))
    #expect(group.origins == [GoodVectors.kitchen, GoodVectors.driver])
    #expect(group.commits.map { $0.origin } == [0, 1])
    #expect(group.commits[1].changes == [CommitChange(field: 4, value: nil)])
  }

  @Test("an origin is listed once, however often it is used")
  func origins() throws {
    var writer = CommitsWriter()
    writer.begin(epoch: 1, previous: 0, time: 0, namesKnown: 0)
    for round in 0..<600 {
      let origin = Origin(tag: Tag(rawValue: UInt64(round % 300)), name: "p\(round % 300)")
      #expect(writer.origin(origin) == UInt16(round % 300))
    }
    writer.beginCommit(origin: 0, number: 1, hops: 0)
    writer.endCommit()
    #expect(try body(writer).origins.count == 300)
  }

  @Test("an origin is listed once for each user as whom it wrote")
  func users() throws {
    var writer = CommitsWriter()
    writer.begin(epoch: 1, previous: 0, time: 0, namesKnown: 0)
    let anna = Origin(tag: GoodVectors.kitchen.tag, name: "kitchen", user: "anna")
    let ben = Origin(tag: GoodVectors.kitchen.tag, name: "kitchen", user: "ben")
    for (number, origin) in [anna, anna, ben, GoodVectors.kitchen, anna].enumerated() {
      writer.beginCommit(origin: writer.origin(origin), number: UInt32(number + 1), hops: 0)
      writer.endCommit()
    }
    let group = try body(writer)
    #expect(group.origins == [anna, ben, GoodVectors.kitchen])
    #expect(group.commits.map(\.origin) == [0, 0, 1, 2, 0])
  }

  @Test("a name of 255 bytes without a user loses its end, and is not taken for a form with one")
  func longName() throws {
    var writer = CommitsWriter()
    writer.begin(epoch: 1, previous: 0, time: 0, namesKnown: 0)
    let origin = Origin(tag: GoodVectors.kitchen.tag, name: String(repeating: "k", count: 255))
    writer.beginCommit(origin: writer.origin(origin), number: 1, hops: 0)
    writer.endCommit()
    #expect(try body(writer).origins.map(\.name) == [String(repeating: "k", count: 254)])
  }

  @Test("begin discards the previous group")
  func beginAgain() throws {
    var writer = CommitsWriter()
    for previous in [7, 9] as [Version] {
      writer.begin(epoch: previous, previous: previous, time: 0, namesKnown: 2)
      writer.beginCommit(origin: writer.origin(GoodVectors.kitchen), number: 1, hops: 0)
      _ = writer.introduce("name")
      writer.endCommit()
      let group = try body(writer)
      #expect(group.epoch == previous && group.version == previous + 1)
      #expect(group.names.first == 2 && group.origins.count == 1)
    }
  }

  @Test("a commit holds 65,535 changes and refuses the next; a group holds 65,535 commits")
  func fullCommit() throws {
    var writer = CommitsWriter()
    writer.begin(epoch: 1, previous: 0, time: 0, namesKnown: 0)
    let origin = writer.origin(GoodVectors.kitchen)
    writer.beginCommit(origin: origin, number: 1, hops: 0)
    var accepted = 0
    for field in 0..<65_535 as Range<UInt32> where writer.delete(field) { accepted += 1 }
    #expect(accepted == 65_535)
    let acceptsValue = writer.change(70_000, FieldValue(json: 1))
    let acceptsDeletion = writer.delete(70_000)
    #expect(!acceptsValue && !acceptsDeletion)
    writer.endCommit()
    #expect(try body(writer).commits[0].changes.count == 65_535)
    for number in 2...65_535 as ClosedRange<UInt32> {
      #expect(!writer.isFull)
      writer.beginCommit(origin: origin, number: number, hops: 0)
      writer.endCommit()
    }
    #expect(writer.isFull)
    #expect(try body(writer).commits.count == 65_535)
  }

  @Test("adjacent commits merge into one outcome, and outcomes keep their order")
  func outcomeRuns() throws {
    var writer = OutcomesWriter()
    #expect(writer.isEmpty)
    writer.committed(lamp, 5, version: 13)
    writer.committed(lamp, 6, version: 14)
    writer.committed(lamp, 7, version: 16)
    writer.committed(lamp + 1, 8, version: 17)
    writer.append(WireOutcome(topic: lamp, number: 8, .unchanged))
    writer.committed(lamp, 9, version: 17)
    #expect(!writer.isEmpty)
    let size = writer.byteCount
    var frame = WireWriter()
    writer.finish(session: 3, epoch: 4, start: 5, into: &frame)
    #expect(frame.count == size + HubHeader.byteCount)
    let (header, message) = try HubMessage.decode(frame.bytes)
    #expect(header == HubHeader(topic: 0, kind: .outcomes, start: 5))
    let expected = Outcomes(
      session: 3, epoch: 4,
      outcomes: [
        WireOutcome(topic: lamp, number: 5, .committed(count: 2, version: 13)),
        WireOutcome(topic: lamp, number: 7, .committed(count: 1, version: 16)),
        WireOutcome(topic: lamp + 1, number: 8, .committed(count: 1, version: 17)),
        WireOutcome(topic: lamp, number: 8, .unchanged),
        WireOutcome(topic: lamp, number: 9, .committed(count: 1, version: 17)),
      ])
    #expect(message == .outcomes(expected))
    #expect(writer.isEmpty)
  }

  @Test("a run of commits longer than a count holds becomes two outcomes")
  func longRun() throws {
    var writer = OutcomesWriter()
    for number in 1...70_000 as ClosedRange<UInt32> { writer.committed(lamp, number, version: UInt64(number)) }
    var frame = WireWriter()
    writer.finish(session: 3, epoch: 4, start: 5, into: &frame)
    guard case .outcomes(let outcomes) = try HubMessage.decode(frame.bytes).message else { return }
    #expect(outcomes.outcomes.map { $0.number } == [1, 65_536])
    #expect(
      outcomes.outcomes.map { $0.rest }
        == [.committed(count: 65_535, version: 1), .committed(count: 4_465, version: 65_536)])
  }

  @Test("a text too long for its length field is cut between two characters")
  func longTexts() throws {
    let text = String(repeating: "é", count: 40_000)
    var writer = WireWriter()
    writer.text8(text)
    writer.text16("x" + text)
    try writer.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      #expect(try reader.text8("") == String(repeating: "é", count: 127))
      #expect(try reader.text16("") == "x" + String(repeating: "é", count: 32_767))
      try reader.end()
    }
  }

  @Test("numbers are little-endian at any offset, topics big-endian, and patches stay within the written bytes")
  func numbers() {
    var writer = WireWriter(reserving: 0)
    writer.u8(1)
    writer.u16(0x0203)
    writer.u32(0x0405_0607)
    writer.u64(0x0809_0A0B_0C0D_0E0F)
    writer.topic(0x0100_0002)
    #expect(writer.bytes == [1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8, 1, 0, 0, 2])
    writer.patch16(at: 1, 0xAABB)
    writer.patch32(at: 3, 0)
    writer.patch64(at: 7, 1)
    #expect(writer.bytes == [1, 0xBB, 0xAA, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2])
    let before = writer.bytes
    writer.patch16(at: 18, 7)
    writer.patch32(at: -1, 7)
    writer.patch64(at: 100, 7)
    #expect(writer.bytes == before)
    writer.truncate(to: 2)
    #expect(writer.bytes == [1, 0xBB])
    writer.removeAll()
    #expect(writer.count == 0)
  }

  @Test("a writer's copy is independent, and a writer grows as needed")
  func growth() {
    var writer = WireWriter(reserving: 1)
    for number in 0..<10_000 as Range<UInt32> { writer.u32(number) }
    var copy = writer
    copy.patch32(at: 0, 99)
    writer.withUnsafeBytes { bytes in
      #expect(bytes.count == 40_000)
      #expect(
        (0..<10_000).allSatisfy {
          bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) == UInt32($0).littleEndian
        })
    }
    #expect(copy.bytes[0] == 99)
  }

  @Test("a welcome without limits means the defaults, and unknown limits are ignored")
  func limits() throws {
    func read(_ entries: [(UInt8, UInt64)]) throws -> Limits {
      var writer = WireWriter()
      writer.u8(UInt8(entries.count))
      for (code, limit) in entries {
        writer.u8(code)
        writer.u64(limit)
      }
      return try writer.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        let limits = try Limits(from: &reader)
        try reader.end()
        return limits
      }
    }
    // A description was a value like all others in hubs that do not limit it.
    var limits = Limits()
    limits.maxDescriptionBytes = limits.maxValueBytes
    #expect(try read([]) == limits)
    #expect(try read([(99, 5), (0, 6)]) == limits)
    #expect(try read([(1, 9), (17, 8)]).maxDescriptionBytes == 8)
    limits.maxHops = 3
    limits.maxModels = Int.max
    #expect(try read([(13, 3), (7, UInt64.max)]) == limits)
    let defaults: [UInt64] = [
      65_536, 262_144, 1_000, 100_000, 200, 64, 100_000, 1_000, 256, 262_144, 8_192, 1_048_576, 8, 1_000, 4_194_304, 0,
      196_608, 40,
    ]
    #expect(Limits().list.map { $0.limit } == defaults)
    #expect(Limits().maxModelIdBytes == Names.maxModelBytes)
    #expect(Limits().maxFieldNameBytes == Names.maxFieldBytes)
  }

  @Test("a proposal is a plain set if it has only sets and no condition")
  func plainSets() {
    let set = FieldOperation(.set, "a", FieldValue(json: 1))
    #expect(Proposal(operations: [set, set]).isPlainSet)
    #expect(!Proposal(operations: [set, FieldOperation(.add, "b", FieldValue(json: 1))]).isPlainSet)
    let condition = Condition(field: "a", epoch: 1, version: 0)
    #expect(!Proposal(operations: [set], conditions: [condition]).isPlainSet)
  }

  @Test("the session can be read even from a frame that does not decode")
  func sessionOfBadFrame() {
    let frame = PeerMessage.ping(Ping(token: 5)).encode(session: 0x1122, start: 9)
    #expect(frame.dropLast().withUnsafeBytes { PeerHeader.session(ofFrame: $0) } == 0x1122)
    #expect(frame.prefix(8).withUnsafeBytes { PeerHeader.session(ofFrame: $0) } == 0)
  }
}
