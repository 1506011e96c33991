import BindingTerminal
import Foundation

/// A file that is read and replaced whole. What was written to it by others is noticed by its time, size and number.
struct MirroredFile {
  private struct Stamp: Equatable {
    var number: UInt64
    var size: Int64
    var seconds: Int
    var nanoseconds: Int
  }
  enum State {
    case same
    case changed
    case absent
  }
  /// More than a model of 100,000 fields takes.
  private static let mostBytes = 64 << 20

  /// A link is followed: what it leads to is replaced, not the link.
  private let path: String
  private var known: Stamp?

  init(_ path: String) { self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

  /// Whether it is as it was read or written last.
  var state: State {
    guard let stamp else { return .absent }
    return stamp == known ? .same : .changed
  }

  private var stamp: Stamp? {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    #if canImport(Darwin)
      let time = info.st_mtimespec
    #else
      let time = info.st_mtim
    #endif
    return Stamp(
      number: UInt64(info.st_ino), size: Int64(info.st_size), seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec))
  }

  /// The text; nil: there is no such file.
  mutating func read() throws(Failure) -> String? {
    // Before the content: what is written while it is read is read again.
    let stamp = stamp
    guard let stamp else { return nil }
    guard stamp.size <= MirroredFile.mostBytes else {
      throw Failure(.doesNotFit, "\(excerpt(path)) has more than \(MirroredFile.mostBytes) bytes")
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.usage, "Cannot read \(excerpt(path)): \(StandardStreams.words(errno)).")
    }
    known = stamp
    return String(decoding: data, as: UTF8.self)
  }

  /// Replaces it in one step: who reads it sees the old text or the new one. Its mode stays; that of a new one is 0600,
  /// because a model may hold secrets.
  mutating func write(_ text: String) throws(Failure) {
    let beside = "\(path).mirror-\(getpid())"
    var info = stat()
    let mode = stat(path, &info) == 0 ? info.st_mode & 0o777 : 0o600
    let descriptor = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    var problem = descriptor < 0 ? errno : 0
    if descriptor >= 0 {
      problem = StandardStreams.write(Array(text.utf8), to: descriptor) ?? 0
      if problem == 0, fchmod(descriptor, mode) != 0 || fsync(descriptor) != 0 { problem = errno }
      close(descriptor)
      if problem == 0, rename(beside, path) != 0 { problem = errno }
    }
    guard problem == 0 else {
      unlink(beside)
      throw Failure(.cannotWrite, "Cannot write \(excerpt(path)): \(StandardStreams.words(problem)).")
    }
    known = stamp
  }
}
