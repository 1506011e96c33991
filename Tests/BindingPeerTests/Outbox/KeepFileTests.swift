import BindingModel
import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

@Suite("A keep file")
struct KeepFileTests {
  private let folder: OutboxFolder
  private let identity = Identity(secret: Secret(high: 2, low: 3), name: "me")

  init() throws { folder = try OutboxFolder() }

  private func written(_ id: UInt64, _ value: String = "1") -> JournalEntry {
    .written(
      KeptWrite(
        id: WriteID(rawValue: id), model: "lamp",
        proposal: Proposal(operations: [FieldOperation(.set, "level", json(value))]), time: 0, seen: []))
  }

  private func open(_ name: String = "keep", durability: OutboxStorage.Durability = .process) throws -> OutboxFile {
    try OutboxFile.open(folder.path(name), durability: durability, keepsReplicas: true)
  }

  private func data(_ name: String = "keep") throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: folder.path(name))))
  }

  @Test("replicas and writes are found by the next run, in a file private to its owner")
  func survives() throws {
    do {
      let file = try open()
      let run = try file.begin(identity)
      #expect(file.append([written(1)], of: run) == nil)
      #expect(file.keep(KeepBatch(records: [record(5, ["level": "0.3"])]), []) == nil)
      #expect(file.keep(KeepBatch(records: [record(6, base: 5, ["level": "0.4"])]), []) == nil)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: folder.path("keep"))[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let file = try open()
    #expect(file.unfinished.map { $0.writes.map(\.id.rawValue) } == [[1]])
    #expect(file.takeReplicas()[1, "lamp"]?.fields["level"]?.value == json("0.4"))
    #expect(file.takeReplicas().isEmpty)
  }

  @Test("a file of format 1 is upgraded with its writes; a newer one is refused and stays as it was")
  func formats() throws {
    do {
      let file = try OutboxFile.open(folder.path("keep"))
      _ = file.append([written(1)], of: try file.begin(identity))
    }
    #expect(try data()[8] == 1)
    let file = try open()
    #expect(try data()[8] == 2 && file.unfinished.first?.writes.count == 1)
    file.close()
    // A peer that keeps writes alone goes on with the file, and leaves the replicas in it.
    let alone = try OutboxFile.open(folder.path("keep"))
    #expect(alone.unfinished.first?.writes.count == 1)
    alone.close()
    let newer = OutboxLog.header(version: 3)
    _ = FileManager.default.createFile(
      atPath: folder.path("newer"), contents: Data(newer), attributes: [.posixPermissions: 0o600])
    let error = #expect(throws: OutboxError.self) { try open("newer") }
    #expect(error == .newerVersion(path: folder.path("newer"), found: 3, known: 2))
    #expect(error?.description.contains("Use the version that wrote it") == true)
    #expect(try data("newer") == newer)
  }

  @Test("a second writer is refused with the first one's process by number and name; readers are not")
  func shared() throws {
    let file = try open()
    _ = file.keep(KeepBatch(records: [record(5, ["level": "0.3"])]), [])
    let error = #expect(throws: OutboxError.self) { try open() }
    #expect(error == .held(path: folder.path("keep"), byProcess: getpid()))
    #if os(Linux)
      let name = String(decoding: FileManager.default.contents(atPath: "/proc/self/comm") ?? Data(), as: UTF8.self)
      #expect(error?.description.contains("(\(name.trimmingCharacters(in: .whitespacesAndNewlines)))") == true)
    #endif
    let kept = try KeptModels(readingFrom: folder.path("keep"))
    #expect(kept.models == ["lamp"] && kept["lamp"].fields.map(\.value) == [json("0.3")] && kept.logID == 1)
  }

  @Test("a reader stops at the last whole record, and shows pending writes once")
  func reading() throws {
    let file = try open()
    let run = try file.begin(identity)
    _ = file.append([written(1, "0.7"), .numbered(WriteID(rawValue: 1), 1, conditions: [])], of: run)
    _ = file.append([written(2, "0.9")], of: run)
    let mark = SeenNumber(tag: identity.tag, number: 1)
    _ = file.keep(KeepBatch(records: [record(5, time: 77, marks: [mark], ["level": "0.5", "n": "1"])]), [])
    file.close()
    let whole = try data()
    let torn = try folder.copy("keep", to: "torn", bytes: whole.count - 3)
    let early = try KeptModels(readingFrom: torn)
    #expect(early["lamp"].fields.map(\.value) == [json("0.9")] && early["lamp"].version == 0)
    let kept = try KeptModels(readingFrom: folder.path("keep"))["lamp"]
    #expect(kept.version == 5 && kept.completeAt == 77)
    #expect(kept.fields.map(\.value) == [json("0.9"), json("1")] && kept.fields.map(\.isPending) == [true, false])
    for bytes in stride(from: 16, to: whole.count, by: 1) {
      let part = try folder.copy("keep", to: "part", bytes: bytes)
      #expect(throws: Never.self) { try KeptModels(readingFrom: part) }
      unlink(part)
    }
  }

  @Test("the power fails before two records were synced: the file begins before them, and a copy has all")
  func tornByPower() throws {
    do {
      let file = try open()
      _ = file.keep(KeepBatch(records: [record(5, ["level": "0.3"])]), [])
    }
    let end = try data().count
    do {
      let file = try open()
      _ = file.keep(KeepBatch(records: [record(6, base: 5, ["level": "0.4"])]), [])
      _ = file.keep(KeepBatch(records: [record(7, base: 6, ["level": "0.5"])]), [])
    }
    var bytes = try data()
    bytes[end + 10] ^= 1
    try Data(bytes).write(to: URL(fileURLWithPath: folder.path("keep")))
    chmod(folder.path("keep"), 0o600)
    let file = try open()
    #expect(file.takeReplicas()[1, "lamp"]?.version == 5 && file.tornBytes == bytes.count - end)
    #expect(file.tornCopy == folder.path("keep") + ".torn")
    #expect(try data("keep.torn") == bytes)
  }

  @Test("a file is rewritten while others append to it, and nothing is lost")
  func rewrites() throws {
    let file = try open()
    let run = try file.begin(identity)
    var kept = KeptReplicas()
    let text = "\"\(String(repeating: "x", count: 2_000))\""
    for version in 1...200 as ClosedRange<Version> {
      let change = record(version, base: version == 1 ? nil : version - 1, ["level": "\(version)", "text": text])
      kept.apply(change)
      #expect(file.keep(KeepBatch(records: [change]), []) == nil)
    }
    let before = file.size
    let isDone = Protected(false)
    let thread = Thread { [file] in
      for id in 1...500 as ClosedRange<UInt64> { _ = file.append([self.written(id, "\(id)")], of: run) }
      isDone.withLock { $0 = true }
    }
    thread.start()
    while !isDone.withLock({ $0 }) { file.rewriteInBackground(with: kept) }
    file.rewriteInBackground(with: kept)
    #expect(file.size < before / 2)
    _ = file.append([.decided(WriteID(rawValue: 1), .committed)], of: run)
    file.close()
    let again = try open()
    #expect(again.unfinished.first?.writes.map(\.id.rawValue) == Array(2...500))
    #expect(again.takeReplicas() == kept && again.tornBytes == 0)
  }

  @Test("a full disk keeps nothing of a record and loses nothing of the writes before it")
  func fullDisk() throws {
    let room = Protected(10_000)
    let writing: OutboxFile.Writing = { descriptor, bytes in
      let count = room.withLock { room in
        let count = min(room, bytes.count)
        room -= count
        return count
      }
      guard count > 0 else {
        errno = ENOSPC
        return -1
      }
      return write(descriptor, bytes.baseAddress, count)
    }
    let file = try OutboxFile.open(folder.path("keep"), keepsReplicas: true, writing: writing)
    let run = try file.begin(identity)
    #expect(file.append([written(1)], of: run) == nil)
    let large = "\"\(String(repeating: "x", count: 20_000))\""
    let size = file.size
    #expect(file.keep(KeepBatch(records: [record(5, ["text": large])]), [])?.contains("space") == true)
    #expect(file.size == size)
    #expect(try data().count == size)
    room.withLock { $0 = 100_000 }
    #expect(file.append([written(2)], of: run) == nil)
    #expect(file.keep(KeepBatch(records: [record(5, ["text": large])]), []) == nil)
    file.close()
    let again = try open()
    #expect(again.unfinished.first?.writes.count == 2 && again.takeReplicas()[1, "lamp"]?.version == 5)
  }
}
