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

  @Test("a new store begins its first epoch with a proven tail")
  func first() throws {
    let store = try StoreBench().open()
    #expect(store.epoch >> 32 == 1)
    #expect(store.tail == .proven)
  }

  @Test("the epoch stays after a close, for every durability", arguments: [Durability.process, .disk], [false, true])
  func clean(_ grade: Durability, _ reboots: Bool) throws {
    let (before, after, tail) = try reopened(grade, isClosed: true, reboots: reboots, as: grade)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("the epoch stays without a close where every commit was synced", arguments: [false, true])
  func disk(_ reboots: Bool) throws {
    let (before, after, tail) = try reopened(.disk, isClosed: false, reboots: reboots, as: .process)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("the epoch stays without a close until the machine restarts")
  func sameBoot() throws {
    let (before, after, tail) = try reopened(.process, isClosed: false, reboots: false, as: .process)
    #expect(after == before)
    #expect(tail == .proven)
  }

  @Test("the epoch changes without a close after a restart of the machine, for every later durability")
  func otherBoot() throws {
    let (before, after, tail) = try reopened(.process, isClosed: false, reboots: true, as: .disk)
    #expect(after >> 32 == before >> 32 + 1)
    #expect(tail == .unproven)
  }

  @Test("the epoch changes where the system does not identify its boot")
  func unknownBoot() throws {
    let metadata = StoreMetadata(logID: 1, epoch: 1 << 32, grade: .process, boot: "")
    var open = metadata
    open.isClean = false
    let (next, tail) = open.next(grade: .process, boot: "", isLogWhole: true, chance: 7)
    #expect(next.epoch == 2 << 32 | 7)
    #expect(tail == .unproven)
  }

  @Test("a start that follows a loss within a minute looks for the lost end again; a later one does not")
  func recoversAgain() throws {
    let bench = StoreBench()
    func run(uptime: UInt64) throws -> (Epoch, Tail) {
      let store = try bench.open()
      try store.appendAll(bench.batch(epoch: store.epoch))
      bench.uptime += uptime
      _ = try store.upkeep()
      try store.close()
      return (store.epoch >> 32, store.tail)
    }
    #expect(try run(uptime: 0) == (1, .proven))
    try RememberedLog(logID: #require(RememberedLog.read(at: bench.path)).logID, epoch: 1 << 32, isTailLost: true)
      .write(at: bench.path)
    #expect(try run(uptime: 59_999) == (2, .unproven))
    #expect(try run(uptime: 59_999) == (3, .unproven))
    #expect(try run(uptime: 60_000) == (4, .unproven))
    #expect(try run(uptime: 0) == (4, .proven))
  }

  @Test("an epoch that was started is remembered")
  func started() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open()
      try store.start(9 << 32 | 5)
      bench.uptime += 60_000
      _ = try store.upkeep()
      try store.close()
    }
    do {
      let store = try bench.open()
      #expect(store.epoch == 9 << 32 | 5 && store.tail == .proven)
      try store.start(12 << 32 | 7)
      try store.close()
    }
    let store = try bench.open()
    #expect(store.epoch >> 32 == 13 && store.tail == .unproven, "what peers hold was not brought back yet")
  }

  @Test("a write-ahead log missing without a close is a loss, for every durability")
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

  @Test("the epoch stays after a compaction without later writes", arguments: [Durability.process, .disk])
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
