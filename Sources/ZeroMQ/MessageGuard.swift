import CZMQ
import CZMQGuard

/// Bounds one message, parts and all, on every connection that is accepted at the endpoints bound with it.
///
/// libzmq bounds a part (`ZMQ_MAXMSGSIZE`) and counts whole messages; the parts of a message that never ends it
/// collects until no memory is left. A guard looks at the frames of such a connection before libzmq does, and ends it
/// for libzmq when a message goes past a bound. It also closes connections as they come when hardly any file
/// descriptors are left, where libzmq would end the process.
///
/// The context must have one I/O thread. What CURVE encrypts is not seen: there a part looks like a message. Safe on
/// any thread; must outlive the sockets that were bound with it.
public final class MessageGuard: Sendable {
  /// Nil: all are in use, and nothing is guarded.
  private let number: Int32?

  /// - Parameters:
  ///   - maximumParts: of one message, at least 1.
  ///   - maximumBytes: of all parts of one message together.
  public init(maximumParts: Int, maximumBytes: Int) {
    let number = czmq_guard_open(UInt32(clamping: max(maximumParts, 1)), UInt64(clamping: maximumBytes))
    self.number = number < 0 ? nil : number
  }

  deinit { if let number { czmq_guard_close(number) } }

  /// Connections that were ended since a message went past a bound, or since they spoke ZMTP 1 or 2.
  public var cutConnections: UInt64 { number.map(czmq_guard_cut) ?? 0 }

  /// Connections that were closed as they came, since hardly any file descriptors were left.
  public var refusedConnections: UInt64 { number.map(czmq_guard_refused) ?? 0 }

  /// - Returns: whether libzmq listens under this guard.
  fileprivate func whileBinding(_ bind: () throws(ZeroMQError) -> Void) throws(ZeroMQError) -> Bool {
    guard let number else {
      try bind()
      return false
    }
    czmq_guard_begin(number)
    do throws(ZeroMQError) {
      try bind()
    } catch {
      _ = czmq_guard_end()
      throw error
    }
    return czmq_guard_end() > 0
  }
}

extension Socket {
  /// Listens as ``bind(_:)`` does, under a guard.
  /// - Returns: whether the guard works. It does on Linux, where libzmq calls the C library by symbols that a program
  /// may   define itself; on other systems, and where libzmq was loaded before the program's own code, it does not.
  public borrowing func bind(_ endpoint: String, guardedBy messages: MessageGuard) throws(ZeroMQError) -> Bool {
    assert(isOnItsThread)
    try Self.checkPath(of: endpoint)
    return try messages.whileBinding { () throws(ZeroMQError) in
      try retryingInterruptions("zmq_bind", endpoint) { zmq_bind(handle, endpoint) }
    }
  }
}
