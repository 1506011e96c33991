import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

@Suite("Refusals of a store, which name the file and the next step")
struct BadInputTests {
  /// Opens the store and returns its refusal.
  private func refusal(_ bench: StoreBench, _ durability: Durability = .process) -> StoreError? {
    do throws(StoreError) {
      let store = try bench.open(durability)
      _ = try store.loadAll()
      return nil
    } catch {
      return error
    }
  }

  private func filled(_ count: Int = 20) throws -> StoreBench {
    let bench = StoreBench()
    let store = try bench.open()
    for number in 1...count { try store.appendAll(bench.batch("lamp", "f\(number)", to: "\"\(number) \(UUID())\"")) }
    try store.close()
    return bench
  }

  private func sql(_ bench: StoreBench, _ text: String) throws {
    let db = try OpenedStore.connect(bench.path)
    try db.writeWithoutTransaction { try $0.execute(sql: text) }
    try db.close()
  }

  @Test("a store that another hub has open is refused")
  func inUse() throws {
    let bench = StoreBench()
    let store = try bench.open()
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .inUse)
    #expect(refusal.description.contains(bench.path))
    #expect(refusal.description.contains("process \(getpid())"))
    try store.close()
  }

  @Test("a store of a later version is refused")
  func newer() throws {
    let bench = try filled()
    try sql(bench, "PRAGMA user_version = 99")
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .newer)
    #expect(refusal.description.contains(bench.path))
    #expect(refusal.description.contains("99"))
  }

  @Test("another program's database is refused")
  func foreign() throws {
    let bench = try filled()
    try sql(bench, "PRAGMA application_id = 7")
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .cannotOpen)
    #expect(refusal.description.contains("another program"))
  }

  @Test("a file that is no database, or empty, is refused", arguments: ["", "hello, this is a text\n"])
  func noDatabase(_ text: String) throws {
    let bench = StoreBench()
    try FileManager.default.createDirectory(atPath: bench.folder, withIntermediateDirectories: true)
    try text.write(toFile: bench.path, atomically: false, encoding: .utf8)
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .damaged)
    #expect(refusal.description.contains(bench.path))
    #expect(try String(contentsOfFile: bench.path, encoding: .utf8) == text)
  }

  @Test("a file truncated at any byte is refused", arguments: [20, 100, 4_096, 5_000, 8_192, 20_480, 40_000])
  func truncated(_ length: Int) throws {
    let bench = try filled()
    let whole = Int(StoreFiles.size(bench.path))
    #expect(length < whole)
    #expect(truncate(bench.path, length) == 0)
    #expect(try #require(self.refusal(bench)).kind == .damaged)
  }

  @Test("a flipped bit is refused, or changes nothing that is served", arguments: [1, 2, 3] as [UInt64])
  func flipped(_ seed: UInt64) throws {
    let bench = try filled()
    bench.limits.compactionBytes = 0
    do {
      // Half of it in a snapshot, half in the log.
      let store = try bench.open()
      while try store.upkeep() {}
      for number in 21...40 { try store.appendAll(bench.batch("lamp", "f\(number)", to: "\"\(number) \(UUID())\"")) }
      try store.close()
    }
    let whole = try Data(contentsOf: URL(fileURLWithPath: bench.path))
    let before: [StoredModel]
    do { before = try bench.open().loadAll() }
    var chance = SplitMix(state: seed)
    var refused = 0
    for _ in 0..<150 {
      for end in ["-wal", "-shm"] { unlink(bench.path + end) }
      var bytes = whole
      let offset = Int(chance.next() % UInt64(whole.count))
      bytes[offset] ^= 1 << UInt8(chance.next() % 8)
      try bytes.write(to: URL(fileURLWithPath: bench.path))
      do {
        let models = try bench.open().loadAll()
        #expect(models.map(\.chunks) == before.map(\.chunks), "bit of byte \(offset)")
        #expect(models.map(\.batches) == before.map(\.batches), "bit of byte \(offset)")
      } catch {
        refused += 1
        #expect("\(error)".contains(bench.path))
      }
    }
    #expect(refused > 0)
  }

  @Test("a store with a missing log row is refused")
  func rowGone() throws {
    let bench = try filled()
    try sql(bench, "DELETE FROM log WHERE row = 7")
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .damaged)
    #expect(refusal.description.contains("row 7 of table log"))
  }

  @Test("a store with a missing snapshot or chunk is refused", arguments: ["snapshot", "chunk"])
  func snapshotGone(_ table: String) throws {
    let bench = try filled()
    bench.limits.compactionBytes = 0
    do {
      let store = try bench.open()
      while try store.upkeep() {}
      try store.close()
    }
    try sql(bench, "DELETE FROM \(table)")
    #expect(try #require(self.refusal(bench)).kind == .damaged)
  }

  @Test("a directory without permission is refused", .enabled(if: getuid() != 0, "root may write everywhere"))
  func noPermission() throws {
    let bench = StoreBench()
    try FileManager.default.createDirectory(atPath: bench.folder, withIntermediateDirectories: true)
    chmod(bench.folder, 0o500)
    let refusal = try #require(self.refusal(bench))
    #expect(refusal.kind == .cannotOpen)
    #expect(refusal.description.contains(bench.folder))
  }

  @Test("a directory that cannot be made is refused")
  func noDirectory() throws {
    let error = #expect(throws: StoreError.self) {
      try SQLiteStore(path: "/dev/null/there/store", durability: .process)
    }
    #expect(error?.kind == .cannotOpen)
    #expect(error?.description.contains("/dev/null/there") == true)
  }

  @Test("a device, a directory, a named pipe and a file used as a directory are named as what they are")
  func noFiles() throws {
    let bench = StoreBench()
    try FileManager.default.createDirectory(atPath: bench.folder, withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: bench.folder + "/file"))
    #expect(mkfifo(bench.folder + "/pipe", 0o600) == 0)
    let expected = [
      ("/dev/null", "/dev/null is a device"), (bench.folder, "is a directory. Choose a file in it:  --store"),
      (bench.folder + "/pipe", "is a named pipe"), (bench.folder + "/file/x.db", "/file is not a directory"),
    ]
    for (path, words) in expected {
      let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path, durability: .process) }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }
    #expect(
      #expect(throws: StoreError.self) { try SQLiteStore.check(path: bench.folder + "/pipe") }?.kind == .cannotOpen)
  }

  @Test("no message has two full stops, and each disk error names its own remedy")
  func sentences() {
    let errors = [EROFS, ENOSPC, EDQUOT, EACCES, ENOTDIR, EIO].map { StoreFiles.cannotWrite("/tmp/x.db", $0) }
    for error in errors { #expect(!error.description.contains(".."), "\(error)") }
    #expect(errors[0].description.contains("another disk"))
    #expect(errors[1].description.contains("inodes"))
    #expect(errors[3].description.contains("chmod u+rwx /tmp"))
    #expect(shellWord("/a b/it's") == "'/a b/it'\\''s'")
  }

  @Test("leftovers of failed starts and restores are removed by the next start")
  func sweeps() throws {
    let bench = try filled()
    for end in [".new", ".new-wal", ".new-shm", ".new-journal", ".log-id.new"] {
      try Data("left".utf8).write(to: URL(fileURLWithPath: bench.path + end))
    }
    #expect(link(bench.path, bench.path + ".before-17") == 0)
    #expect(refusal(bench) == nil)
    let left = try FileManager.default.contentsOfDirectory(atPath: bench.folder)
    #expect(!left.contains { $0.contains(".new") || $0.contains(".before") }, "\(left)")
  }

  @Test("the directory and the files are private to their user")
  func modes() throws {
    let bench = StoreBench()
    let store = try bench.open()
    let modes = [bench.folder, bench.path, bench.path + "-wal"].map { path in
      var info = stat()
      return stat(path, &info) == 0 ? info.st_mode & 0o777 : 0
    }
    #expect(modes == [0o700, 0o600, 0o600])
    try store.close()
  }
}

/// Reproducible chance.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
