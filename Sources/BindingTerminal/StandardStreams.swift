import BindingProtocol

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What a program prints: data on standard output, all else on standard error, each line written whole and at once. May
/// be called from any thread.
public enum StandardStreams {
  /// The code of a program whose output cannot be written (EX_IOERR of sysexits).
  public static let unwritten: Int32 = 74

  /// Prints a line of data. Where it cannot be written the program ends here: with `unwritten` and a sentence on
  /// standard error, or, if nobody reads a pipe any more, quietly as by `SIGPIPE`.
  public static func print(_ line: String) { print(bytes: Array(line.utf8)) }

  /// The same for a line that is UTF-8 already.
  public static func print(bytes: [UInt8]) {
    switch write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) {
    case nil: return
    case EPIPE?:
      // Where the signal is ignored, the end is the same as where it is not.
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
      _exit(128 + SIGPIPE)
    case let code?:
      complain("Standard output cannot be written: \(words(code)).")
      // Without what is done at a normal end: this may be a thread that an end would wait for.
      _exit(unwritten)
    }
  }

  /// Prints a line that is not data, or several. What others wrote may be in it: nothing of that does anything to a
  /// terminal. Where it cannot be printed there is nobody to tell.
  public static func complain(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { PrintedText.escaped(String($0)) }
    _ = write(Array(lines.joined(separator: "\n").utf8) + [UInt8(ascii: "\n")], to: STDERR_FILENO)
  }

  /// Prints words that are written over later, without an end of line.
  public static func show(_ words: String) { _ = write(Array(words.utf8), to: STDERR_FILENO) }

  /// Ends the program with that code.
  public static func leave(_ code: Int32) -> Never { exit(code) }

  /// Writes all bytes, however often it takes and however long the reader does.
  /// - Returns: nil, or the `errno` for which something was left.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    bytes.withUnsafeBytes { buffer in
      var left = buffer[...]
      while !left.isEmpty {
        let count = systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: left))
        if count >= 0 {
          left = left.dropFirst(count)
          continue
        }
        switch errno {
        case EINTR: continue
        case EAGAIN:
          // Somebody else has made the terminal or pipe one that does not wait.
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&waiting, 1, -1)
        case let code: return code
        }
      }
      return nil
    }
  }

  /// What the system says of an `errno`.
  public static func words(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

  private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}
