import BindingHub
import BindingProtocol
import Foundation
import Testing

@testable import BindingStore

@Suite("A store that is damaged or gone")
struct RecoveryTests {
  private let bench = StoreBench()
  private var copy: String { bench.folder + "/copy" }

  /// Makes a store of N records with a backup after the second.
  private func filled(_ count: Int = 5) throws -> (logID: LogID, epoch: Epoch) {
    let store = try bench.open(.disk)
    for number in 1...count {
      try store.appendAll(bench.batch())
      if number == 2 { try SQLiteStore.backup(of: bench.path, to: copy) }
    }
    try store.start(store.epoch + 1 << 32)
    defer { try? store.close() }
    return (store.logID, store.epoch)
  }

  private func damage() throws { try Data("nothing".utf8).write(to: URL(fileURLWithPath: bench.path)) }

  private func expectRecovered(_ before: (logID: LogID, epoch: Epoch), records: UInt64) throws {
    let store = try bench.open(.disk)
    #expect(store.logID == before.logID)
    #expect(store.epoch > before.epoch)
    #expect(store.tail == .unproven)
    #expect(try store.load("lamp").map { try ModelCompactor($0).record } ?? 0 == records)
    try store.close()
  }

  @Test("a missing store is not silently recreated: the error names both remedies", arguments: [true, false])
  func gone(isClosed: Bool) throws {
    _ = try filled()
    for file in StoreFiles.all(of: bench.path) { unlink(file) }
    let error = #expect(throws: StoreError.self) { try bench.open() }
    #expect(error?.kind == .gone)
    #expect(error?.description.contains("bindhub recover --store \(bench.path)") == true)
    #expect(error?.description.contains("rm \(bench.path).log-id") == true)
    #expect(!StoreFiles.exists(bench.path))
    unlink(bench.path + ".log-id")
    #expect(try bench.open().tail == .proven)
  }

  @Test("recovery without a backup gives the same log, empty, in a later epoch", arguments: [true, false])
  func recovered(isDeleted: Bool) throws {
    let before = try filled()
    if isDeleted { for file in StoreFiles.all(of: bench.path) { unlink(file) } } else { try damage() }
    let done = try SQLiteStore.recover(bench.path)
    #expect(done.logID == before.logID)
    #expect((done.aside == nil) == isDeleted)
    if let aside = done.aside { #expect(try String(contentsOfFile: aside, encoding: .utf8) == "nothing") }
    try expectRecovered(before, records: 0)
  }

  @Test("a store recovered from a backup continues from it, and asks peers too", arguments: [true, false])
  func withBackup(isDeleted: Bool) throws {
    let before = try filled()
    if isDeleted { for file in StoreFiles.all(of: bench.path) { unlink(file) } } else { try damage() }
    try SQLiteStore.recover(bench.path, backup: copy)
    try expectRecovered(before, records: 2)
    #expect(try SQLiteStore.check(path: copy).isCopy)
  }

  @Test("a recovery that cannot identify the log requires its id")
  func requiresLog() throws {
    let before = try filled()
    for file in StoreFiles.all(of: bench.path) + [bench.path + ".log-id"] { unlink(file) }
    let error = #expect(throws: StoreError.self) { try SQLiteStore.recover(bench.path) }
    #expect(error?.description.contains("--log ID") == true)
    #expect(throws: StoreError.self) { try SQLiteStore.recover(bench.path, backup: copy, logID: before.logID + 1) }
    try SQLiteStore.recover(bench.path, logID: before.logID)
    try expectRecovered(before, records: 0)
  }

  @Test("an intact store is not recovered")
  func inOrder() throws {
    _ = try filled()
    let error = #expect(throws: StoreError.self) { try SQLiteStore.recover(bench.path) }
    #expect(error?.description.contains("is intact") == true)
    #expect(try SQLiteStore.check(path: bench.path).records == 5)
  }

  @Test("a recovery refuses a backup of another log, and a damaged one")
  func otherBackup() throws {
    _ = try filled()
    let other = StoreBench()
    do {
      let store = try other.open()
      try SQLiteStore.backup(of: other.path, to: other.folder + "/copy")
      try store.close()
    }
    try damage()
    #expect(throws: StoreError.self) { try SQLiteStore.recover(bench.path, backup: other.folder + "/copy") }
    try Data("no backup".utf8).write(to: URL(fileURLWithPath: other.folder + "/none"))
    let error = #expect(throws: StoreError.self) {
      try SQLiteStore.recover(bench.path, backup: other.folder + "/none")
    }
    #expect(error?.description.hasSuffix("Choose another backup.") == true)
    #expect(try String(contentsOfFile: bench.path, encoding: .utf8) == "nothing")
  }

  /// Runs an operation, copies the files after each of its changes, and opens each copy as a crash would leave it.
  private func eachEnd(
    of body: (() -> Void) throws -> Void, _ look: (StoreBench) throws -> Void
  ) throws -> Int {
    var ends: [String] = []
    try body {
      let end = bench.folder + "-end-\(ends.count)"
      try? FileManager.default.copyItem(atPath: bench.folder, toPath: end)
      ends.append(end)
    }
    for end in ends {
      let other = StoreBench(at: end)
      for file in ["/store.lock", "/store-shm"] { unlink(end + file) }
      try look(other)
    }
    return ends.count
  }

  @Test("an interrupted restore leaves the store as it was, or as the backup", arguments: [true, false])
  func restoreEnds(isClosed: Bool) throws {
    do {
      let store = try bench.open(.disk)
      for number in 1...5 {
        try store.appendAll(bench.batch())
        if number == 2 { try SQLiteStore.backup(of: bench.path, to: copy) }
      }
      if isClosed { try store.close() } else { try bench.keepAsItIs() }
    }
    if !isClosed { try bench.putBack() }
    let count = try eachEnd(
      of: { _ = try SQLiteStore.restore(backup: copy, to: bench.path, step: $0) },
      { end in
        let store = try end.open(.disk)
        let records = try #require(try store.load("lamp").map { try ModelCompactor($0).record })
        #expect(records == 5 && store.tail == .proven || records == 2 && store.tail == .restored)
        let left = try FileManager.default.contentsOfDirectory(atPath: end.folder)
        #expect(!left.contains { $0.contains(".new") }, "\(left)")
        for name in left where name.contains(".before-") {
          #expect(FileID("\(end.folder)/\(name)") != FileID(end.path))
          if !name.hasSuffix("-wal") { #expect(try SQLiteStore.check(path: "\(end.folder)/\(name)").records == 5) }
        }
        try store.close()
      })
    #expect(count >= 4)
  }

  @Test("an interrupted recovery can be repeated, and no hub starts another log meanwhile")
  func recoverEnds() throws {
    let before = try filled()
    try damage()
    let count = try eachEnd(
      of: { _ = try SQLiteStore.recover(bench.path, backup: copy, logID: nil, step: $0) },
      { end in
        let error = #expect(throws: StoreError.self) { try end.open(.disk) }
        #expect(error?.description.contains("bindhub recover") == true)
        try SQLiteStore.recover(end.path, backup: copy)
        let store = try end.open(.disk)
        #expect(store.logID == before.logID)
        #expect(store.epoch > before.epoch)
        #expect(store.tail == .unproven)
        try store.close()
      })
    #expect(count >= 3)
  }

  @Test("a store copied back by hand from before its epoch is recognised, and peers are asked")
  func putBackByHand() throws {
    do {
      let store = try bench.open(.disk)
      try store.appendAll(bench.batch())
      try store.close()
    }
    try FileManager.default.copyItem(atPath: bench.path, toPath: copy)
    let before: Epoch
    do {
      let store = try bench.open(.disk)
      try store.start(store.epoch + 1 << 32)
      before = store.epoch
      try store.close()
    }
    #expect(rename(copy, bench.path) == 0)
    let store = try bench.open(.disk)
    #expect(store.tail == .unproven)
    #expect(store.epoch > before)
  }
}
