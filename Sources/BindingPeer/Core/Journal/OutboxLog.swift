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
  static let version: UInt32 = 1
  static let headerBytes = 16
  /// The checksum and the length before each record.
  static let frameBytes = 8
  static let maxRecordBytes = 67_108_864

  static var header: [UInt8] { header(version: version) }

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

  /// Parses a whole file.
  /// - Returns: its content, and the offset at which its last whole record ends. Bytes beyond it were being written
  ///   when the writer died.
  static func parse(_ bytes: UnsafeRawBufferPointer) throws(OutboxDamage) -> (content: OutboxContent, end: Int) {
    var content = OutboxContent()
    guard bytes.count >= headerBytes else {
      guard header.starts(with: bytes) else { throw .notAnOutbox }
      return (content, 0)
    }
    guard bytes.starts(with: magic) else { throw .notAnOutbox }
    let checksum = Checksum.crc32c(UnsafeRawBufferPointer(rebasing: bytes[..<12]))
    guard checksum == little32(bytes, at: 12) else { throw .damaged(at: 8) }
    let found = little32(bytes, at: 8)
    guard found == version else { throw .newerVersion(found) }
    var offset = headerBytes
    while offset < bytes.count {
      guard let length = wholeRecord(bytes, at: offset) else {
        // A torn end is the last thing in a file. If a whole record follows, the damage has another cause.
        for later in offset + 1..<bytes.count where wholeRecord(bytes, at: later) != nil { throw .damaged(at: offset) }
        return (content, offset)
      }
      var reader = WireReader(
        UnsafeRawBufferPointer(rebasing: bytes[offset + frameBytes..<offset + frameBytes + length]), message: "outbox")
      guard let record = try? OutboxRecord(from: &reader) else { throw .damaged(at: offset) }
      offset += frameBytes + length
      content.apply(record, bytes: frameBytes + length)
    }
    return (content, offset)
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
