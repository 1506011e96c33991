import BindingProtocol
import Foundation

/// Why the file was not rewritten.
struct RewriteProblem: Error {
  let words: String

  static var last: RewriteProblem { RewriteProblem(words: OutboxFile.lastProblem) }
}

/// Replicas in the file, and its rewriting in the background. Callers of the program wait for a `write(2)` at most,
/// never for a sync.
extension OutboxFile {
  /// Appends what a keep file lacks, and with `.disk` syncs it, beside other appends.
  /// - Parameter entries: the outcomes to record, with the run of each.
  /// - Returns: why it is not in the file; nil if it is. Then nothing of it is.
  func keep(_ batch: KeepBatch, _ entries: [(run: UInt32, entry: JournalEntry)]) -> String? {
    var writer = WireWriter(reserving: 4_096)
    for (log, model) in batch.dropped {
      OutboxLog.append(.init(run: 0, content: .dropped(log: log, model: model)), to: &writer)
    }
    for record in batch.records { OutboxLog.append(.init(run: 0, content: .replica(record)), to: &writer) }
    for (run, entry) in entries { OutboxLog.append(.init(run: run, content: .entry(entry)), to: &writer) }
    let result: (problem: String?, descriptor: Int32, size: Int) = disk.withLock { disk in
      guard disk.descriptor >= 0, writer.count > 0 else { return (nil, -1, 0) }
      // Records keep their order: these do not overtake others that wait for room.
      if disk.isBroken || !disk.backlog.isEmpty { return (disk.problem ?? "earlier records wait for room", -1, 0) }
      var statement = WireWriter()
      stateSync(&disk, to: &statement)
      let bytes = statement.withUnsafeBytes { Array($0) } + writer.withUnsafeBytes { Array($0) }
      if let problem = appendWhole(bytes, &disk) { return (problem, -1, 0) }
      for (run, entry) in entries { disk.content.apply(OutboxRecord(run: run, content: .entry(entry)), bytes: 0) }
      return (nil, durability == .disk ? dup(disk.descriptor) : -1, disk.size)
    }
    guard result.descriptor >= 0 else { return result.problem }
    let isSynced = system.sync(result.descriptor) == 0
    Foundation.close(result.descriptor)
    return disk.withLock { disk in
      if isSynced { disk.sync.synced = max(disk.sync.synced, result.size) } else { recordFailedSync(&disk) }
      return isSynced ? nil : disk.problem
    }
  }

  /// Writes all of the bytes, or nothing.
  private func appendWhole(_ bytes: [UInt8], _ disk: inout Disk) -> String? {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        system.write(disk.descriptor, UnsafeRawBufferPointer(rebasing: $0[written...]))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let problem = OutboxFile.lastProblem
        _ = ftruncate(disk.descriptor, off_t(disk.size))
        return problem
      }
      written += count
    }
    disk.size += bytes.count
    disk.tail? += bytes
    return nil
  }

  /// Has the file state how much of it is on the disk, if that is more than it states: a record that fails its check
  /// before that is damaged, one after it was torn by a loss of power.
  func stateSync(_ disk: inout Disk, to writer: inout WireWriter) {
    // What is written during a rewrite is copied to another offset.
    guard disk.format > 1, disk.tail == nil, disk.sync.synced > disk.sync.stated else { return }
    disk.sync.stated = disk.sync.synced
    OutboxLog.append(.init(run: 0, content: .synced(offset: UInt64(disk.sync.synced))), to: &writer)
  }

  func recordFailedSync(_ disk: inout Disk) {
    disk.problem = "a sync failed (\(OutboxFile.lastProblem)); start the program again"
    disk.isBroken = true
  }

  // MARK: Rewriting

  /// Whether the file is large enough to be rewritten.
  var wantsRewrite: Bool { disk.withLock { $0.descriptor >= 0 && $0.size > $0.rewriteSize && !$0.isBroken } }

  /// Rewrites the file without its history, while others append to it. If this fails, the old file stays in use.
  func rewriteInBackground(with replicas: KeptReplicas) {
    let content: OutboxContent? = disk.withLock { disk in
      guard disk.descriptor >= 0, disk.backlog.isEmpty, !disk.isBroken else { return nil }
      disk.tail = []
      return disk.content
    }
    guard let content else { return }
    let bytes = content.compacted(with: replicas, format: OutboxLog.version)
    do throws(RewriteProblem) {
      let descriptor = try makeFresh(bytes)
      try disk.withLock { disk throws(RewriteProblem) in
        let tail = disk.tail.take() ?? []
        guard disk.descriptor >= 0 else { return discardFresh(descriptor) }
        try append(tail, toFresh: descriptor)
        try replace(&disk, by: descriptor, format: OutboxLog.version, size: bytes.count + tail.count)
        disk.rewriteSize = max(OutboxFile.leastRewriteBytes, 2 * disk.size)
      }
    } catch {
      disk.withLock { disk in
        disk.tail = nil
        // Tried again when the file has grown by as much again.
        disk.rewriteSize = max(disk.rewriteSize, 2 * disk.size)
      }
    }
  }

  /// Makes the file that is to replace the present one, and syncs it, whatever the durability: otherwise a loss of
  /// power could leave neither.
  func makeFresh(_ bytes: [UInt8]) throws(RewriteProblem) -> Int32 {
    unlink(freshPath)
    let descriptor = Foundation.open(freshPath, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .last }
    try append(bytes, toFresh: descriptor)
    return descriptor
  }

  private func append(_ bytes: [UInt8], toFresh descriptor: Int32) throws(RewriteProblem) {
    guard !bytes.isEmpty else { return }
    let isWhole = bytes.withUnsafeBytes { system.write(descriptor, $0) == $0.count }
    guard isWhole, system.sync(descriptor) == 0 else {
      let problem = RewriteProblem.last
      discardFresh(descriptor)
      throw problem
    }
  }

  private func discardFresh(_ descriptor: Int32) {
    Foundation.close(descriptor)
    unlink(freshPath)
  }

  /// Gives the fresh file, which is synced, the name of the present one.
  func replace(
    _ disk: inout Disk, by descriptor: Int32, format: UInt32, size: Int
  ) throws(RewriteProblem) {
    guard system.rename(freshPath, path) == 0 else {
      let problem = RewriteProblem.last
      discardFresh(descriptor)
      throw problem
    }
    if durability == .disk { syncDirectory() }
    Foundation.close(disk.descriptor)
    disk.descriptor = descriptor
    (disk.size, disk.format) = (size, format)
    disk.sync = SyncedLength(synced: size, stated: 0)
  }

  /// What is appended from now on is promised under the new name.
  private func syncDirectory() {
    let directory = (path as NSString).deletingLastPathComponent
    let descriptor = Foundation.open(directory.isEmpty ? "." : directory, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = system.sync(descriptor)
    Foundation.close(descriptor)
  }

  private var freshPath: String { path + ".new" }
}
