import BindingModel
import BindingProtocol
import Foundation
import ZeroMQ

/// An outbox on disk, with replicas beside it if they are kept (docs/reference/outbox-format.md): an append-only file,
/// rewritten now and then without its history. `ReplicaKeeper` writes the replicas.
///
/// Records that could not be written are kept and retried with the next one, so that the file is always a prefix of
/// all records.
final class OutboxFile: Sendable {
  /// Passes bytes to the system, as `write(2)` does; a test puts a full disk in its place.
  typealias Writing = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

  /// The calls that change files, so that a test can fail or record them.
  struct System: Sendable {
    var write: Writing = { Foundation.write($0, $1.baseAddress, $1.count) }
    var sync: @Sendable (Int32) -> Int32 = { fsync($0) }
    var rename: @Sendable (String, String) -> Int32 = { Foundation.rename($0, $1) }
  }

  struct Disk: Sendable {
    var descriptor: Int32
    var content: OutboxContent
    var size: Int
    /// Bytes that are not yet written.
    var backlog: [UInt8] = []
    var problem: String?
    /// A sync has failed: what the disk holds is unknown, and a later success would not prove it (R12).
    var isBroken = false
    var lock: HeldLock?
    var format: UInt32
    var sync = SyncedLength()
    /// What was written since a rewrite in the background began; nil: none is under way.
    var tail: [UInt8]?
    /// The size at which the file is rewritten in the background.
    var rewriteSize = OutboxFile.leastRewriteBytes
    /// Called when the file has reached that size.
    var onGrowth: (@Sendable () -> Void)?
  }

  /// How much of the file is known to be on the disk, and how much of that the file states itself.
  struct SyncedLength: Sendable {
    var synced = 0
    var stated = 0
  }
  final class HeldLock: Sendable {
    let lock: EndpointLock
    init(_ lock: consuming EndpointLock) { self.lock = lock }
  }

  /// The history that a file may hold before it is rewritten, and by how much it must outweigh the live records.
  static let leastHistoryBytes = 262_144
  static let historyRatio = 4
  /// A file with replicas is rewritten at this size, and then at twice its size after the last rewrite.
  static let leastRewriteBytes = 1_048_576

  let path: String
  let durability: OutboxStorage.Durability
  /// Whether the file is for replicas too, and is rewritten in the background.
  let keepsReplicas: Bool
  let system: System
  let disk: Protected<Disk>
  private let replicas: Protected<KeptReplicas>
  /// The bytes of a record that an earlier writer left unfinished when it died; they were cut off.
  let tornBytes: Int
  /// A copy of the file as it was, if whole records followed those bytes; nil: none did.
  let tornCopy: String?

  /// Opens the file, creates it if there is none, and reads what earlier runs left.
  static func open(
    _ path: String, durability: OutboxStorage.Durability = .process, keepsReplicas: Bool = false,
    writing: @escaping Writing = System().write
  ) throws(OutboxError) -> OutboxFile {
    try open(path, durability: durability, keepsReplicas: keepsReplicas, system: System(write: writing))
  }

  static func open(
    _ path: String, durability: OutboxStorage.Durability, keepsReplicas: Bool, system: System
  ) throws(OutboxError) -> OutboxFile {
    let lock: HeldLock
    do throws(EndpointLockError) {
      lock = HeldLock(try EndpointLock.acquire(path))
    } catch {
      switch error {
      case .held(_, let process): throw .held(path: path, byProcess: process)
      case .unavailable(let problem): throw .unusable(path: path, problem: problem.clause)
      }
    }
    let descriptor = try openDescriptor(path, O_RDWR | O_CREAT | O_APPEND)
    do throws(OutboxError) {
      let bytes = try readAll(descriptor, path)
      let reading = try parse(bytes, path, isShared: false)
      let copy = try reading.hasMoreBeyond ? setAside(bytes, path) : nil
      if reading.end < bytes.count, ftruncate(descriptor, off_t(reading.end)) != 0 {
        throw OutboxError.unwritable(path: path, problem: OutboxFile.lastProblem)
      }
      var disk = Disk(descriptor: descriptor, content: reading.content, size: reading.end, format: reading.format)
      disk.lock = lock
      let file = OutboxFile(
        path: path, durability: durability, keepsReplicas: keepsReplicas, system: system, disk: disk,
        torn: (bytes.count - reading.end, copy))
      try file.prepare()
      return file
    } catch {
      Foundation.close(descriptor)
      throw error
    }
  }

  private init(
    path: String, durability: OutboxStorage.Durability, keepsReplicas: Bool, system: System, disk: Disk,
    torn: (bytes: Int, copy: String?)
  ) {
    self.path = path
    self.durability = durability
    self.keepsReplicas = keepsReplicas
    self.system = system
    var disk = disk
    replicas = Protected(disk.content.takeReplicas())
    self.disk = Protected(disk)
    (tornBytes, tornCopy) = torn
  }

  deinit { close() }

  /// The runs that left unacknowledged writes, oldest first.
  var unfinished: [PreviousRun] { disk.withLock { $0.content.unfinished } }

  /// The steps of undo that earlier runs left, by model and step.
  var undo: [String: [UInt64: [UInt8]]] { disk.withLock { $0.content.undo.steps } }

  /// The size of the file in bytes.
  var size: Int { disk.withLock { $0.size } }

  /// The replicas that earlier runs left; from now on who keeps them has them.
  func takeReplicas() -> KeptReplicas {
    replicas.withLock { replicas in
      defer { replicas = KeptReplicas() }
      return replicas
    }
  }

  /// Begins a run and returns its number, under which its entries follow.
  func begin(_ identity: Identity) throws(OutboxError) -> UInt32 {
    let run = disk.withLock { $0.content.lastRun + 1 }
    if let problem = append([OutboxRecord(run: run, content: .began(identity))]) {
      throw .unwritable(path: path, problem: problem)
    }
    return run
  }

  /// Appends entries of a run.
  /// - Returns: why they are not in the file; nil if they are.
  func append(_ entries: [JournalEntry], of run: UInt32) -> String? {
    append(
      entries.map { entry in
        guard case .written(var write) = entry else { return OutboxRecord(run: run, content: .entry(entry)) }
        write.time = OutboxFile.wall
        return OutboxRecord(run: run, content: .entry(.written(write)))
      })
  }

  /// Records that a run has said goodbye without unacknowledged writes: its secret is no longer needed.
  func leave(_ run: UInt32) {
    _ = append([OutboxRecord(run: run, content: .left)])
    disk.withLock { disk in
      guard disk.descriptor >= 0, disk.content.isEmpty, disk.backlog.isEmpty, disk.format == 1 else { return }
      if ftruncate(disk.descriptor, off_t(OutboxLog.headerBytes)) == 0 { disk.size = OutboxLog.headerBytes }
    }
  }

  /// Closes the file and releases its lock; later entries are ignored.
  func close() {
    disk.withLock { disk in
      guard disk.descriptor >= 0 else { return }
      Foundation.close(disk.descriptor)
      disk.descriptor = -1
      disk.lock = nil
    }
  }

  /// Milliseconds since 1970.
  static var wall: UInt64 { UInt64(max(Date().timeIntervalSince1970, 0) * 1_000) }
}

// MARK: Writing

extension OutboxFile {
  private func append(_ records: [OutboxRecord]) -> String? {
    disk.withLock { disk in
      guard disk.descriptor >= 0 else { return nil }
      var writer = WireWriter(reserving: 512)
      stateSync(&disk, to: &writer)
      for record in records {
        let before = writer.count
        OutboxLog.append(record, to: &writer)
        disk.content.apply(record, bytes: writer.count - before)
      }
      if disk.isBroken { return disk.problem }
      if disk.backlog.isEmpty {
        writer.withUnsafeBytes { add($0, &disk) }
      } else {
        writer.withUnsafeBytes { disk.backlog += $0 }
        let backlog = disk.backlog
        disk.backlog.removeAll()
        backlog.withUnsafeBytes { add($0, &disk) }
      }
      guard disk.problem == nil else { return disk.problem }
      if keepsReplicas {
        if disk.size > disk.rewriteSize { disk.onGrowth?() }
      } else {
        compactIfWorthwhile(&disk, least: OutboxFile.leastHistoryBytes)
      }
      return nil
    }
  }

  /// Writes the bytes; those that the system does not accept wait.
  private func add(_ bytes: UnsafeRawBufferPointer, _ disk: inout Disk) {
    var rest = bytes
    disk.problem = nil
    while !rest.isEmpty {
      let count = system.write(disk.descriptor, rest)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        disk.problem = OutboxFile.lastProblem
        disk.backlog = Array(rest)
        return
      }
      disk.size += count
      disk.tail? += rest[..<count]
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    guard durability == .disk, !bytes.isEmpty else { return }
    if system.sync(disk.descriptor) == 0 { disk.sync.synced = disk.size } else { recordFailedSync(&disk) }
  }

  /// Rewrites the file without its history, if that is large; if this fails, the old file stays in use.
  private func compactIfWorthwhile(_ disk: inout Disk, least: Int) {
    guard disk.size > least, disk.size > OutboxFile.historyRatio * disk.content.liveBytes else { return }
    _ = rewrite(&disk, format: disk.format)
  }

  /// - Returns: why the file is unchanged; nil if it was rewritten.
  private func rewrite(_ disk: inout Disk, format: UInt32) -> String? {
    let kept = replicas.withLock { $0 }
    let bytes = disk.content.compacted(with: kept, format: format)
    do throws(RewriteProblem) {
      try replace(&disk, by: try makeFresh(bytes), format: format, size: bytes.count)
      return nil
    } catch {
      return error.words
    }
  }

  /// Gives a new file its header, and removes finished runs from an old one.
  private func prepare() throws(OutboxError) {
    let format: UInt32 = keepsReplicas ? OutboxLog.version : 1
    let problem: String? = disk.withLock { disk in
      if disk.size < OutboxLog.headerBytes {
        (disk.size, disk.format) = (0, format)
        guard ftruncate(disk.descriptor, 0) == 0 else { return OutboxFile.lastProblem }
        OutboxLog.header(version: format).withUnsafeBytes { add($0, &disk) }
        return disk.problem
      }
      let hasMoved = disk.content.adoptUnproven()
      disk.content.forgetFinished()
      if hasMoved || format > disk.format { return rewrite(&disk, format: max(format, disk.format)) }
      if disk.format == 1, disk.content.isEmpty, ftruncate(disk.descriptor, off_t(OutboxLog.headerBytes)) == 0 {
        disk.size = OutboxLog.headerBytes
      }
      // A file with replicas is rewritten in the background: a start does not wait for a sync.
      if !keepsReplicas { compactIfWorthwhile(&disk, least: OutboxFile.leastHistoryBytes / 16) }
      return nil
    }
    if let problem { throw .unwritable(path: path, problem: problem) }
  }
}
