import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import Foundation
import GRDB

/// Measures the durable store: appends by batch size, the longest wait under load, and the time to load a hub's
/// models.
struct StoreBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Measure the durable store: appends, waits under load, loading.")

  @Option(help: "Changes appended for each size of batch.")
  var changes = 200_000
  @Option(help: "Seconds of load for the longest wait.")
  var seconds = 10.0
  @Option(help: "Fields to load.")
  var fields = 1_000_000
  @Option(help: "Where to put the stores; their disk is what is measured.")
  var folder = FileManager.default.temporaryDirectory.path

  func run() throws {
    let directory = folder + "/store-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    for durability in [Durability.process, .disk] {
      for size in [1, 16, 256, 4_096] { try appends(durability, of: size, in: directory) }
    }
    for durability in [Durability.process, .disk] {
      for size in [1, 64] { try load(durability, of: size, in: directory) }
    }
    for models in [1, 100] { try loading(models: models, in: directory) }
  }

  private func appends(_ durability: Durability, of size: Int, in directory: String) throws {
    let count = max(min(changes, size * (durability == .disk ? 2_000 : 20_000)) / size, 1)
    let store = try SQLiteStore(path: "\(directory)/a-\(durability)-\(size)", durability: durability)
    let writer = Changes(models: 1, fields: 1_000)
    let batches = (0..<count).map { _ in writer.batch(of: size, epoch: store.epoch) }
    let took = try span { for batch in batches { _ = try store.append([batch]) } }
    let plain = try plainInserts(durability, of: size, count, in: directory)
    print(
      String(
        format:
          "%@, %4d changes a batch: %9.0f changes/s (%6.0f appends/s, %6.1f µs each); rows one by one %9.0f changes/s",
        "\(durability)", size, Double(count * size) / took, Double(count) / took, took / Double(count) * 1e6,
        Double(count * size) / plain))
    try store.close()
  }

  /// The same changes as plain SQL rows, in one transaction a batch.
  private func plainInserts(_ durability: Durability, of size: Int, _ count: Int, in directory: String) throws -> Double
  {
    var configuration = Configuration()
    configuration.journalMode = .wal
    let db = try DatabaseQueue(path: "\(directory)/p-\(durability)-\(size)", configuration: configuration)
    let value = Data("\"a value of 32 bytes, as it may be\"".utf8)
    return try db.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = \(durability == .disk ? "FULL" : "NORMAL")")
      try db.execute(sql: "CREATE TABLE field (name TEXT PRIMARY KEY, version INTEGER, value BLOB) WITHOUT ROWID")
      let upsert = try db.makeStatement(sql: "INSERT OR REPLACE INTO field VALUES (?, ?, ?)")
      return try span {
        for batch in 0..<count {
          try db.inTransaction {
            for change in 0..<size {
              try upsert.execute(arguments: ["f\((batch * size + change) % 1_000)", batch, value])
            }
            return .commit
          }
        }
      }
    }
  }

  private func load(_ durability: Durability, of size: Int, in directory: String) throws {
    let path = "\(directory)/l-\(durability)-\(size)"
    let store = try SQLiteStore(path: path, durability: durability)
    let writer = Changes(models: 100, fields: 500)
    var (appends, upkeeps): ([Double], [Double]) = ([], [])
    var (greatest, count) = (UInt64(0), 0)
    let began = ContinuousClock.now
    let end = began + .seconds(seconds)
    while ContinuousClock.now < end {
      let batch = writer.batch(of: size, epoch: store.epoch)
      appends.append(try span { _ = try store.append([batch]) } * 1_000)
      upkeeps.append(try span { _ = try store.upkeep() } * 1_000)
      count += size
      if count % 1_000 < size { greatest = max(greatest, store.status.bytes) }
    }
    let took = began.duration(to: .now)
    appends.sort()
    upkeeps.sort()
    let at = { (figures: [Double], part: Double) in figures[min(Int(Double(figures.count) * part), figures.count - 1)] }
    print(
      String(
        format:
          "%@, %2d changes a batch for %.0f s with upkeep: %.0f changes/s; append p50 %.2f p99.9 %.2f max %.2f ms; "
          + "upkeep p50 %.3f p99.9 %.2f max %.2f ms; %.1f MB written, file at most %.1f MB", "\(durability)", size,
        seconds,
        Double(count) / (Double(took.components.seconds) + 1e-18 * Double(took.components.attoseconds)),
        at(appends, 0.5), at(appends, 0.999), appends.last ?? 0, at(upkeeps, 0.5), at(upkeeps, 0.999),
        upkeeps.last ?? 0,
        Double(writer.bytes) / 1e6, Double(greatest) / 1e6))
    try store.close()
  }

  private func loading(models: Int, in directory: String) throws {
    let path = "\(directory)/m-\(models)"
    do {
      let store = try SQLiteStore(path: path, durability: .process)
      let writer = Changes(models: models, fields: fields / models)
      for _ in 0..<(fields / 1_000) { _ = try store.append([writer.batch(of: 1_000, epoch: store.epoch)]) }
      try store.close()
    }
    for state in ["in the log", "in snapshots"] {
      var store: SQLiteStore?
      let open = try span { store = try SQLiteStore(path: path, durability: .process) }
      var compactors: [ModelCompactor] = []
      let read = try span { try store?.load { _ in } }
      let whole = try span {
        try store?.load { stored throws(StoreError) in compactors.append(try ModelCompactor(stored)) }
      }
      print(
        String(
          format:
            "%d fields in %d models, %@: opened in %.2f s, read in %.2f s, read and put together in %.2f s; %.0f MB",
          compactors.reduce(0) { $0 + $1.names.count }, models, state, open, read, whole,
          Double(store?.status.bytes ?? 0) / 1e6))
      compactors = []
      store?.requestCompaction()
      let compaction = try span { while try store?.upkeep() == true {} }
      if state == "in the log" { print(String(format: "  folded in %.2f s", compaction)) }
      try store?.close()
    }
  }
}

private func span(_ body: () throws -> Void) rethrows -> Double {
  let took = try ContinuousClock().measure(body)
  return Double(took.components.seconds) + 1e-18 * Double(took.components.attoseconds)
}

/// Batches as a hub makes them: commits of one change each, by one writer.
private final class Changes {
  private var heads: [(record: UInt64, version: Version, names: Int)]
  private let fields: Int
  private var next = 0
  private(set) var bytes = 0

  init(models: Int, fields: Int) {
    heads = Array(repeating: (0, 0, 0), count: models)
    self.fields = fields
  }

  /// A batch for one model; the models take turns.
  func batch(of size: Int, epoch: Epoch) -> Batch {
    let model = next % heads.count
    next += 1
    let (record, version, names) = heads[model]
    var writer = CommitsWriter()
    writer.begin(epoch: epoch, previous: version, time: 1_700_000_000_000, namesKnown: FieldID(names))
    let origin = writer.origin(Origin(tag: Tag(rawValue: 0xA1), name: "ann"))
    var known = names
    for change in 0..<size {
      let field = Int((version + UInt64(change)) % UInt64(fields))
      if field >= known {
        _ = writer.introduce("field\(field)")
        known += 1
      }
      writer.beginCommit(origin: origin, number: ProposalNumber(version + UInt64(change) + 1), hops: 0)
      _ = writer.change(FieldID(field), FieldValue(bytes: Array("\"a value of 32 bytes: \(field)\"".utf8)))
      writer.endCommit()
    }
    heads[model] = (record + 1, version + Version(size), known)
    let body = writer.finish()
    bytes += body.count
    return Batch(
      model: "models/m\(model)", record: record + 1, epoch: epoch, previous: version, version: version + Version(size),
      body: body, decisions: [])
  }
}
