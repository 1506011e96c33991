import BindingProtocol

/// Why an outbox file cannot be read.
enum OutboxDamage: Error, Equatable {
  case notAnOutbox
  case newerVersion(UInt32)
  /// A record fails its check although whole records follow: it is not a torn end.
  case damaged(at: Int)
}

/// The bytes of an outbox file: a header, then records that are only appended (docs/reference/outbox-format.md).
enum OutboxLog {
  static let magic = Array("bindout\n".utf8)
  /// The newest known format. A file without replicas is written in format 1.
  static let version: UInt32 = 2
  static let headerBytes = 16
  /// The checksum and the length before each record.
  static let frameBytes = 8
  static let maxRecordBytes = 67_108_864

  static var header: [UInt8] { header(version: 1) }

  static func header(version: UInt32) -> [UInt8] {
    var writer = WireWriter()
    writer.raw(magic)
    writer.u32(version)
    writer.u32(writer.withUnsafeBytes { Checksum.crc32c($0) })
    return writer.withUnsafeBytes { Array($0) }
  }

  static func append(_ record: OutboxRecord, to writer: inout WireWriter) {
    let start = writer.count
    writer.u64(0)
    record.write(to: &writer)
    writer.patch32(at: start + 4, UInt32(writer.count - start - frameBytes))
    let checksum = writer.withUnsafeBytes { Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[(start + 4)...])) }
    writer.patch32(at: start, checksum)
  }

  /// What was read of a file.
  struct Reading {
    var content = OutboxContent()
    /// Where its last whole record ends. Bytes beyond it were being written when the writer died.
    var end = 0
    var format: UInt32 = 1
    /// Whole records follow the end: they were not on the disk yet when the power failed.
    var hasMoreBeyond = false
  }

  /// Parses a whole file.
  /// - Returns: its content, and the offset at which its last whole record ends.
  static func parse(_ bytes: UnsafeRawBufferPointer) throws(OutboxDamage) -> (content: OutboxContent, end: Int) {
    let reading = try read(bytes)
    return (reading.content, reading.end)
  }

  /// Parses a whole file.
  /// - Parameter isShared: another process is writing it: the first record that is not whole is the end.
  static func read(
    _ bytes: UnsafeRawBufferPointer, isShared: Bool = false
  ) throws(OutboxDamage) -> Reading {
    var reading = Reading()
    guard bytes.count >= headerBytes else {
      guard (1...version).contains(where: { header(version: $0).starts(with: bytes) }) else { throw .notAnOutbox }
      return reading
    }
    guard bytes.starts(with: magic) else { throw .notAnOutbox }
    let checksum = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[..<12]))
    guard checksum == little32(bytes, at: 12) else { throw .damaged(at: 8) }
    reading.format = little32(bytes, at: 8)
    guard (1...version).contains(reading.format) else { throw .newerVersion(reading.format) }
    reading.end = headerBytes
    while reading.end < bytes.count {
      let offset = reading.end
      guard let length = wholeRecord(bytes, at: offset) else {
        if isShared { return reading }
        reading.hasMoreBeyond = try hasUnsyncedRecords(bytes, beyond: offset, format: reading.format)
        return reading
      }
      guard let record = record(bytes, at: offset, length: length), record.format <= reading.format else {
        throw .damaged(at: offset)
      }
      reading.end += frameBytes + length
      reading.content.apply(record, bytes: frameBytes + length)
    }
    return reading
  }

  /// A torn end is the last thing in a file. If a whole record follows a torn one, the power has failed before both
  /// were synced, or the damage has another cause: that one is on record as synced, or the format has no such records.
  private static func hasUnsyncedRecords(
    _ bytes: UnsafeRawBufferPointer, beyond offset: Int, format: UInt32
  ) throws(OutboxDamage) -> Bool {
    var hasMore = false
    var later = offset + 1
    while later < bytes.count {
      guard let length = wholeRecord(bytes, at: later) else {
        later += 1
        continue
      }
      guard format > 1, let record = record(bytes, at: later, length: length) else { throw .damaged(at: offset) }
      if case .synced(let synced) = record.content, synced > offset { throw .damaged(at: offset) }
      hasMore = true
      later += frameBytes + length
    }
    return hasMore
  }

  private static func record(_ bytes: UnsafeRawBufferPointer, at offset: Int, length: Int) -> OutboxRecord? {
    var reader = WireReader(
      UnsafeRawBufferPointer(rebasing: bytes[offset + frameBytes..<offset + frameBytes + length]), message: "outbox")
    return try? OutboxRecord(from: &reader)
  }

  /// The length of the whole record at an offset; nil if there is none.
  private static func wholeRecord(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int? {
    guard bytes.count - offset > frameBytes else { return nil }
    let length = Int(little32(bytes, at: offset + 4))
    guard length > 0, length <= maxRecordBytes, length <= bytes.count - offset - frameBytes,
      // The checksum covers the length too: a changed length fails the check.
      little32(bytes, at: offset)
        == Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[offset + 4..<offset + frameBytes + length]))
    else { return nil }
    return length
  }

  private static func little32(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}
