import BindingHub
import BindingProtocol
import CStoreDisk
import Foundation
import Testing

@testable import BindingStore

@Suite("Full disks and failed syncs", .serialized)
struct FullDiskTests {
  init() throws { try #require(storedisk_install() == 0) }

  private static func isFull(_ results: [Appended]) -> [Bool] {
    results.map { if case .full = $0 { true } else { false } }
  }

  @Test("a full disk stores nothing, reports it, and recovers", arguments: [Durability.process, .disk])
  func full(_ grade: Durability) throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    let batches = [bench.batch("lamp"), bench.batch("door")]
    do {
      let store = try bench.open(grade)
      while try store.upkeep() {}
      storedisk_limit(bench.path, 100)
      #expect(Self.isFull(try store.append(batches)) == [true, true])
      #expect(store.status.isFull)
      #expect(try store.loadAll().isEmpty)
      storedisk_limit(bench.path, -1)
      #expect(Self.isFull(try store.append(batches)) == [false, false])
      #expect(!store.status.isFull)
      try store.close()
    }
    #expect(try bench.open(grade).loadAll().map(\.batches) == [[batches[1]], [batches[0]]])
  }

  @Test("compaction waits while the disk is full, and the store stays complete")
  func compactionWaits() throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    let store = try bench.open()
    while try store.upkeep() {}
    for number in 1...50 { try store.appendAll(bench.batch("lamp", "f\(number)")) }
    let before = try store.loadAll().map(\.batches)
    storedisk_limit(bench.path, 0)
    while try store.upkeep() {}
    #expect(store.status.logBytes > 0)
    #expect(try store.loadAll().map(\.batches) == before)
    storedisk_limit(bench.path, -1)
    store.work.pausedUntil = nil
    while try store.upkeep() {}
    #expect(try ModelCompactor(try #require(try store.load("lamp"))).record == 50)
    #expect(store.status.logBytes == 0)
  }

  @Test("a failed sync ends the store and is reported as such")
  func syncFailed() throws {
    let bench = StoreBench()
    let store = try bench.open(.disk)
    storedisk_fail_sync(bench.path)
    let error = #expect(throws: StoreError.self) { try store.append([bench.batch()]) }
    #expect(error?.kind == .syncFailed)
    #expect(error?.description.contains(bench.path) == true)
  }
}
