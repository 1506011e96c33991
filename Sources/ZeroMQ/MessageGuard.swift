import CZMQ
import CZMQGuard

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Bounds each whole message, all parts together, on every connection accepted at the endpoints bound under this
/// guard.
///
/// libzmq bounds a part (`ZMQ_MAXMSGSIZE`) and counts whole messages, but it collects the parts of an endless
/// message until memory runs out. A guard sees the frames of such a connection before libzmq does, and makes libzmq
/// see the connection end when a message exceeds a bound. A guard also closes new connections when hardly any file
/// descriptors are left, where libzmq would end the process.
///
/// One I/O thread must accept the connections of an endpoint and serve them: a context of one, or
/// ``SocketOption/ioThread(_:)`` before the bind. CURVE encryption hides part boundaries: there a part looks like a
/// message.
/// Safe on any thread; must outlive the sockets that were bound under it.
package final class MessageGuard: Sendable {
  /// Nil if all guards are in use; then nothing is guarded.
  private let number: Int32?

  /// Reserves a guard with these bounds.
  ///
  /// - Parameters:
  ///   - maximumParts: parts of one message, at least 1.
  ///   - maximumBytes: bytes of all parts of one message together.
  package init(maximumParts: Int, maximumBytes: Int) {
    let number = czmq_guard_open(UInt32(clamping: max(maximumParts, 1)), UInt64(clamping: maximumBytes))
    self.number = number < 0 ? nil : number
  }

  deinit { if let number { czmq_guard_close(number) } }

  /// Connections that were ended because a message exceeded a bound, or because they spoke ZMTP 1 or 2.
  package var cutConnections: UInt64 { number.map(czmq_guard_cut) ?? 0 }

  /// Connections that were closed on arrival because hardly any file descriptors were left.
  package var refusedConnections: UInt64 { number.map(czmq_guard_refused) ?? 0 }

  /// Makes a socket listen under this guard, otherwise like ``Socket/bind(_:)``.
  ///
  /// - Returns: whether the guard works. It does on Linux, where libzmq calls the C library by symbols that a
  ///   program may define itself. It does not on other systems, or where libzmq was loaded before the program's own
  ///   code.
  package func bind(_ socket: borrowing Socket, to endpoint: String) throws(ZeroMQError) -> Bool {
    try listen(socket, at: endpoint).isGuarded
  }

  /// The same, and returns the listener, which `replace` can replace.
  package func listen(_ socket: borrowing Socket, at endpoint: String) throws(ZeroMQError) -> Listener {
    guard let number else {
      try socket.bind(endpoint)
      return Listener(endpoint: try socket.lastEndpoint(), descriptor: nil)
    }
    czmq_guard_begin(number)
    do throws(ZeroMQError) {
      try socket.bind(endpoint)
    } catch {
      _ = czmq_guard_end()
      throw error
    }
    let isGuarded = czmq_guard_end() > 0
    return Listener(endpoint: try socket.lastEndpoint(), descriptor: isGuarded ? czmq_guard_listener() : nil)
  }

  /// A place at which a socket accepts connections.
  package struct Listener: Hashable, Sendable {
    /// The endpoint, as libzmq names it.
    package let endpoint: String
    /// The listening descriptor; nil if it is not guarded.
    let descriptor: Int32?

    /// Whether the guard works.
    package var isGuarded: Bool { descriptor != nil }
  }

  /// Makes a socket accept connections at a `tcp` listener by the options that are set now, instead of those of before.
  /// Connections that it has accepted go on, and none that arrives meanwhile is refused. The earlier listener stays,
  /// silent, until the socket closes: it costs a descriptor.
  ///
  /// Without a working guard libzmq can only stop listening and begin again, which ends the connections too.
  package func replace(_ earlier: Listener, of socket: borrowing Socket) throws(ZeroMQError) -> Listener {
    guard let number, let descriptor = earlier.descriptor else {
      try socket.bindAgain(earlier.endpoint)
      return earlier
    }
    let copy = try retryingInterruptions("fcntl", "F_DUPFD_CLOEXEC") { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    guard czmq_guard_adopt(number, copy) != 0 else {
      close(copy)
      throw ZeroMQError(code: ErrorName.tooManyFiles, call: "czmq_guard_adopt", subject: earlier.endpoint)
    }
    do throws(ZeroMQError) {
      try socket.set(.listeningDescriptor(copy))
      try socket.bind(earlier.endpoint)
    } catch {
      try? socket.set(.listeningDescriptor(nil))
      close(copy)
      throw error
    }
    try socket.set(.listeningDescriptor(nil))
    _ = czmq_guard_pause(descriptor, 1)
    return Listener(endpoint: earlier.endpoint, descriptor: copy)
  }

  /// Undoes `replace`. Set the socket's options of before first.
  package func restore(
    _ earlier: Listener, insteadOf later: Listener, of socket: borrowing Socket
  ) throws(ZeroMQError) {
    guard let descriptor = earlier.descriptor, let replaced = later.descriptor else {
      return try socket.bindAgain(earlier.endpoint)
    }
    _ = czmq_guard_pause(descriptor, 0)
    _ = czmq_guard_pause(replaced, 1)
  }
}

extension Socket {
  /// Stops listening, which ends the connections, and listens again once libzmq has freed the endpoint.
  borrowing func bindAgain(_ endpoint: String) throws(ZeroMQError) {
    try unbind(endpoint)
    for _ in 0..<400 {
      do throws(ZeroMQError) {
        return try bind(endpoint)
      } catch {
        guard error.name == "EADDRINUSE" else { throw error }
        usleep(5_000)
      }
    }
    try bind(endpoint)
  }
}
