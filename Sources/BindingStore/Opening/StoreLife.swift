import BindingHub
import BindingWire
import Foundation
import GRDB

/// What a store knows of itself: which log it is, the life it is in, and how that life ended. One row.
struct StoreLife: Hashable {
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

  /// The life of a store that was just made: nothing can be missing.
  init(logID: LogID, epoch: Epoch, grade: Durability, boot: String) {
    (self.logID, self.epoch, self.grade, self.boot) = (logID, epoch, grade, boot)
    isClean = true
  }

  /// The life that begins when it is opened: the epoch stays if nothing that was acknowledged can be missing.
  /// - Parameter isLogWhole: whether nothing shows that the end of the log is missing or damaged.
  func next(grade: Durability, boot: String, isLogWhole: Bool, chance: UInt32) -> (life: StoreLife, tail: Tail) {
    var life = self
    (life.grade, life.boot, life.isClean, life.isCopy) = (grade, boot, false, false)
    let isSameBoot = !boot.isEmpty && boot == self.boot
    let isProven = isClean || isLogWhole && (self.grade == .disk || self.grade == .process && isSameBoot)
    if isProven, !isCopy { return (life, .proven) }
    life.epoch = StoreLife.epoch(after: epoch, chance: chance)
    return (life, isCopy ? .restored : .unproven)
  }

  /// Counted up in the upper half, so that a later epoch is a greater number; the lower half is chance, so that two
  /// lives never share one.
  static func epoch(after before: Epoch, chance: UInt32) -> Epoch {
    ((before >> 32) + 1) << 32 | UInt64(max(chance, 1))
  }
}

extension StoreLife {
  static func read(_ db: Database, path: String) throws -> StoreLife {
    let columns = "log, epoch, grade, boot, clean, copy, snapshots, checksum"
    guard let row = try Row.fetchOne(db, sql: "SELECT \(columns) FROM life WHERE id = 1") else {
      throw StoreError.damaged(path, "the row of table life is missing")
    }
    guard let life = StoreLife(row), life.checksum == UInt32.fromDatabaseValue(row[7]) else {
      throw StoreError.damaged(path, "the row of table life does not check")
    }
    return life
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
  }

  func write(_ db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO life (id, log, epoch, grade, boot, clean, copy, snapshots, checksum) "
        + "VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
      arguments: [
        Int64(bitPattern: logID), Int64(bitPattern: epoch), grade.rawValue, boot, isClean, isCopy, snapshots, checksum,
      ])
  }

  private var checksum: UInt32 {
    var writer = WireWriter()
    for number in [logID, epoch, UInt64(snapshots)] { writer.u64(number) }
    writer.u8(grade.rawValue)
    writer.text8(boot)
    writer.flag(isClean)
    writer.flag(isCopy)
    return writer.withUnsafeBytes { Checksum.crc32c($0) }
  }
}
