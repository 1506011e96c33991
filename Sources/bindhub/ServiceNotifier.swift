import BindingTerminal
import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Tells the service manager that started this process, such as systemd, what the process does: that it is ready,
/// reloads or stops, and that it is alive. The way is that of sd_notify(3), a datagram to `$NOTIFY_SOCKET`. Without a
/// manager nothing is told, and what cannot be told is not: a service goes on without its manager.
///
/// May be called on any thread.
final class ServiceNotifier: Sendable {
  /// The socket that is sent from; nil: nobody asks.
  private let descriptor: Int32?
  private let address: (sockaddr_un, length: socklen_t)
  /// Without a sign of life for so long the manager restarts the process, microseconds; nil: it does not watch.
  private let watchdogMicroseconds: UInt64?
  /// What it was told that the process does; nil: it was not told that it is ready.
  private let status = Held<String?>(nil)

  /// - Parameters:
  ///   - environment: that of the process.
  ///   - process: its number. Child processes of a service have the same environment, and are not watched.
  init(environment: [String: String], process: Int32 = getpid()) {
    let address = environment["NOTIFY_SOCKET"].flatMap(ServiceNotifier.address)
    #if canImport(Glibc)
      let kind = Int32(SOCK_DGRAM.rawValue)
    #else
      let kind = SOCK_DGRAM
    #endif
    let opened = address == nil ? -1 : socket(AF_UNIX, kind, 0)
    _ = fcntl(opened, F_SETFD, FD_CLOEXEC)
    descriptor = opened < 0 ? nil : opened
    self.address = address ?? (sockaddr_un(), 0)
    let isWatched = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
    let period = environment["WATCHDOG_USEC"].flatMap(UInt64.init) ?? 0
    watchdogMicroseconds = isWatched && opened >= 0 && period > 0 ? period : nil
  }

  deinit { if let descriptor { close(descriptor) } }

  /// The process serves.
  /// - Parameter status: what it does, for `systemctl status`.
  func isReady(_ status: String) {
    self.status.withLock { $0 = status }
    tell(["READY=1", ServiceNotifier.line(status)])
  }

  /// Reads the configuration of the process again.
  func reload(_ body: () -> Void) {
    let status = status.withLock { $0 }
    // systemd takes an end of a reload for that of this one only if it is later, by this clock.
    if status != nil { tell(["RELOADING=1", "MONOTONIC_USEC=\(ServiceNotifier.monotonicMicroseconds)"]) }
    body()
    if let status { isReady(status) }
  }

  /// The process ends.
  func isStopping(_ status: String) { tell(["STOPPING=1", ServiceNotifier.line(status)]) }

  /// Lets the process show that it is alive, if the manager watches it: three times in each period for which it waits,
  /// and at most every 10 ms.
  /// - Parameter ask: calls its argument if the part of the process that works is alive. Called on a queue of the
  ///   system.
  func feedWatchdog(_ ask: @escaping @Sendable (_ alive: @escaping @Sendable () -> Void) -> Void) {
    guard let watchdogMicroseconds else { return }
    let pause = DispatchTimeInterval.microseconds(max(Int(clamping: watchdogMicroseconds / 3), 10_000))
    DispatchQueue.global().async { self.feed(after: pause, ask) }
  }

  private func feed(
    after pause: DispatchTimeInterval, _ ask: @escaping @Sendable (_ alive: @escaping @Sendable () -> Void) -> Void
  ) {
    ask { self.tell(["WATCHDOG=1"]) }
    DispatchQueue.global().asyncAfter(deadline: .now() + pause) { self.feed(after: pause, ask) }
  }

  private func tell(_ lines: [String]) {
    guard let descriptor else { return }
    let text = Array(lines.joined(separator: "\n").utf8)
    #if canImport(Darwin)
      let flags: Int32 = MSG_DONTWAIT
    #else
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #endif
    withUnsafeBytes(of: address.0) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        _ = sendto(descriptor, text, text.count, flags, $0.baseAddress, address.length)
      }
    }
  }

  /// A path, or a name in no directory, which begins with `@`.
  private static func address(_ path: String) -> (sockaddr_un, length: socklen_t)? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard let first = bytes.first, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    switch first {
    case UInt8(ascii: "/"): break
    case UInt8(ascii: "@"): bytes[0] = 0
    default: return nil
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let begin = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? MemoryLayout<sa_family_t>.size
    return (address, socklen_t(begin + bytes.count))
  }

  private static func line(_ status: String) -> String { "STATUS=" + status.replacing("\n", with: " ") }

  private static var monotonicMicroseconds: UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1_000
  }
}
