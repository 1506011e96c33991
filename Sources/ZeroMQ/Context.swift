import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The home of sockets: their I/O threads and their `inproc://` names. May be shared by all threads.
///
/// Sockets keep their context alive. When the last reference is gone the context ends, which waits for what closed
/// sockets still linger to send; sockets linger for nothing unless asked to.
public final class Context: Sendable {
  // SAFETY: a context handle may be used from any thread; it is valid until `deinit`.
  nonisolated(unsafe) let handle: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - ioThreads: threads that move bytes, 1 or more; one serves about 1 GB/s.
  ///   - maximumSockets: sockets that may be open at once, 1 to 65,535 (monitors count too).
  /// - Throws: `EINVAL` for a number out of range, `EMFILE` without file descriptors left.
  public init(ioThreads: Int = 1, maximumSockets: Int = 1023) throws(ZeroMQError) {
    LibraryRandomness.seedOnce()
    guard let handle = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
    self.handle = handle
    // Off: a new socket then lingers for nothing, so that ending the context cannot hang on a peer that is away.
    try set(ZMQ_BLOCKY, to: 0, "ZMQ_BLOCKY")
    try set(ZMQ_IO_THREADS, to: ioThreads, "ZMQ_IO_THREADS \(ioThreads)", atLeast: 1)
    try set(ZMQ_MAX_SOCKETS, to: maximumSockets, "ZMQ_MAX_SOCKETS \(maximumSockets)", atLeast: 1)
  }

  deinit {
    while zmq_ctx_term(handle) != 0, zmq_errno() == ErrorName.interrupted {}
  }

  /// Makes every call on every socket of this context fail with an error whose ``ZeroMQError/isShutdown`` is true, also
  /// the polls that are waiting now. From any thread, any number of times.
  public func shutdown() {
    zmq_ctx_shutdown(handle)
  }

  /// The version of the library that is loaded, as in `4.3.4`.
  public static var libraryVersion: String {
    var major: Int32 = 0
    var minor: Int32 = 0
    var patch: Int32 = 0
    zmq_version(&major, &minor, &patch)
    return "\(major).\(minor).\(patch)"
  }

  private func set(
    _ option: Int32, to value: Int, _ subject: @autoclosure () -> String, atLeast minimum: Int = 0
  ) throws(ZeroMQError) {
    guard value >= minimum, let number = Int32(exactly: value) else {
      throw ZeroMQError(code: ErrorName.invalid, call: "zmq_ctx_set", subject: subject())
    }
    try retryingInterruptions("zmq_ctx_set", subject()) { zmq_ctx_set(handle, option, number) }
  }
}

/// libzmq draws routing ids and reconnect jitter from `rand()` and never seeds it. All processes would draw the same
/// numbers, and a client that claims the id which a ROUTER gives out next makes that process abort.
enum LibraryRandomness {
  // SAFETY: written once, inside the initialiser of `seeded`, which the language runs once and before any reader of it.
  nonisolated(unsafe) private(set) static var seedingCount = 0

  static func seedOnce() { _ = seeded }

  private static let seeded: Void = {
    srand(UInt32.random(in: .min ... .max))
    seedingCount += 1
  }()
}
