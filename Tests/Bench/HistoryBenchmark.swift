import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import Foundation

/// What history costs a hub: each write in memory, where the last commits are kept for it, and each page that is read.
struct HistoryBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Measure history: what keeping it adds to a write, and what a page takes.")

  @Option(help: "Rounds of all figures, both sides in turn.")
  var rounds = 11
  @Option(help: "Writes in each round and side.")
  var writes = 100_000
  @Option(help: "Pages in each round.")
  var pages = 200
  @Option(help: "Where to put the store.")
  var folder = FileManager.default.temporaryDirectory.path

  /// With the quotes and the number a value has about 32 bytes.
  private static let padding = " is a value of 32 bytes"

  func run() throws {
    print("Processor time, median of \(rounds) rounds, least and greatest in brackets.")
    for size in [1, 16] { try compareWrites(size) }
    try readPages("a store in memory") { MemoryStore(logID: 1, epoch: 1 << 32 | 1) }
    let path = "\(folder)/history-\(UInt64.random(in: 0 ... .max))"
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    try readPages("a durable store") { try SQLiteStore(path: path, durability: .process) }
  }

  private func compareWrites(_ size: Int) throws {
    var pairs: [(kept: Double, plain: Double)] = []
    for round in 0..<rounds {
      let sides: [any Store] = [MemoryStore(logID: 1, epoch: 1 << 32 | 1), RecordCounter()]
      // The first of two may pay for both: they take turns.
      let first = round % 2
      var times = [0.0, 0.0]
      for side in [first, 1 - first] { times[side] = try time(of: sides[side], size) }
      pairs.append((times[0], times[1]))
    }
    figure(
      "a write at the hub, \(size) a message, history kept against not kept", pairs.map { $0.kept / $0.plain }, "×")
    figure("  with it", pairs.map(\.kept), "ns")
    figure("  without it", pairs.map(\.plain), "ns")
  }

  private func time(of store: any Store, _ size: Int) throws -> Double {
    var hub = LocalHub("none")
    // As many as are kept: from then on each write also drops one.
    for _ in 0..<2_000 / size { try hub.propose(size, store, padding: Self.padding) }
    let begin = processorTime()
    for _ in 0..<writes / size { try hub.propose(size, store, padding: Self.padding) }
    return Double(processorTime() - begin) / Double(writes / size * size)
  }

  private func readPages(_ name: String, of make: () throws -> any Store) throws {
    let store = try make()
    var hub = LocalHub("none")
    for _ in 0..<2_000 { try hub.propose(1, store, padding: Self.padding) }
    var (hubs, stores, commits): ([Double], [Double], Int) = ([], [], 0)
    for _ in 0..<rounds {
      var sum = LocalHub.Page(hub: 0, store: 0, commits: 0)
      for _ in 0..<pages {
        let page = try hub.readPage(from: store)
        (sum.hub, sum.store, sum.commits) = (sum.hub + page.hub, sum.store + page.store, page.commits)
      }
      hubs.append(sum.hub / Double(pages) / 1_000)
      stores.append(sum.store / Double(pages) / 1_000)
      commits = sum.commits
    }
    print("a page of \(commits) commits, \(name)")
    figure("  the hub's thread", hubs, "µs")
    figure("  reading the store", stores, "µs")
    try store.close()
  }

  private func figure(_ name: String, _ figures: [Double], _ unit: String) {
    let sorted = figures.sorted()
    let words = String(format: "%.3f %@ (%.3f to %.3f)", sorted[sorted.count / 2], unit, sorted[0], sorted.last ?? 0)
    print(name.padding(toLength: 66, withPad: " ", startingAt: 0), words)
  }
}

/// What a store in memory does without history: it checks and counts records.
private final class RecordCounter: Store {
  let logID: LogID = 1
  private(set) var epoch: Epoch = 1 << 32 | 1
  var durability: Durability { .memory }
  var isImmediate: Bool { true }
  private var records: [String: UInt64] = [:]

  func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    var results: [Appended] = []
    results.reserveCapacity(batches.count)
    for batch in batches {
      guard records[batch.model, default: 0] + 1 == batch.record else { throw StoreError("a record is missing") }
      records[batch.model] = batch.record
      results.append(.stored)
    }
    return results
  }

  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}
  func load(_ model: String) throws(StoreError) -> StoredModel? { nil }
  func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
