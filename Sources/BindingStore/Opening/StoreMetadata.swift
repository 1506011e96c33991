import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// A store's metadata: its log id, its epoch, and how its last start ended. One row.
struct StoreMetadata: Hashable {
  var logID: LogID
  var epoch: Epoch
  /// How durable its commits are since it was opened.
  var grade: Durability
  /// The start of the machine in which it was opened; empty: unknown.
  var boot: String
  /// Whether it was closed in order, so that no acknowledged commit can be missing.
  var isClean = false
  /// Whether this file is a copy of a store that continued: opening it goes back in time.
  var isCopy = false
  /// The number of models with a snapshot. Nothing else would reveal a lost row of theirs.
  var snapshots = 0

  /// The log's extent and time when this was written; nil: a store of format 1 does not record it.
  var extent: LogExtent?

  /// The metadata of a new store, in which nothing can be missing.
  init(logID: LogID, epoch: Epoch, grade: Durability, boot: String) {
    (self.logID, self.epoch, self.grade, self.boot) = (logID, epoch, grade, boot)
    isClean = true
  }

  /// The metadata of the start that opens the store. The epoch stays if no acknowledged commit can be missing.
  /// - Parameters:
  ///   - isLogWhole: whether nothing shows that the end of the log is missing or damaged.
  ///   - remembered: the contents of the file beside the store; ignored if they are of another log.
  func next(
    grade: Durability, boot: String, isLogWhole: Bool, remembered: RememberedLog? = nil, chance: UInt32
  ) -> (metadata: StoreMetadata, tail: Tail) {
    var metadata = self
    let remembered = remembered.flatMap { $0.logID == logID ? $0 : nil }
    let last = max(epoch, remembered?.epoch ?? 0)
    (metadata.grade, metadata.boot, metadata.isClean, metadata.isCopy) = (grade, boot, false, false)
    let isSameBoot = !boot.isEmpty && boot == self.boot
    let isEndKept = isClean || isLogWhole && (self.grade == .disk || self.grade == .process && isSameBoot)
    // A store with an earlier epoch than the remembered one was restored by hand.
    let isProven = isEndKept && remembered?.isTailLost != true && last == epoch
    if isProven, !isCopy { return (metadata, .proven) }
    metadata.epoch = StoreMetadata.epoch(after: last, chance: chance)
    return (metadata, isCopy ? .restored : .unproven)
  }

  /// The upper half counts up, so that a later epoch is a greater number. The lower half is random, so that two
  /// epochs never share one.
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
      throw StoreError.damaged(path, "the row of table life has a wrong checksum")
    }
    return metadata
  }

  /// A store that is only read may be of format 1.
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
    // One statement is atomic without a transaction.
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
