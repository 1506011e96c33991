import Dispatch
import Foundation
import GRDB

/// Brings the write-ahead log into the file, on a thread and a connection of its own, so that no append waits for it.
final class Checkpoints: @unchecked Sendable {  // SAFETY: what changes is touched only while `lock` is held
  private let db: DatabaseQueue
  private let queue = DispatchQueue(label: "bindhub-store.checkpoints")
  private let lock = NSLock()
  /// Bytes written since the last one.
  private var waiting = 0
  private var isRunning = false
  /// Frames that the last one left in the log; nil: none has run since it was asked for.
  private var left: Int?
  private var failure: (any Error)?

  init(path: String) throws { db = try OpenedStore.connect(path) }

  /// Notes what went to the log; every page of it counts whole.
  func wrote(bytes: Int) {
    lock.lock()
    waiting += bytes + 8_192
    lock.unlock()
  }

  /// Starts one if enough has gathered and none is running.
  func start(after bytes: Int) {
    lock.lock()
    defer { lock.unlock() }
    guard !isRunning, waiting >= bytes else { return }
    isRunning = true
    waiting = 0
    queue.async { self.run() }
  }

  /// The frames that the last one left, told once.
  func takeLeft() -> Int? {
    lock.lock()
    defer { lock.unlock() }
    defer { left = nil }
    return left
  }

  /// What the last one failed with, told once: the store cannot go on.
  func takeFailure() -> (any Error)? {
    lock.lock()
    defer { lock.unlock() }
    defer { failure = nil }
    return failure
  }

  /// Whether a checkpoint that failed so may be tried again later: the log keeps everything until then.
  /// A sync that failed is none of these.
  static func mayFail(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL].contains(error.resultCode)
  }

  private func run() {
    let result = Result { try db.writeWithoutTransaction { db in try db.checkpoint(.passive) } }
    lock.lock()
    defer { lock.unlock() }
    isRunning = false
    switch result {
    case .success(let frames):
      // SQLite counts the log as it was when the checkpoint began; what came since is what was noted since.
      left = max(frames.walFrameCount - frames.checkpointedFrameCount, 0) + waiting / 4_096
    case .failure(let error): if !Checkpoints.mayFail(error) { failure = error }
    }
  }

  /// Waits for the one that runs; there is none afterwards.
  func finish() {
    queue.sync {}
    try? db.close()
  }
}
