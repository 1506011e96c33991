import BindingHub
import BindingProtocol

/// The keys of a log in etcd, and what is in them. All are below one prefix `b`:
///
///     b/log                   format:u8(1) logID:u64 epoch:u64, then state:u8(1) while the log is being restored.
///                             of a log with shards: format:u8(2) logID:u64 epoch:u64 role:u8, then
///                             0 the root: version:u64 list16 of (number:u16 address:text16)
///                                         list16 of (prefix:text8 shard:u16 target:u16, the shard's own if it stays)
///                             1 a shard: number:u16 fence:u64, which rises when something was moved out of it
///     b/m/MODEL 0             a model's head: format:u8(1) flags:u8 record:u64 version:u64    flags: 1 it is removed
///     b/r/MODEL 0 RECORD      a record: format:u8(1) batch    as `Batch.write` writes it
///     b/f/MODEL 0             the fold in force: format:u8(1) record:u64 generation:16 bytes count:u32
///     b/c/MODEL 0 GENERATION N    chunks of a fold, N from 0: format:u8(1) list32 of length:u32 chunk
///     b/proof                 changed to see whether nodes sync
///
/// RECORD and N have 8 and 4 bytes, numbers are big-endian in keys and as the protocol has them in values. A model's id
/// ends with a zero byte, which no id contains, so no model's keys are between those of another.
struct EtcdKeys: Sendable {
  static let format: UInt8 = 1
  let prefix: [UInt8]

  init(_ prefix: String) { self.prefix = Array(prefix.utf8) }

  var log: [UInt8] { prefix + Array("/log".utf8) }
  var proof: [UInt8] { prefix + Array("/proof".utf8) }
  func head(_ model: String) -> [UInt8] { key("/m/", model) }
  func fold(_ model: String) -> [UInt8] { key("/f/", model) }
  func record(_ model: String, _ record: UInt64) -> [UInt8] { key("/r/", model) + EtcdKeys.bigEndian(record) }
  func chunks(_ model: String, _ generation: [UInt8]) -> [UInt8] { key("/c/", model) + generation }
  func chunk(_ model: String, _ generation: [UInt8], _ number: UInt32) -> [UInt8] {
    chunks(model, generation) + EtcdKeys.bigEndian(UInt64(number)).suffix(4)
  }

  /// All keys that begin with these bytes, as the end of their range.
  static func end(of prefix: [UInt8]) -> [UInt8] {
    var end = prefix
    while let last = end.popLast() {
      if last < 0xff { return end + [last + 1] }
    }
    return [0]
  }

  /// All of a model but its head and its fold: first keys and ends.
  func content(of model: String) -> [(key: [UInt8], end: [UInt8])] {
    [records(model), allChunks(model)].map { ($0, EtcdKeys.end(of: $0)) }
  }
  /// What the keys of models begin with, of whatever kind.
  var kinds: [[UInt8]] { ["/m/", "/r/", "/f/", "/c/"].map { prefix + Array($0.utf8) } }
  /// Every record of every model.
  var allRecords: [UInt8] { prefix + Array("/r/".utf8) }
  /// Heads of models whose ids begin with these characters.
  func heads(_ beginning: String) -> [UInt8] { prefix + Array("/m/".utf8) + Array(beginning.utf8) }
  /// Every record of a model.
  func records(_ model: String) -> [UInt8] { key("/r/", model) }
  /// Every chunk of a model.
  func allChunks(_ model: String) -> [UInt8] { key("/c/", model) }

  /// Folds of models whose ids begin with these characters.
  func folds(_ beginning: String) -> [UInt8] { prefix + Array("/f/".utf8) + Array(beginning.utf8) }

  /// The model of a head's or a fold's key.
  func model(ofHead key: [UInt8]) -> String? {
    guard key.last == 0, key.count > prefix.count + 4 else { return nil }
    return String(validating: key[(prefix.count + 3)...].dropLast(), as: UTF8.self)
  }

  private func key(_ kind: String, _ model: String) -> [UInt8] {
    prefix + Array(kind.utf8) + Array(model.utf8) + [0]
  }

  static func bigEndian(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}

/// What is in the keys.
enum EtcdValue {
  /// What is in `b/log`.
  struct Log: Equatable, Sendable {
    var logID: LogID
    var epoch: Epoch
    var role = Role.root(ShardMap())
    /// Whether its models are being written by a restore, so that no hub may serve it.
    var isRestoring = false

    /// What has its models in this engine.
    enum Role: Equatable, Sendable {
      /// The log itself, which has every model that the map does not place elsewhere.
      case root(ShardMap)
      /// A part of the log, whose root is elsewhere.
      case shard(number: UInt16, fence: UInt64)
    }

    /// Where its models are; nil: its root says.
    var map: ShardMap? { if case .root(let map) = role { map } else { nil } }

    /// A shard of this log, as it begins.
    func shard(_ number: UInt16) -> Log { Log(logID: logID, epoch: epoch, role: .shard(number: number, fence: 0)) }
  }
  /// What is in `b/f`.
  struct Fold: Equatable, Sendable {
    var record: UInt64
    var generation: [UInt8]
    var count: UInt32
  }

  /// The format of a log with shards, which builds that do not know them must not open.
  private static let formatWithShards: UInt8 = 2

  static func write(_ log: Log) -> [UInt8] {
    if let map = log.map, map.version == 0 {
      var writer = started()
      writer.u64(log.logID)
      writer.u64(log.epoch)
      if log.isRestoring { writer.u8(1) }
      return writer.bytes
    }
    var writer = WireWriter()
    writer.u8(formatWithShards)
    writer.u64(log.logID)
    writer.u64(log.epoch)
    switch log.role {
    case .root(let map):
      writer.u8(0)
      write(map, to: &writer)
    case .shard(let number, let fence):
      writer.u8(1)
      writer.u16(number)
      writer.u64(fence)
    }
    return writer.bytes
  }

  private static func write(_ map: ShardMap, to writer: inout WireWriter) {
    writer.u64(map.version)
    writer.count16(map.shards.count)
    for shard in map.shards {
      writer.u16(shard.number)
      writer.text16(shard.address)
    }
    writer.count16(map.entries.count)
    for entry in map.entries {
      writer.text8(entry.prefix)
      writer.u16(entry.shard)
      writer.u16(entry.target ?? entry.shard)
    }
  }

  static func readLog(_ bytes: [UInt8]) throws(StoreError) -> Log {
    try read(bytes, "the log's identity", upTo: formatWithShards) { reader throws(WireError) in
      var log = Log(logID: try reader.u64("logID"), epoch: try reader.u64("epoch"))
      guard bytes.first == formatWithShards else {
        if reader.remaining > 0 { log.isRestoring = try reader.u8("state") == 1 }
        return log
      }
      switch try reader.u8("role") {
      case 0: log.role = .root(try readMap(&reader))
      case 1: log.role = .shard(number: try reader.u16("number"), fence: try reader.u64("fence"))
      case let role: throw reader.error("role", "is \(role)")
      }
      return log
    }
  }

  private static func readMap(_ reader: inout WireReader) throws(WireError) -> ShardMap {
    let version = try reader.u64("version")
    var shards: [ShardMap.Shard] = []
    for _ in 0..<(try reader.count16("shards", minimum: 4)) {
      shards.append(.init(number: try reader.u16("number"), address: try reader.text16("address")))
    }
    var entries: [ShardMap.Entry] = []
    for _ in 0..<(try reader.count16("prefixes", minimum: 5)) {
      let (prefix, shard) = (try reader.text8("prefix"), try reader.u16("shard"))
      let target = try reader.u16("target")
      entries.append(.init(prefix, in: shard, movingTo: target == shard ? nil : target))
    }
    return ShardMap(version: version, shards: shards, entries: entries)
  }

  static func write(headAfter batch: Batch) -> [UInt8] {
    var writer = started()
    writer.u8(batch.form == .removal ? 1 : 0)
    writer.u64(batch.record)
    writer.u64(batch.version)
    return writer.bytes
  }

  static func readHead(_ model: String, _ entry: EtcdKeyValue) throws(StoreError) -> SharedHead {
    try read(entry.value, "\(model): the head") { reader throws(WireError) in
      let flags = try reader.u8("flags")
      return SharedHead(
        model, record: try reader.u64("record"), version: try reader.u64("version"), revision: entry.modRevision,
        isRemoved: flags & 1 != 0)
    }
  }

  static func write(_ batch: Batch) -> [UInt8] {
    var writer = started()
    batch.write(to: &writer)
    return writer.bytes
  }

  static func readRecord(_ entry: EtcdKeyValue) throws(StoreError) -> SharedRecord {
    let batch = try read(entry.value, "a record") { reader throws(WireError) in try Batch(from: &reader) }
    return SharedRecord(batch, revision: entry.modRevision)
  }

  static func write(_ fold: Fold) -> [UInt8] {
    var writer = started()
    writer.u64(fold.record)
    writer.raw(fold.generation)
    writer.u32(fold.count)
    return writer.bytes
  }

  static func readFold(_ model: String, _ bytes: [UInt8]) throws(StoreError) -> Fold {
    try read(bytes, "\(model): the fold") { reader throws(WireError) in
      let record = try reader.u64("record")
      return Fold(record: record, generation: Array(try reader.bytes(16, "generation")), count: try reader.u32("count"))
    }
  }

  static func write(_ chunks: ArraySlice<[UInt8]>) -> [UInt8] {
    var writer = started()
    writer.count32(chunks.count)
    for chunk in chunks {
      writer.u32(UInt32(chunk.count))
      writer.raw(chunk)
    }
    return writer.bytes
  }

  static func readChunks(_ model: String, _ bytes: [UInt8]) throws(StoreError) -> [[UInt8]] {
    try read(bytes, "\(model): chunks") { reader throws(WireError) in
      var chunks: [[UInt8]] = []
      for _ in 0..<(try reader.count32("chunks", minimum: 4)) {
        chunks.append(Array(try reader.bytes(Int(try reader.u32("length")), "chunk")))
      }
      return chunks
    }
  }

  private static func started() -> WireWriter {
    var writer = WireWriter()
    writer.u8(EtcdKeys.format)
    return writer
  }

  private static func read<Value>(
    _ bytes: [UInt8], _ what: String, upTo newest: UInt8 = EtcdKeys.format,
    _ body: (inout WireReader) throws(WireError) -> Value
  ) throws(StoreError) -> Value {
    do throws(WireError) {
      return try bytes.withUnsafeBytes { bytes in
        Result { () throws(WireError) in
          var reader = WireReader(bytes, message: "etcd")
          let format = try reader.u8("format")
          guard (EtcdKeys.format...newest).contains(format) else { throw reader.error("format", "is \(format)") }
          let value = try body(&reader)
          try reader.end()
          return value
        }
      }.get()
    } catch {
      if let format = bytes.first, format > newest {
        let text = "\(what) in etcd has format \(format), and this build reads format \(newest): update it"
        throw StoreError(text, .newer)
      }
      throw StoreError("\(what) in etcd cannot be read: \(error)", .damaged)
    }
  }
}
