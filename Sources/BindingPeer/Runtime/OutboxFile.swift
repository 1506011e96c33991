import BindingModel
import BindingProtocol
import Foundation
import ZeroMQ

/// An outbox on disk (docs/reference/outbox-format.md): a file that is only added to, and now and then written anew
/// without its history.
///
/// What it could not take is kept and tried again with the next record, so that the file is a beginning of the whole at
/// every moment.
final class OutboxFile: Sendable {
  /// Hands bytes to the system, as `write(2)` does; a test puts a full disk in its place.
  typealias Writing = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

  private struct Disk: Sendable {
    var descriptor: Int32
    var content: OutboxContent
    var size: Int
    /// What the file has not taken.
    var backlog: [UInt8] = []
    var problem: String?
    /// A sync has failed: what the disk has is not known, and no later success would tell (R12).
    var isBroken = false
    var lock: HeldLock?
  }
  private final class HeldLock: Sendable {
    let lock: EndpointLock
    init(_ lock: consuming EndpointLock) { self.lock = lock }
  }

  /// History that a file may hold before it is written anew, and by how much it must outweigh what is worth keeping.
  static let leastHistoryBytes = 262_144
  static let historyRatio = 4

  let path: String
  private let durability: OutboxStorage.Durability
  private let writing: Writing
  private let disk: Protected<Disk>
  /// Bytes that a writer which died had begun with; they were cut off.
  let tornBytes: Int

  /// Opens the file, makes it if there is none, and reads what earlier lives left.
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

  /// What earlier lives left unacknowledged, oldest first.
  var unfinished: [PreviousRun] { disk.withLock { $0.content.unfinished } }

  /// Bytes in the file.
  var size: Int { disk.withLock { $0.size } }

  /// Begins a life. Its notes follow under the number that is returned.
  func begin(_ identity: Identity) throws(OutboxError) -> UInt32 {
    let run = disk.withLock { $0.content.lastRun + 1 }
    if let problem = append([OutboxRecord(run: run, content: .began(identity))]) {
      throw .unwritable(path: path, problem: problem)
    }
    return run
  }

  /// Adds notes of a life.
  /// - Returns: why they are not in the file; nil if they are.
  func append(_ entries: [JournalEntry], of run: UInt32) -> String? {
    append(
      entries.map { entry in
        guard case .written(var write) = entry else { return OutboxRecord(run: run, content: .entry(entry)) }
        write.time = OutboxFile.wall
        return OutboxRecord(run: run, content: .entry(.written(write)))
      })
  }

  /// A life has said good-bye with nothing unacknowledged: its secret is worth nothing any more.
  func leave(_ run: UInt32) {
    _ = append([OutboxRecord(run: run, content: .left)])
    disk.withLock { disk in
      guard disk.descriptor >= 0, disk.content.isEmpty, disk.backlog.isEmpty else { return }
      if ftruncate(disk.descriptor, off_t(OutboxLog.headerBytes)) == 0 { disk.size = OutboxLog.headerBytes }
    }
  }

  /// Lets go of the file and of the right to it; later notes are passed over.
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

  /// Hands the bytes to the system; what it does not take waits.
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

  /// Writes the file anew without what is over; should that fail, the old one serves on.
  private func compactIfWorthwhile(_ disk: inout Disk, least: Int) {
    guard disk.size > least, disk.size > OutboxFile.historyRatio * disk.content.liveBytes else { return }
    _ = rewrite(&disk)
  }

  /// - Returns: why the file is as it was; nil if it is written anew.
  private func rewrite(_ disk: inout Disk) -> String? {
    let bytes = disk.content.compacted
    let fresh = path + ".new"
    unlink(fresh)
    let descriptor = Foundation.open(fresh, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return OutboxFile.lastProblem }
    let isWhole = bytes.withUnsafeBytes { writing(descriptor, $0) == $0.count }
    // A file that takes the place of another must be on the disk before it does, whatever the durability: else a loss
    // of power could leave neither.
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

  /// Gives a new file its header, and an old one no more than what is unfinished.
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
        .unusable(path: path, problem: "it is no plain file")
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

  /// The reason of the last call that failed, in words.
  private static var lastProblem: String { String(cString: strerror(errno)) }
}
