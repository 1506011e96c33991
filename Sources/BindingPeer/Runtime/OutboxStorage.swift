public import Foundation

/// Where a peer keeps the writes that have no outcome yet.
public enum OutboxStorage: Sendable, Hashable {
  /// In the program's memory: they end with it. The default.
  case memory
  /// In a file, for one process at a time: they outlive the program and are sent to their end by the next peer that is
  /// given the same file. See `docs/reference/outbox-format.md`.
  case file(path: String, durability: Durability)

  /// What a write survives once it was made.
  public enum Durability: Sendable, Hashable {
    /// The end of the program, `kill -9` too: it was handed to the system before the assignment returned.
    case process
    /// The loss of power: it was on the disk before the assignment returned, which takes as long as the disk does.
    case disk
  }

  public static func file(_ path: String, durability: Durability = .process) -> OutboxStorage {
    .file(path: path, durability: durability)
  }

  public static func file(_ url: URL, durability: Durability = .process) -> OutboxStorage {
    .file(path: url.path, durability: durability)
  }
}

/// Why an outbox file cannot be used. Nothing in it was changed.
public enum OutboxError: Error, Hashable, Sendable {
  /// Another peer has it; the process in which it is, where the lock file tells.
  case held(path: String, byProcess: Int32?)
  /// It, or the lock file beside it, cannot be opened, read or locked.
  case unusable(path: String, problem: String)
  /// It holds secrets, and others than its owner may read or write it.
  case openToOthers(path: String)
  case notAnOutbox(path: String)
  case newerVersion(path: String, found: UInt32, known: UInt32)
  /// What lies at that byte does not check, and more follows it.
  case damaged(path: String, atByte: Int)
  /// Nothing can be added to it.
  case unwritable(path: String, problem: String)
}

extension OutboxError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .held(let path, let process):
      "\(path) is in use by \(process.map { "process \($0)" } ?? "another process"). Stop it, or give each program an "
        + "outbox of its own."
    case .unusable(let path, let problem):
      "\(path) cannot be used as an outbox: \(problem). Name a file in a folder that this user may write."
    case .openToOthers(let path):
      "\(path) holds secrets and is open to other users. Close it: chmod 600 \(path)"
    case .notAnOutbox(let path): "\(path) is no outbox. Name another file, or a new one."
    case .newerVersion(let path, let found, let known):
      "\(path) is of format \(found), this program knows \(known). Use the program that wrote it, or a newer one."
    case .damaged(let path, let offset):
      "\(path) is damaged at byte \(offset), and more follows. Restore it from a copy, or move it away: what it holds "
        + "is then not sent."
    case .unwritable(let path, let problem):
      "\(path) cannot be written: \(problem). Make room, or name a file elsewhere."
    }
  }
}

/// How the outbox of a peer does.
public enum OutboxStatus: Sendable, Hashable {
  /// Kept in memory, as was asked for.
  case memory
  /// All that has no outcome is in the file.
  case kept
  /// The file takes nothing any more, for this reason: newer writes are in memory only, show, and wait until it does.
  case memoryOnly(String)
}
