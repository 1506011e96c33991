import BindingProtocol

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A program's output: data on standard output, everything else on standard error, each line written whole and
/// immediately. Callable from any thread.
public enum StandardStreams {
  /// The exit code of a program whose output cannot be written (EX_IOERR of sysexits).
  public static let unwritten: Int32 = 74

  /// Prints a line of data. If it cannot be written the program ends here: with `unwritten` and a sentence on
  /// standard error, or, if the reader of the pipe is gone, silently as by `SIGPIPE`.
  public static func print(_ line: String) { print(bytes: Array(line.utf8)) }

  /// Prints a line of data that is already UTF-8. If it cannot be written the program ends, as in `print(_:)`.
  public static func print(bytes: [UInt8]) {
    switch write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) {
    case nil: return
    case EPIPE?:
      // Ends with the same code even where the signal is ignored.
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
      _exit(128 + SIGPIPE)
    case let code?:
      complain("Cannot write to standard output: \(words(code)).")
      // Skips exit handlers: this may be a thread that they would wait for.
      _exit(unwritten)
    }
  }

  /// Prints one or more lines that are not data. Control characters are escaped, so untrusted text cannot affect a
  /// terminal. A write error is ignored.
  public static func complain(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { PrintedText.escaped(String($0)) }
    _ = write(Array(lines.joined(separator: "\n").utf8) + [UInt8(ascii: "\n")], to: STDERR_FILENO)
  }

  /// Prints text that is overwritten later, without a line end.
  public static func show(_ words: String) { _ = write(Array(words.utf8), to: STDERR_FILENO) }

  /// Ends the program with this exit code.
  public static func leave(_ code: Int32) -> Never { exit(code) }

  /// Writes all bytes, in as many calls as needed, and waits for a slow reader.
  /// - Returns: nil, or the `errno` if some bytes could not be written.
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
          // Another process has made the terminal or pipe non-blocking.
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&waiting, 1, -1)
        case let code: return code
        }
      }
      return nil
    }
  }

  /// The system's text for an `errno`.
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
