import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// What a store knows of itself: which log it is, the life it is in, and how that life ended. One row.
struct StoreMetadata: Hashable {
  var logID: LogID
  var epoch: Epoch
  /// How durable its commits are in this life.
  var grade: Durability
  /// Which start of the machine it was opened in; empty: not known.
  var boot: String
  /// Whether it was closed in order, so that nothing that was acknowledged can be missing.
  var isClean = false
  /// Whether this file was made as a copy of a store that went on: who opens it, goes back in time.
  var isCopy = false
  /// How many models have a snapshot. A lost row of theirs would show nowhere else.
  var snapshots = 0

  /// What was in the log when this was written, and its time then; nil: a store of format 1 does not tell.
  var extent: LogExtent?

  /// The life of a store that was just made: nothing can be missing.
  init(logID: LogID, epoch: Epoch, grade: Durability, boot: String) {
    (self.logID, self.epoch, self.grade, self.boot) = (logID, epoch, grade, boot)
    isClean = true
  }

  /// The life that begins when it is opened: the epoch stays if nothing that was acknowledged can be missing.
  /// - Parameters:
  ///   - isLogWhole: whether nothing shows that the end of the log is missing or damaged.
  ///   - remembered: what the file beside the store remembers, if it is of this log.
  func next(
    grade: Durability, boot: String, isLogWhole: Bool, remembered: RememberedLog? = nil, chance: UInt32
  ) -> (metadata: StoreMetadata, tail: Tail) {
    var metadata = self
    let remembered = remembered.flatMap { $0.logID == logID ? $0 : nil }
    let last = max(epoch, remembered?.epoch ?? 0)
    (metadata.grade, metadata.boot, metadata.isClean, metadata.isCopy) = (grade, boot, false, false)
    let isSameBoot = !boot.isEmpty && boot == self.boot
    let isEndKept = isClean || isLogWhole && (self.grade == .disk || self.grade == .process && isSameBoot)
    // Who has an earlier epoch than was begun here was put back by hand.
    let isProven = isEndKept && remembered?.isTailLost != true && last == epoch
    if isProven, !isCopy { return (metadata, .proven) }
    metadata.epoch = StoreMetadata.epoch(after: last, chance: chance)
    return (metadata, isCopy ? .restored : .unproven)
  }

  /// Counted up in the upper half, so that a later epoch is a greater number; the lower half is chance, so that two
  /// lives never share one.
  static func epoch(after before: Epoch, chance: UInt32) -> Epoch {
    ((before >> 32) + 1) << 32 | UInt64(max(chance, 1))
  }
}

extension StoreMetadata {
  static func read(_ db: Database, path: String) throws -> StoreMetadata {
    var columns = "log, epoch, grade, boot, clean, copy, snapshots, checksum"
    if try hasExtent(db) { columns += ", first, last, sum, time" }
    guard let row = try Row.fetchOne(db, sql: "SELECT \(columns) FROM life WHERE id = 1") else {
      throw StoreError.damaged(path, "the row of table life is missing")
    }
    guard let metadata = StoreMetadata(row), metadata.checksum == UInt32.fromDatabaseValue(row[7]) else {
      throw StoreError.damaged(path, "the row of table life does not check")
    }
    return metadata
  }

  /// A store that is only read may be one of format 1.
  private static func hasExtent(_ db: Database) throws -> Bool {
    try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 >= StoreSchema.versionWithExtent
  }

  private init?(_ row: Row) {
    guard let logID = Int64.fromDatabaseValue(row[0]), let epoch = Int64.fromDatabaseValue(row[1]),
      let grade = UInt8.fromDatabaseValue(row[2]).flatMap(Durability.init),
      let boot = String.fromDatabaseValue(row[3]), let isClean = Bool.fromDatabaseValue(row[4]),
      let isCopy = Bool.fromDatabaseValue(row[5]), let snapshots = Int.fromDatabaseValue(row[6])
    else { return nil }
    self.logID = UInt64(bitPattern: logID)
    self.epoch = UInt64(bitPattern: epoch)
    (self.grade, self.boot, self.isClean) = (grade, boot, isClean)
    (self.isCopy, self.snapshots) = (isCopy, snapshots)
    guard row.count > 8, let first = Int64.fromDatabaseValue(row[8]), let last = Int64.fromDatabaseValue(row[9]),
      let sum = UInt32.fromDatabaseValue(row[10]), let time = Int64.fromDatabaseValue(row[11])
    else { return }
    extent = LogExtent(first: first, last: last, checksum: sum, time: UInt64(bitPattern: time))
  }

  func write(_ db: Database) throws {
    var columns = "id, log, epoch, grade, boot, clean, copy, snapshots, checksum"
    var values =
      [
        1, Int64(bitPattern: logID), Int64(bitPattern: epoch), grade.rawValue, boot, isClean, isCopy, snapshots,
        checksum,
      ] as StatementArguments
    if let extent {
      columns += ", first, last, sum, time"
      values += [extent.first, extent.last, extent.checksum, Int64(bitPattern: extent.time)]
    }
    let placeholders = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
    // One statement, so that it is whole without a transaction of its own.
    try db.execute(sql: "INSERT OR REPLACE INTO life (\(columns)) VALUES (\(placeholders))", arguments: values)
  }

  private var checksum: UInt32 {
    var writer = WireWriter()
    for number in [logID, epoch, UInt64(snapshots)] { writer.u64(number) }
    writer.u8(grade.rawValue)
    writer.text8(boot)
    writer.flag(isClean)
    writer.flag(isCopy)
    if let extent {
      for number in [UInt64(bitPattern: extent.first), UInt64(bitPattern: extent.last), extent.time] {
        writer.u64(number)
      }
      writer.u32(extent.checksum)
    }
    return writer.withUnsafeBytes { Checksum.crc32c($0) }
  }
}
