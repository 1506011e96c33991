import BindingModel
import BindingProtocol
import Foundation
import ZeroMQ

/// An outbox on disk (docs/reference/outbox-format.md): an append-only file, rewritten now and then without its
/// history.
///
/// Records that could not be written are kept and retried with the next one, so that the file is always a prefix of
/// all records.
final class OutboxFile: Sendable {
  /// Passes bytes to the system, as `write(2)` does; a test puts a full disk in its place.
  typealias Writing = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

  private struct Disk: Sendable {
    var descriptor: Int32
    var content: OutboxContent
    var size: Int
    /// Bytes that are not yet written.
    var backlog: [UInt8] = []
    var problem: String?
    /// A sync has failed: what the disk holds is unknown, and a later success would not prove it (R12).
    var isBroken = false
    var lock: HeldLock?
  }
  private final class HeldLock: Sendable {
    let lock: EndpointLock
    init(_ lock: consuming EndpointLock) { self.lock = lock }
  }

  /// The history that a file may hold before it is rewritten, and by how much it must outweigh the live records.
  static let leastHistoryBytes = 262_144
  static let historyRatio = 4

  let path: String
  private let durability: OutboxStorage.Durability
  private let writing: Writing
  private let disk: Protected<Disk>
  /// The bytes of a record that an earlier writer left unfinished when it died; they were cut off.
  let tornBytes: Int

  /// Opens the file, creates it if there is none, and reads what earlier runs left.
  static func open(
    _ path: String, durability: OutboxStorage.Durability = .process,
    writing: @escaping Writing = { Foundation.write($0, $1.baseAddress, $1.count) }
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
    let descriptor = try openDescriptor(path)
    do throws(OutboxError) {
      let bytes = try readAll(descriptor, path)
      let (content, end) = try parse(bytes, path)
      if end < bytes.count, ftruncate(descriptor, off_t(end)) != 0 {
        throw OutboxError.unwritable(path: path, problem: OutboxFile.lastProblem)
      }
      var disk = Disk(descriptor: descriptor, content: content, size: end)
      disk.lock = lock
      let file = OutboxFile(
        path: path, durability: durability, writing: writing, disk: disk, tornBytes: bytes.count - end)
      try file.prepare()
      return file
    } catch {
      Foundation.close(descriptor)
      throw error
    }
  }

  private init(
    path: String, durability: OutboxStorage.Durability, writing: @escaping Writing, disk: Disk, tornBytes: Int
  ) {
    self.path = path
    self.durability = durability
    self.writing = writing
    self.disk = Protected(disk)
    self.tornBytes = tornBytes
  }

  deinit { close() }

  /// The runs that left unacknowledged writes, oldest first.
  var unfinished: [PreviousRun] { disk.withLock { $0.content.unfinished } }

  /// The steps of undo that earlier runs left, by model and step.
  var undo: [String: [UInt64: [UInt8]]] { disk.withLock { $0.content.undo.steps } }

  /// The size of the file in bytes.
  var size: Int { disk.withLock { $0.size } }

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
      guard disk.descriptor >= 0, disk.content.isEmpty, disk.backlog.isEmpty else { return }
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
      if disk.problem == nil { compactIfWorthwhile(&disk, least: OutboxFile.leastHistoryBytes) }
      return disk.problem
    }
  }

  /// Writes the bytes; those that the system does not accept wait.
  private func add(_ bytes: UnsafeRawBufferPointer, _ disk: inout Disk) {
    var rest = bytes
    disk.problem = nil
    while !rest.isEmpty {
      let count = writing(disk.descriptor, rest)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        disk.problem = OutboxFile.lastProblem
        disk.backlog = Array(rest)
        return
      }
      disk.size += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    guard durability == .disk, !bytes.isEmpty, fsync(disk.descriptor) != 0 else { return }
    disk.problem = "a sync failed (\(OutboxFile.lastProblem)); start the program again"
    disk.isBroken = true
  }

  /// Rewrites the file without its history, if that is large; if this fails, the old file stays in use.
  private func compactIfWorthwhile(_ disk: inout Disk, least: Int) {
    guard disk.size > least, disk.size > OutboxFile.historyRatio * disk.content.liveBytes else { return }
    _ = rewrite(&disk)
  }

  /// - Returns: why the file is unchanged; nil if it was rewritten.
  private func rewrite(_ disk: inout Disk) -> String? {
    let bytes = disk.content.compacted
    let fresh = path + ".new"
    unlink(fresh)
    let descriptor = Foundation.open(fresh, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return OutboxFile.lastProblem }
    let isWhole = bytes.withUnsafeBytes { writing(descriptor, $0) == $0.count }
    // A file that replaces another must be on the disk first, whatever the durability: otherwise a loss of power
    // could leave neither.
    guard isWhole, fsync(descriptor) == 0, rename(fresh, path) == 0 else {
      let problem = OutboxFile.lastProblem
      Foundation.close(descriptor)
      unlink(fresh)
      return problem
    }
    Foundation.close(disk.descriptor)
    disk.descriptor = descriptor
    disk.size = bytes.count
    return nil
  }

  /// Gives a new file its header, and removes finished runs from an old one.
  private func prepare() throws(OutboxError) {
    let problem: String? = disk.withLock { disk in
      if disk.size < OutboxLog.headerBytes {
        disk.size = 0
        guard ftruncate(disk.descriptor, 0) == 0 else { return OutboxFile.lastProblem }
        OutboxLog.header.withUnsafeBytes { add($0, &disk) }
        return disk.problem
      }
      let hasMoved = disk.content.adoptUnproven()
      disk.content.forgetFinished()
      if hasMoved { return rewrite(&disk) }
      if disk.content.isEmpty, ftruncate(disk.descriptor, off_t(OutboxLog.headerBytes)) == 0 {
        disk.size = OutboxLog.headerBytes
      }
      compactIfWorthwhile(&disk, least: OutboxFile.leastHistoryBytes / 16)
      return nil
    }
    if let problem { throw .unwritable(path: path, problem: problem) }
  }
}

// MARK: Reading

extension OutboxFile {
  private static func openDescriptor(_ path: String) throws(OutboxError) -> Int32 {
    let descriptor = Foundation.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw .unusable(path: path, problem: lastProblem) }
    var status = stat()
    let problem: OutboxError? =
      if fstat(descriptor, &status) != 0 {
        .unusable(path: path, problem: lastProblem)
      } else if status.st_mode & S_IFMT != S_IFREG {
        .unusable(path: path, problem: "it is not a regular file")
      } else if status.st_mode & 0o077 != 0 {
        .openToOthers(path: path)
      } else {
        nil
      }
    guard let problem else { return descriptor }
    Foundation.close(descriptor)
    throw problem
  }

  private static func readAll(_ descriptor: Int32, _ path: String) throws(OutboxError) -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .unusable(path: path, problem: lastProblem) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var filled = 0
    while filled < bytes.count {
      let wanted = bytes.count - filled
      // SAFETY: not empty, so there is an address.
      let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress! + filled, wanted, off_t(filled)) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .unusable(path: path, problem: lastProblem) }
      filled += count
    }
    return bytes
  }

  private static func parse(_ bytes: [UInt8], _ path: String) throws(OutboxError) -> (OutboxContent, Int) {
    do throws(OutboxDamage) {
      return try bytes.withUnsafeBytes { bytes in
        Result { () throws(OutboxDamage) in try OutboxLog.parse(bytes) }
      }.get()
    } catch {
      switch error {
      case .notAnOutbox: throw .notAnOutbox(path: path)
      case .newerVersion(let found): throw .newerVersion(path: path, found: found, known: OutboxLog.version)
      case .damaged(let offset): throw .damaged(path: path, atByte: offset)
      }
    }
  }

  /// The message of the last call that failed.
  private static var lastProblem: String { String(cString: strerror(errno)) }
}
