import CZMQGuard

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
    guard let number else {
      try socket.bind(endpoint)
      return false
    }
    czmq_guard_begin(number)
    do throws(ZeroMQError) {
      try socket.bind(endpoint)
    } catch {
      _ = czmq_guard_end()
      throw error
    }
    return czmq_guard_end() > 0
  }
}
