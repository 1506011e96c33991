import BindingHub
import BindingProtocol
import CStoreDisk
import Foundation
import Testing

@testable import BindingStore

/// Tests the promises for a power cut. `kill -9` cannot: the system still writes what it was given.
///
/// `BINDBUS_CRASH_IMAGES` sets how many images are tried for each durability.
@Suite("Crash images", .serialized)
struct CrashImageTests {
  private static let count = ProcessInfo.processInfo.environment["BINDBUS_CRASH_IMAGES"].flatMap { Int($0) } ?? 200

  /// The result of all images.
  private struct Outcome {
    var images = 0
    /// Images that lacked acknowledged batches, and the most that one lacked.
    var withLoss = 0
    var greatestLoss = 0
    /// Images that lacked some although the store claimed to be complete.
    var unnoticed = 0
    /// Images that lacked none although the store reported a possible loss.
    var doubted = 0
    /// Images that lacked batches acknowledged longer ago than the bound.
    var withOldLoss = 0
    var refused: [String] = []
    var wrong: [String] = []
  }

  @Test("durability disk: no image lacks an acknowledged batch, and no image is refused")
  func disk() throws {
    let outcome = try Self.replay(.disk, images: Self.count)
    print("crash images, disk: \(outcome)")
    #expect(outcome.images >= Self.count)
    #expect(outcome.withLoss == 0)
    #expect(outcome.doubted == 0)
    #expect(outcome.refused.isEmpty)
    #expect(outcome.wrong.isEmpty)
  }

  @Test("durability process: some images lack batches, each such store knows it, and no value is wrong")
  func process() throws {
    let outcome = try Self.replay(.process, images: Self.count)
    print("crash images, process: \(outcome)")
    #expect(outcome.withLoss > 0)
    #expect(outcome.unnoticed == 0)
    #expect(outcome.refused.isEmpty)
    #expect(outcome.wrong.isEmpty)
  }

  @Test("durability process: no image lacks batches older than the bound, and without the bound some do")
  func bound() throws {
    let bounded = try Self.replay(.process, .slow(syncSeconds: 5), images: Self.count)
    print("crash images, process with a bound: \(bounded)")
    #expect(bounded.withLoss > 0)
    #expect(bounded.withOldLoss == 0)
    #expect(bounded.unnoticed == 0)
    #expect(try Self.replay(.process, .slow(syncSeconds: 1_000), images: Self.count).withOldLoss > 0)
  }

  private static func replay(
    _ grade: Durability, _ load: RecordedRun.Load = .busy, images count: Int
  ) throws -> Outcome {
    try #require(storedisk_install() == 0)
    var outcome = Outcome()
    var seed: UInt64 = 1
    while outcome.images < count {
      let run = try RecordedRun(grade, load, seed: seed)
      try run.replay(min(count - outcome.images, 500), seed: seed) { image in
        outcome.images += 1
        switch image {
        case .kept(let lost, let lostOld, let tail):
          outcome.withOldLoss += lostOld > 0 ? 1 : 0
          outcome.withLoss += lost > 0 ? 1 : 0
          outcome.greatestLoss = max(outcome.greatestLoss, lost)
          outcome.unnoticed += lost > 0 && tail == .proven ? 1 : 0
          outcome.doubted += lost == 0 && tail != .proven ? 1 : 0
        case .refused(let problem): outcome.refused.append(problem)
        case .wrong(let problem): outcome.wrong.append(problem)
        }
      }
      seed += 1
    }
    return outcome
  }
}

/// A store under load, with upkeep, whose writes were recorded.
private final class RecordedRun {
  enum Image {
    case kept(lost: Int, lostOld: Int, Tail)
    case refused(String)
    case wrong(String)
  }
  enum Load {
    /// Constant compaction and checkpoints, and a requested compaction in between.
    case busy
    /// Ten appends a second without checkpoints.
    case slow(syncSeconds: Int)
  }
  /// Appends in the five seconds before a moment.
  private static let recentAppends = 50
  private let bench: StoreBench
  private let grade: Durability
  private var disk: DiskImages
  /// All batches by model; and how many of each were acknowledged at each mark.
  private var sent: [String: [Batch]] = [:]
  private var acknowledged: [[String: Int]] = [[:]]
  private var expected: [String: [[UInt8]]] = [:]

  init(_ grade: Durability, _ load: Load, seed: UInt64) throws {
    let bench = StoreBench()
    (self.bench, self.grade) = (bench, grade)
    switch load {
    case .busy: (bench.limits.compactionBytes, bench.limits.checkpointBytes) = (4_096, 65_536)
    case .slow(let seconds): (bench.limits.syncSeconds, bench.limits.checkpointBytes) = (seconds, 1 << 40)
    }
    var chance = SplitMix(state: seed)
    do {
      let store = try bench.open(grade)
      try store.appendAll(bench.batch("begin"))
      try store.close()
    }
    sent["begin"] = [StoreBench().batch("begin")]
    acknowledged[0]["begin"] = 1
    let database = try [UInt8](Data(contentsOf: URL(fileURLWithPath: bench.path)))
    storedisk_record(bench.path)
    do {
      let store = try bench.open(grade)
      var appended = acknowledged[0]
      var present: Set<Int> = []
      for number in 1...150 {
        bench.uptime += 100
        let batches = (0...Int(chance.next() % 3)).map { model in
          let size = Int(chance.next() % 2_000)
          // An existing model is removed now and then.
          if present.contains(model), chance.next() % 12 == 0 {
            present.remove(model)
            return bench.removal("m\(model)")
          }
          present.insert(model)
          let fields = bench.present("m\(model)")
          switch chance.next() % 5 {
          // Names of deleted fields are released.
          case 0 where bench.deletedNames(of: "m\(model)") > 0: return bench.renumbering("m\(model)")
          case 1 where !fields.isEmpty: return bench.batch("m\(model)", fields[fields.count / 2], to: nil)
          default: return bench.batch("m\(model)", "f\(number)", to: "\"\(String(repeating: "v", count: size))\"")
          }
        }
        for batch in batches { sent[batch.model, default: []].append(batch) }
        for batch in batches { appended[batch.model, default: 0] += 1 }
        for result in try store.append(batches) {
          guard case .stored = result else { throw StoreError("not stored: \(result)") }
        }
        acknowledged.append(appended)
        storedisk_mark(Int64(acknowledged.count - 1))
        _ = try store.upkeep()
        switch load {
        case .busy where number == 75:
          try Self.compact(store)
          // No writes for a while, so that more moments fall here.
          for _ in 0..<200 { storedisk_mark(Int64(acknowledged.count - 1)) }
        case .busy: break
        case .slow: store.database.checkpoints.settle()
        }
      }
      // While the store is open: SQLite removes its log when the last connection closes, but a power cut does not.
      disk = withExtendedLifetime(store) { DiskImages(database: database, log: []) }
    }
  }

  /// Requests a compaction as `bindhub compact` does.
  private static func compact(_ store: SQLiteStore) throws {
    try AdminRequest.compact.leave(at: store.path)
    let limit = ContinuousClock.now + .seconds(20)
    while AdminRequest.result(at: store.path).isOpen {
      try #require(ContinuousClock.now < limit)
      _ = try store.upkeep()
    }
  }

  /// Makes images of random moments, each opened as a store.
  func replay(_ count: Int, seed: UInt64, _ each: (Image) -> Void) throws {
    var chance = SplitMix(state: seed &* 7_919)
    let moments = (0..<count).map { _ in Int(chance.next() % UInt64(disk.moments + 1)) }.sorted()
    let folder = "\(FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : bench.folder)/image-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for moment in moments {
      disk.advance(to: moment)
      let path = folder + "/store"
      for end in ["", "-wal", "-shm", ".log-id"] { unlink(path + end) }
      for (end, bytes) in zip(["", "-wal"], disk.image(using: &chance)) where !(end == "-wal" && bytes.isEmpty) {
        try Data(bytes).write(to: URL(fileURLWithPath: path + end))
      }
      each(open(path, moment))
    }
  }

  private func open(_ path: String, _ moment: Int) -> Image {
    do {
      let store = try SQLiteStore(path: path, durability: grade, boot: "second") { 0 }
      let models = try store.loadAll()
      let promised = acknowledged[Int(disk.mark)]
      let old = acknowledged[max(0, Int(disk.mark) - Self.recentAppends)]
      var (lost, lostOld) = (0, 0)
      for (model, count) in promised where !models.contains(where: { $0.model == model }) {
        lost += missing(model, count)
        lostOld += missing(model, old[model] ?? 0)
      }
      for model in models {
        let compactor = try ModelCompactor(model)
        let count = (sent[model.model] ?? []).prefix { $0.record <= compactor.record }.count
        lost += max(0, (promised[model.model] ?? 0) - count)
        lostOld += max(0, (old[model.model] ?? 0) - count)
        if try Self.chunks(compactor) != whole(model.model, count) {
          return .wrong("moment \(moment): \(model.model) at record \(compactor.record)")
        }
      }
      return .kept(lost: lost, lostOld: lostOld, store.tail)
    } catch {
      return .refused("moment \(moment) of \(disk.moments): \(error)")
    }
  }

  /// How many of the first `count` acknowledged batches are missing of an absent model: none if it may have been
  /// removed since, else those after its last removal.
  private func missing(_ model: String, _ count: Int) -> Int {
    let list = sent[model] ?? []
    guard !list[max(count - 1, 0)...].contains(where: { $0.form == .removal }) else { return 0 }
    return count - (list.prefix(count).lastIndex { $0.form == .removal }.map { $0 + 1 } ?? 0)
  }

  /// A model's content after `count` batches, the last of which is no removal.
  private func whole(_ model: String, _ count: Int) throws -> [[UInt8]] {
    if let known = expected["\(model) \(count)"] { return known }
    var compactor = ModelCompactor(model)
    let batches = (sent[model] ?? []).prefix(count)
    for batch in batches[(batches.lastIndex { $0.form == .removal }.map { $0 + 1 } ?? 0)...] {
      try compactor.apply(batch)
    }
    let chunks = Self.chunks(compactor)
    expected["\(model) \(count)"] = chunks
    return chunks
  }

  private static func chunks(_ compactor: ModelCompactor) -> [[UInt8]] {
    var compactor = compactor
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    return chunks
  }
}
