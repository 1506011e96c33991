import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// The rows of the log: the batches of one append, one after the other.
enum LogRow {
  /// A row ends once it exceeds this, so that it can be read back in one piece.
  static let maxBytes = 8 << 20

  static func checksum(_ row: Int64, time: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    Checksum.crc32c(bytes, after: Checksum.of(UInt64(bitPattern: row), time))
  }

  static func insert(_ db: Database, _ row: Int64, time: UInt64, _ bytes: UnsafeRawBufferPointer) throws {
    try db.cachedStatement(sql: "INSERT INTO log (row, time, checksum, bytes) VALUES (?, ?, ?, ?)")
      .execute(arguments: [row, Int64(bitPattern: time), checksum(row, time: time, bytes), Data(borrowing: bytes)])
  }

  /// The checked bytes of one row.
  static func read(_ db: Database, _ row: Int64, path: String) throws -> (time: UInt64, bytes: [UInt8]) {
    guard let found = try readIfThere(db, row, path: path) else {
      throw StoreError.damaged(path, "row \(row) of table log is missing")
    }
    return found
  }

  /// The checked bytes of one row; nil: there is none of that number.
  static func readIfThere(
    _ db: Database, _ row: Int64, path: String
  ) throws -> (time: UInt64, bytes: [UInt8])? {
    let statement = try db.cachedStatement(sql: "SELECT row, time, checksum, bytes FROM log WHERE row = ?")
    // The row lives in the cursor's memory.
    let rows = try Row.fetchCursor(statement, arguments: [row])
    defer { withExtendedLifetime(rows) {} }
    guard let found = try rows.next() else { return nil }
    return try checked(found, path)
  }

  /// Passes all rows to `body`, in order and checked. Throws if one between the first and the last is missing.
  static func each(
    _ db: Database, path: String, _ body: (_ row: Int64, _ time: UInt64, _ bytes: [UInt8]) throws -> Void
  ) throws {
    let rows = try Row.fetchCursor(db, sql: "SELECT row, time, checksum, bytes FROM log ORDER BY row")
    var last: Int64?
    while let found = try rows.next() {
      let row: Int64 = found["row"]
      if let last, row != last + 1 { throw StoreError.damaged(path, "row \(last + 1) of table log is missing") }
      last = row
      let (time, bytes) = try checked(found, path)
      try body(row, time, bytes)
    }
  }

  /// Passes each batch of a row to `body`, with its range in the row.
  static func batches(
    of row: Int64, _ bytes: [UInt8], path: String, _ body: (Batch, Range<Int>) throws -> Void
  ) throws {
    try bytes.withUnsafeBytes { bytes in
      var reader = WireReader(bytes, message: "log row")
      while reader.remaining > 0 {
        let start = reader.offset
        let batch: Batch
        do {
          batch = try Batch(from: &reader)
        } catch {
          throw StoreError.damaged(path, "row \(row) of table log cannot be read: \(error)")
        }
        try body(batch, start..<reader.offset)
      }
    }
  }

  private static func checked(_ found: Row, _ path: String) throws -> (time: UInt64, bytes: [UInt8]) {
    let row: Int64 = found[0]
    guard let time = Int64.fromDatabaseValue(found[1]), let sum = UInt32.fromDatabaseValue(found[2]) else {
      throw StoreError.damaged(path, "row \(row) of table log has a wrong checksum")
    }
    let bytes = try found.bytes(at: 3)
    guard bytes.withUnsafeBytes({ checksum(row, time: UInt64(bitPattern: time), $0) }) == sum else {
      throw StoreError.damaged(path, "row \(row) of table log has a wrong checksum")
    }
    return (UInt64(bitPattern: time), bytes)
  }
}

extension Row {
  func bytes(at index: Int) throws -> [UInt8] { try withUnsafeData(atIndex: index) { $0.map { Array($0) } ?? [] } }
}

extension Data {
  /// These bytes without a copy; they must outlive the call that gets them.
  init(borrowing bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else {
      self.init()
      return
    }
    self.init(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
  }
}

extension Checksum {
  /// The checksum of numbers, 8 bytes each, little-endian.
  static func of(_ numbers: UInt64..., after before: UInt32 = 0) -> UInt32 {
    numbers.reduce(before) { sum, number in
      withUnsafeBytes(of: number.littleEndian) { crc32c($0, after: sum) }
    }
  }
}
