#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// System calls besides locks.
enum Platform {
  /// Lets other threads run for about this long, rather more than less.
  static func pause(microseconds: UInt32) { _ = usleep(microseconds) }

  /// Writes a line to standard error.
  static func printError(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
