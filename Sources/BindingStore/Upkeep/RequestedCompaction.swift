import BindingHub
import GRDB

/// A requested compaction of everything, which also makes the file as small as possible, and the requests left
/// beside the store (`AdminRequest`).
struct RequestedCompaction {
  private enum State {
    case none, wanted, underWay
  }

  private var state = State.none
  /// The file's size before the compaction, and the number of compacted models.
  private var bytesBefore: UInt64 = 0
  var compactedModels = 0
  /// When to report its progress next.
  private var reportsAt = ContinuousClock.now
  /// What was removed from histories since the store was opened, the last ones.
  private(set) var drops: [StoreStatus.Drop] = []
  /// When to look for requests next.
  private var looksAt = ContinuousClock.now

  var isUnderWay: Bool { state == .underWay }

  mutating func requestCompaction() { if !isUnderWay { state = .wanted } }

  /// Looks for a request between two works, ends the compaction under way and begins a wanted one.
  /// - Throws: `replaced`, with the store closed, when it is to be restored from a backup.
  mutating func look(at database: StoreDatabase, _ now: ContinuousClock.Instant) throws(StoreError) {
    let isCompacted = isUnderWay
    if isCompacted { state = .none }
    if isCompacted || now >= looksAt {
      looksAt = now + FileWatch.interval
      try lookForRequest(database, isCompacted: isCompacted)
    }
    if state == .wanted { state = .underWay }
  }

  private mutating func lookForRequest(_ database: StoreDatabase, isCompacted: Bool) throws(StoreError) {
    let path = database.path
    switch AdminRequest.find(at: path) {
    case nil: return
    case .compact where isCompacted:
      try database.cutLog()
      let (before, after) = (bytesBefore, StoreFiles.size(path))
      AdminRequest.end(
        "compacted \(compactedModels) models, freed \(before - min(before, after)) bytes: \(before) → \(after)",
        at: path)
    case .drop(let drop) where isCompacted: try perform(drop, database)
    case .compact, .drop:
      try database.cutLog()
      (bytesBefore, compactedModels) = (StoreFiles.size(path), 0)
      requestCompaction()
    case .restore(let backup):
      try database.close()
      throw StoreError("\(path) is being restored from \(backup)", .replaced)
    }
  }

  /// Removes something from a model's history, all of which is in its table now, and overwrites it there.
  private mutating func perform(_ drop: HistoryDrop, _ database: StoreDatabase) throws(StoreError) {
    let path = database.path
    var commits: Int?
    try setOverwriting(true, database)
    let hasRoom = try database.write { db in try db.transaction { commits = try drop.perform(db, path: path) } }
    try setOverwriting(false, database)
    guard hasRoom else { return AdminRequest.refuse(at: path, "the disk is full; nothing was dropped") }
    guard let commits else {
      return AdminRequest.refuse(at: path, "there is nothing like that: \(drop.words)")
    }
    try database.cutLog()
    drops = drops.suffix(15) + [StoreStatus.Drop(number: (drops.last?.number ?? 0) + 1, words: drop.words)]
    AdminRequest.end("dropped \(drop.words): \(commits) commit\(commits == 1 ? "" : "s")", at: path)
  }

  /// Whether SQLite overwrites what is deleted.
  private func setOverwriting(_ isOn: Bool, _ database: StoreDatabase) throws(StoreError) {
    try database.access { db in _ = try Int.fetchOne(db, sql: "PRAGMA secure_delete = \(isOn ? "ON" : "FAST")") }
  }

  /// Reports once a second how far a requested compaction is.
  mutating func reportProgress(at path: String, _ now: ContinuousClock.Instant) {
    guard isUnderWay, now >= reportsAt else { return }
    reportsAt = now + .seconds(1)
    switch AdminRequest.find(at: path) {
    case nil, .restore: return
    case let request?: request.report("\(compactedModels) models compacted", at: path)
    }
  }
}
