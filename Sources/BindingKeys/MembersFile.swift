import BindingProtocol
import Foundation

/// The file of members: one record a line, appended and synced. Several processes of one user may append; each first
/// reads what the others wrote.
package struct MembersFile: Sendable {
  /// The path of the file.
  package let path: String
  /// The members as of the last reading.
  package private(set) var members = Members()
  private var mark = Mark()

  private static let header = JSON.object([.init("bindbus", "members"), .init("version", 1)]).text

  /// Identifies what has been read, so that an unchanged file is not read again.
  private struct Mark: Hashable, Sendable {
    var inode: UInt64 = 0
    var size: Int64 = -1
    var changedAt: [Int] = []

    init() {}

    init(_ info: stat) {
      inode = UInt64(info.st_ino)
      size = Int64(info.st_size)
      changedAt = [Int(info.st_mtim.tv_sec), Int(info.st_mtim.tv_nsec)]
    }
  }

  /// Reads the file; if there is none, nobody is a member.
  /// - Throws: `KeyError` if other users can change it, or a line cannot be understood.
  package init(at path: String) throws(KeyError) {
    self.path = path
    try refresh()
  }

  /// Whether the file is another one than that which was read.
  package func hasChanged() throws(KeyError) -> Bool {
    var info = stat()
    if stat(path, &info) == 0 { return Mark(info) != mark }
    guard errno == ENOENT else { throw .unusable(path: path, problem: PrivateFile.lastProblem) }
    return mark != Mark()
  }

  /// Reads the file again if it has changed.
  /// - Throws: `KeyError`; the members are as before then.
  package mutating func refresh() throws(KeyError) {
    guard try hasChanged() else { return }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      guard errno == ENOENT else { throw .unusable(path: path, problem: PrivateFile.lastProblem) }
      // A file that was there and is gone revokes everybody.
      (members, mark) = (Members(), Mark())
      return
    }
    defer { close(file) }
    try read(file)
  }

  /// Appends a record and syncs it. When this returns it is on disk.
  /// - Parameter decide: chooses the record, given all earlier ones; nil: nothing is left to do.
  /// - Returns: whether a record was appended.
  /// - Throws: `KeyError.member` if it contradicts an earlier one, else `KeyError` of the file; nothing changes then.
  @discardableResult
  package mutating func append(
    _ decide: (Members) throws(MemberError) -> MemberRecord?
  ) throws(KeyError) -> Bool {
    let file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unusable(path: path, problem: PrivateFile.lastProblem) }
    defer { close(file) }
    while flock(file, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .unusable(path: path, problem: PrivateFile.lastProblem) }
    }
    let end = try read(file)
    var next = members
    let record: MemberRecord
    do throws(MemberError) {
      guard let decided = try decide(next) else { return false }
      record = decided
      try next.apply(record)
    } catch {
      throw .member(error)
    }
    // A writer that died has left half a line.
    guard ftruncate(file, off_t(end)) == 0 else { throw .unusable(path: path, problem: PrivateFile.lastProblem) }
    let text = (end == 0 ? Self.header + "\n" : "") + record.json.text + "\n"
    do throws(KeyError) {
      try PrivateFile.append(Array(text.utf8), to: file, path)
    } catch {
      _ = ftruncate(file, off_t(end))
      throw error
    }
    members = next
    var info = stat()
    if fstat(file, &info) == 0 { mark = Mark(info) }
    return true
  }

  /// - Returns: where the last whole line ends.
  @discardableResult
  private mutating func read(_ file: Int32) throws(KeyError) -> Int {
    let info = try PrivateFile.status(of: file, path)
    try PrivateFile.check(info, path, isSecret: false)
    let bytes = try PrivateFile.readAll(file, path)
    let end = (bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
    members = try Self.members(bytes[..<end], path)
    mark = Mark(info)
    mark.size = Int64(bytes.count)
    return end
  }

  private static func members(_ bytes: ArraySlice<UInt8>, _ path: String) throws(KeyError) -> Members {
    var members = Members()
    for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
      .enumerated()
    {
      let json = try? JSON(parsing: String(decoding: line, as: UTF8.self))
      if index == 0 {
        guard let json, json["bindbus"] == "members" else {
          throw .malformed(path: path, problem: "is not a file of members")
        }
        guard json["version"] == 1 else { throw .malformed(path: path, problem: "is of another release") }
        continue
      }
      guard let record = json.flatMap({ MemberRecord($0) }) else {
        throw .malformed(path: path, problem: "has a line \(index + 1) that is no record of this release")
      }
      do throws(MemberError) { try members.apply(record) } catch {
        throw .malformed(path: path, problem: "has a line \(index + 1) that contradicts an earlier one: \(error)")
      }
    }
    return members
  }
}
