public import Foundation

/// Where a peer keeps its writes without an outcome. `Peer.Keeping` keeps the values of its models too.
public enum OutboxStorage: Sendable, Hashable {
  /// In the program's memory: they end with it. The default.
  case memory
  /// In a file, for one process at a time: they survive the program, and the next peer with the same file sends them.
  /// See `docs/reference/outbox-format.md`.
  case file(path: String, durability: Durability)

  /// What a write survives once it was made.
  public enum Durability: Sendable, Hashable {
    /// The end of the program, `kill -9` too: it was passed to the system before the assignment returned.
    case process
    /// A loss of power: it was on the disk before the assignment returned, which takes as long as the disk does.
    case disk
  }

  /// An outbox in the file at this path.
  public static func file(_ path: String, durability: Durability = .process) -> OutboxStorage {
    .file(path: path, durability: durability)
  }

  /// An outbox in the file at this URL.
  public static func file(_ url: URL, durability: Durability = .process) -> OutboxStorage {
    .file(path: url.path, durability: durability)
  }
}

/// Why an outbox file cannot be used. Nothing in it was changed.
public enum OutboxError: Error, Hashable, Sendable {
  /// Another peer has it; the process that holds it, if the lock file names it.
  case held(path: String, byProcess: Int32?)
  /// It, or the lock file beside it, cannot be opened, read or locked.
  case unusable(path: String, problem: String)
  /// It holds secrets, and users other than its owner may read or write it.
  case openToOthers(path: String)
  case notAnOutbox(path: String)
  case newerVersion(path: String, found: UInt32, known: UInt32)
  /// The record at that byte fails its check, and more follows it.
  case damaged(path: String, atByte: Int)
  /// Nothing can be appended to it.
  case unwritable(path: String, problem: String)
}

extension OutboxError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .held(let path, let process):
      "\(path) is in use by \(process.map(ProcessName.words) ?? "another process"). Stop it, or use a separate "
        + "outbox for each program."
    case .unusable(let path, let problem):
      "Cannot use \(path) as an outbox: \(problem). Choose a file in a directory that this user can write to."
    case .openToOthers(let path):
      "\(path) contains secrets, and other users can read it. Restrict it:  chmod 600 \(path)"
    case .notAnOutbox(let path): "\(path) is not an outbox. Choose another file, or a new one."
    case .newerVersion(let path, let found, let known):
      "\(path) has format \(found); this version reads formats up to \(known). Use the version that wrote it, or a "
        + "newer one."
    case .damaged(let path, let offset):
      "\(path) is damaged at byte \(offset), before its end. Restore it from a copy, or move it away; its writes are "
        + "then not sent."
    case .unwritable(let path, let problem):
      "Cannot write \(path): \(problem). Free some space, or choose a file on another disk."
    }
  }
}

/// The state of a peer's outbox.
public enum OutboxStatus: Sendable, Hashable {
  /// Kept in memory, as configured.
  case memory
  /// All writes without an outcome are in the file.
  case kept
  /// The file cannot be written, for this reason: newer writes are in memory only, show, and wait until it can.
  case memoryOnly(String)
}
