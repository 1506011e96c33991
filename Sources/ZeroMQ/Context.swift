import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Owns the I/O threads and the `inproc://` names of its sockets. All threads may share it.
///
/// Sockets keep their context alive. When the last reference is gone, the context ends; it first waits while closed
/// sockets linger to send. Sockets do not linger unless asked to.
package final class Context: Sendable {
  // SAFETY: a context handle may be used from any thread; it is valid until `deinit`.
  nonisolated(unsafe) let handle: UnsafeMutableRawPointer

  /// Makes a context without sockets.
  ///
  /// - Parameters:
  ///   - ioThreads: threads that move bytes, 1 or more; one serves about 1 GB/s.
  ///   - maximumSockets: sockets that may be open at the same time, 1 to 65,535; monitors count too.
  /// - Throws: `EINVAL` for a number out of range, `EMFILE` if no file descriptors are left.
  package init(ioThreads: Int = 1, maximumSockets: Int = 1023) throws(ZeroMQError) {
    LibraryRandomness.seedOnce()
    guard let handle = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
    self.handle = handle
    // Without `ZMQ_BLOCKY` a new socket does not linger, so ending the context cannot hang on an unreachable peer.
    try set(ZMQ_BLOCKY, to: 0, "ZMQ_BLOCKY")
    try set(ZMQ_IO_THREADS, to: ioThreads, "ZMQ_IO_THREADS \(ioThreads)", atLeast: 1)
    try set(ZMQ_MAX_SOCKETS, to: maximumSockets, "ZMQ_MAX_SOCKETS \(maximumSockets)", atLeast: 1)
  }

  deinit {
    while zmq_ctx_term(handle) != 0, zmq_errno() == ErrorName.interrupted {}
  }

  /// Makes every call on every socket of this context fail with an error whose ``ZeroMQError/isShutdown`` is true,
  /// including polls that are waiting now. Callable from any thread, any number of times.
  package func shutdown() {
    zmq_ctx_shutdown(handle)
  }

  /// The version of the loaded library, as in `4.3.4`.
  package static var libraryVersion: String {
    var major: Int32 = 0
    var minor: Int32 = 0
    var patch: Int32 = 0
    zmq_version(&major, &minor, &patch)
    return "\(major).\(minor).\(patch)"
  }

  /// Whether the loaded library can encrypt connections.
  package static var canEncrypt: Bool { zmq_has("curve") == 1 }

  private func set(
    _ option: Int32, to value: Int, _ subject: @autoclosure () -> String, atLeast minimum: Int = 0
  ) throws(ZeroMQError) {
    guard value >= minimum, let number = Int32(exactly: value) else {
      throw ZeroMQError(code: ErrorName.invalid, call: "zmq_ctx_set", subject: subject())
    }
    try retryingInterruptions("zmq_ctx_set", subject()) { zmq_ctx_set(handle, option, number) }
  }
}

/// Seeds `rand()`, from which libzmq draws routing ids and reconnect jitter without ever seeding it. Unseeded, all
/// processes would draw the same numbers, and a client that claims the id which a ROUTER assigns next makes that
/// process abort.
enum LibraryRandomness {
  // SAFETY: written once, inside the initialiser of `seeded`, which the language runs once and before any read.
  nonisolated(unsafe) private(set) static var seedingCount = 0

  static func seedOnce() { _ = seeded }

  private static let seeded: Void = {
    srand(UInt32.random(in: .min ... .max))
    seedingCount += 1
  }()
}
