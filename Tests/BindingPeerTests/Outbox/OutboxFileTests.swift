import BindingModel
import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

/// A folder that is removed with the test.
final class OutboxFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("bb-out-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String = "outbox") -> String { url.appendingPathComponent(name).path }

  /// Copies the present file without its lock, as a copy or a crash would leave it; truncated to `bytes`, if given.
  func copy(_ name: String = "outbox", to copy: String, bytes: Int? = nil) throws -> String {
    let data = try Data(contentsOf: URL(fileURLWithPath: path(name)))
    let made = FileManager.default.createFile(
      atPath: path(copy), contents: data.prefix(bytes ?? data.count), attributes: [.posixPermissions: 0o600])
    #expect(made)
    return path(copy)
  }
}

@Suite("An outbox file")
struct OutboxFileTests {
  private let folder: OutboxFolder
  private let identity = Identity(secret: Secret(high: 2, low: 3), name: "me")

  init() throws { folder = try OutboxFolder() }

  private func written(_ id: UInt64, _ value: String = "1") -> JournalEntry {
    .written(
      KeptWrite(
        id: WriteID(rawValue: id), model: "lamp",
        proposal: Proposal(operations: [FieldOperation(.set, "level", json(value))]), time: 0, seen: []))
  }

  @Test("the next run finds what one run recorded, with the wall time, in a file private to its owner")
  func survives() throws {
    do {
      let file = try OutboxFile.open(folder.path())
      let run = try file.begin(identity)
      #expect(file.append([written(1), written(2), .decided(WriteID(rawValue: 1), .committed)], of: run) == nil)
    }
    let mode = try FileManager.default.attributesOfItem(atPath: folder.path())[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let file = try OutboxFile.open(folder.path())
    #expect(file.unfinished.count == 1 && file.unfinished[0].identity == identity)
    #expect(file.unfinished[0].writes.map(\.id.rawValue) == [2])
    #expect(file.unfinished[0].writes[0].time > 1_700_000_000_000)
    #expect(try file.begin(identity) == 2)
  }

  @Test("a run that left with nothing unacknowledged is removed from the file with its secret")
  func leaves() throws {
    let file = try OutboxFile.open(folder.path())
    let run = try file.begin(identity)
    _ = file.append([written(1), .decided(WriteID(rawValue: 1), .committed)], of: run)
    file.leave(run)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path())).count == OutboxLog.headerBytes)
  }

  @Test("one process holds the file at a time, and the error names it")
  func held() throws {
    let file = try OutboxFile.open(folder.path())
    #expect(throws: OutboxError.held(path: folder.path(), byProcess: getpid())) { try OutboxFile.open(folder.path()) }
    file.close()
    _ = try OutboxFile.open(folder.path())
  }

  @Test("a torn end is cut off, reported, and overwritten")
  func torn() throws {
    do {
      let file = try OutboxFile.open(folder.path())
      let run = try file.begin(identity)
      _ = file.append([written(1), written(2)], of: run)
    }
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.path())).count
    let copy = try folder.copy(to: "torn", bytes: whole - 5)
    let file = try OutboxFile.open(copy)
    #expect(file.tornBytes > 0 && file.unfinished[0].writes.map(\.id.rawValue) == [1])
    _ = file.append([written(3)], of: try file.begin(identity))
    file.close()
    #expect(try OutboxFile.open(copy).unfinished.map { $0.writes.map(\.id.rawValue) } == [[1], [3]])
  }

  @Test("an unusable file is an error that names it, and is left as it was")
  func errors() throws {
    func make(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) -> String {
      _ = FileManager.default.createFile(
        atPath: folder.path(name), contents: Data(bytes), attributes: [.posixPermissions: mode])
      return folder.path(name)
    }
    let other = make("other", Array("something else entirely".utf8))
    #expect(throws: OutboxError.notAnOutbox(path: other)) { try OutboxFile.open(other) }
    let newer = make("newer", OutboxLog.header(version: 3))
    #expect(throws: OutboxError.newerVersion(path: newer, found: 3, known: 2)) { try OutboxFile.open(newer) }
    let open = make("open", OutboxLog.header, mode: 0o644)
    #expect(throws: OutboxError.openToOthers(path: open)) { try OutboxFile.open(open) }
    var bytes = OutboxLog.header
    bytes[12] ^= 1
    let damaged = make("damaged", bytes)
    #expect(throws: OutboxError.damaged(path: damaged, atByte: 8)) { try OutboxFile.open(damaged) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: damaged)) == Data(bytes))
    for path in [folder.url.path, folder.path("no/such/folder")] {
      let error = #expect(throws: OutboxError.self) { try OutboxFile.open(path) }
      guard case .unusable(path, _)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(error?.description.contains(path) == true)
    }
  }

  @Test("a full disk at the start is an error; later the entries wait in order until there is room")
  func fullDisk() throws {
    let room = Protected(100)
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
    let file = try OutboxFile.open(folder.path(), writing: writing)
    let run = try file.begin(identity)
    #expect(file.append([written(1), written(2)], of: run)?.contains("space") == true)
    #expect(file.append([written(3)], of: run) != nil)
    let early = try OutboxFile.open(try folder.copy(to: "early"))
    #expect(early.unfinished.isEmpty)
    room.withLock { $0 = 1_000_000 }
    #expect(file.append([], of: run) == nil)
    file.close()
    #expect(try OutboxFile.open(folder.path()).unfinished.first?.writes.map(\.id.rawValue) == [1, 2, 3])
    room.withLock { $0 = 20 }
    #expect(throws: OutboxError.self) {
      try OutboxFile.open(folder.path("second"), writing: writing).begin(identity)
    }
  }

  @Test("a file that is mostly history is compacted without loss")
  func compacts() throws {
    let file = try OutboxFile.open(folder.path())
    let run = try file.begin(identity)
    _ = file.append([written(1)], of: run)
    let text = "\"" + String(repeating: "x", count: 1_000) + "\""
    var largest = 0
    for id in 2...1_000 as ClosedRange<UInt64> {
      _ = file.append([written(id, text)], of: run)
      _ = file.append(
        [.numbered(WriteID(rawValue: id), UInt32(id), conditions: []), .decided(WriteID(rawValue: id), .committed)],
        of: run)
      largest = max(largest, file.size)
    }
    #expect(largest < OutboxFile.leastHistoryBytes + 2_000)
    _ = file.append([written(1_001)], of: run)
    file.close()
    let again = try OutboxFile.open(folder.path())
    #expect(again.unfinished.first?.writes.map(\.id.rawValue) == [1, 1_001])
    #expect(again.unfinished.first?.lastNumbers == ["lamp": 1_000])
  }

  @Test("with durability disk an entry is synced, too")
  func durable() throws {
    let file = try OutboxFile.open(folder.path(), durability: .disk)
    let run = try file.begin(identity)
    #expect(file.append([written(1)], of: run) == nil)
    file.close()
    #expect(try OutboxFile.open(folder.path()).unfinished.count == 1)
  }
}
