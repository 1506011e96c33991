import BindingHub
import BindingProtocol
import Testing

@testable import BindingStore

@Suite("The epoch of a store that is opened again")
struct EpochTests {
  private func reopened(
    _ first: Durability, isClosed: Bool, reboots: Bool, as second: Durability
  ) throws -> (before: Epoch, after: Epoch, tail: Tail) {
    let bench = StoreBench()
    let before: Epoch
    do {
      let store = try bench.open(first)
      before = store.epoch
      try store.appendAll(bench.batch())
      if isClosed { try store.close() } else { try bench.keepAsItIs() }
    }
    if !isClosed { try bench.putBack() }
    if reboots { bench.boot = "second" }
    let store = try bench.open(second)
    return (before, store.epoch, store.tail)
  }

  @Test("a store that is made begins its first epoch, and nothing is missing")
  func first() throws {
    let store = try StoreBench().open()
    #expect(store.epoch >> 32 == 1)
    #expect(store.tail == .proven)
  }

  @Test("after a close it stays, whatever the grade", arguments: [Durability.process, .disk], [false, true])
  func clean(_ grade: Durability, _ reboots: Bool) throws {
    let (before, after, tail) = try reopened(grade, isClosed: true, reboots: reboots, as: grade)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("without a close it stays where every commit was synced", arguments: [false, true])
  func disk(_ reboots: Bool) throws {
    let (before, after, tail) = try reopened(.disk, isClosed: false, reboots: reboots, as: .process)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("without a close it stays where the machine has not been started again")
  func sameBoot() throws {
    let (before, after, tail) = try reopened(.process, isClosed: false, reboots: false, as: .process)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("without a close and after a start of the machine it is another, whatever the grade from now on")
  func otherBoot() throws {
    let (before, after, tail) = try reopened(.process, isClosed: false, reboots: true, as: .disk)
    #expect(after >> 32 == before >> 32 + 1)
    #expect(tail == .unproven)
  }

  @Test("where the system does not tell its start, it is another")
  func unknownBoot() throws {
    let metadata = StoreMetadata(logID: 1, epoch: 1 << 32, grade: .process, boot: "")
    var open = metadata
    open.isClean = false
    let (next, tail) = open.next(grade: .process, boot: "", isLogWhole: true, chance: 7)
    #expect(next.epoch == 2 << 32 | 7)
    #expect(tail == .unproven)
  }

  @Test("an epoch that was started is remembered")
  func started() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open()
      try store.start(9 << 32 | 5)
      try store.close()
    }
    #expect(try bench.open().epoch == 9 << 32 | 5)
  }

  @Test("a write-ahead log that is gone without a close is a loss, whatever the grade")
  func logGone() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open(.disk)
      try store.appendAll(bench.batch())
      try bench.keepAsItIs()
    }
    try bench.putBack(without: "-wal")
    let store = try bench.open(.disk)
    #expect(store.tail == .unproven)
    #expect(try store.loadAll().isEmpty)
  }

  @Test("after a compaction it stays, though nothing was written since", arguments: [Durability.process, .disk])
  func compacted(_ grade: Durability) throws {
    let bench = StoreBench()
    let before: Epoch
    do {
      let store = try bench.open(grade)
      before = store.epoch
      for _ in 0..<50 { try store.appendAll(bench.batch()) }
      let longest = StoreFiles.size(StoreFiles.log(of: bench.path))
      try AdminRequest.compact.leave(at: bench.path)
      let limit = ContinuousClock.now + .seconds(20)
      while case .waiting = AdminRequest.result(at: bench.path) {
        try #require(ContinuousClock.now < limit)
        _ = try store.upkeep()
      }
      #expect(StoreFiles.size(StoreFiles.log(of: bench.path)) < longest)
      try bench.keepAsItIs()
    }
    try bench.putBack()
    let store = try bench.open(grade)
    #expect(store.epoch == before)
    #expect(store.tail == .proven)
    #expect(try store.load("lamp").map { try ModelCompactor($0).record } == 50)
  }
}
