public import BindingProtocol

/// The bytes of an outbox file in memory, for a simulation: what a file would hold, without a file.
public struct OutboxBook: Sendable {
  private var bytes: [UInt8] = OutboxLog.header

  public init() {}

  public var count: Int { bytes.count }

  public mutating func begin(_ identity: Identity) -> UInt32 {
    let run = (read?.lastRun ?? 0) + 1
    add(OutboxRecord(run: run, content: .began(identity)))
    return run
  }

  public mutating func append(_ entry: JournalEntry, run: UInt32, wall: UInt64) {
    guard case .written(var write) = entry else { return add(OutboxRecord(run: run, content: .entry(entry))) }
    write.time = wall
    add(OutboxRecord(run: run, content: .entry(.written(write))))
  }

  public mutating func leave(_ run: UInt32) { add(OutboxRecord(run: run, content: .left)) }

  /// As a crash in the middle of writing leaves it.
  public mutating func cut(to count: Int) { bytes.removeLast(max(bytes.count - count, 0)) }

  /// Opened again: without its torn end, written anew. Gives what is unfinished; nil if it cannot be read.
  public mutating func reopen() -> [PreviousRun]? {
    guard var content = read else { return nil }
    _ = content.adoptUnproven()
    content.forgetFinished()
    bytes = content.compacted
    return content.unfinished
  }

  private var read: OutboxContent? {
    bytes.withUnsafeBytes { bytes in try? OutboxLog.parse(bytes).content }
  }

  private mutating func add(_ record: OutboxRecord) {
    var writer = WireWriter()
    OutboxLog.append(record, to: &writer)
    writer.withUnsafeBytes { bytes += $0 }
  }
}
