import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A ZeroMQ socket. It belongs to the thread that made it: it cannot be copied or sent to another thread, and debug
/// builds check the thread at each call.
///
/// The initialiser overrides libzmq's unsuitable defaults; ``set(_:)`` can change them again:
/// - every kind: a handshake must end within 5 s; no lingering at close
/// - `sub`: no limit on queued subscriptions, which libzmq would silently drop (bound their number yourself, and
///   keep polling the socket: it subscribes again after a reconnect only while being polled)
/// - `dealer`: a fresh random routing id, and no reconnecting. The messages of a dealer that reconnects under its
///   old id before the ROUTER has dropped the old connection are lost permanently; so one dealer is one connection.
/// - `router`: sending to an unknown id is reported as ``SendOutcome/hostUnreachable``; a claimed id is not handed
///   over
/// - `xpub`: reports every subscription, including repeated ones
package struct Socket: ~Copyable {
  /// The pattern of a socket. `ZMQ_XPUB_MANUAL` and the request kinds are left out on purpose.
  package enum Kind: String, CaseIterable, Sendable {
    case dealer, router, xpub, sub, pub, pair
  }

  /// The pattern of this socket.
  package let kind: Kind
  /// Duplicates `core.handle`, which would cost a load and a check per message.
  @usableFromInline let handle: UnsafeMutableRawPointer
  let core: SocketCore

  /// Makes a socket that is neither bound nor connected.
  ///
  /// - Throws: `EMFILE` past the context's number of sockets, `ETERM` after its shutdown.
  package init(_ kind: Kind, in context: Context) throws(ZeroMQError) {
    self.init(core: try SocketCore(kind, in: context))
  }

  /// Cannot fail: the core has done everything that can.
  init(core: SocketCore) {
    kind = core.kind
    handle = core.handle
    self.core = core
  }

  deinit { core.close() }

  /// Closes after sending queued messages for at most this time (the context's end waits for it; negative: no
  /// limit). Without this call a socket closes when it goes out of scope, lingering as its option says. Either way
  /// libzmq finishes in the background: the endpoint is free a moment later.
  package consuming func close(lingerMilliseconds: Int) throws(ZeroMQError) {
    try set(.linger(milliseconds: lingerMilliseconds))
  }

  /// Sets an option.
  package borrowing func set(_ option: SocketOption) throws(ZeroMQError) { try core.set(option) }

  /// Sets the options in this order; stops at the first that is refused.
  package borrowing func set(_ options: [SocketOption]) throws(ZeroMQError) {
    for option in options { try core.set(option) }
  }

  /// Listens. The endpoint may end in `:*` (tcp) or be `ipc://*`: ``lastEndpoint()`` returns the one that was
  /// chosen.
  ///
  /// Binding `ipc://` silently takes the path from its current owner: hold an ``EndpointLock``. A file there that
  /// is not a socket is left alone and reported as `EEXIST`.
  /// - Throws: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`, `ENOENT`, `EINVAL`, `ENAMETOOLONG` and others.
  package borrowing func bind(_ endpoint: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try Self.checkPath(of: endpoint)
    try retryingInterruptions("zmq_bind", endpoint) { zmq_bind(handle, endpoint) }
  }

  /// Begins to connect; only ``SocketEvents`` reports whether that succeeded.
  package borrowing func connect(_ endpoint: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try retryingInterruptions("zmq_connect", endpoint) { zmq_connect(handle, endpoint) }
  }

  /// Stops listening and ends every connection that was accepted at this endpoint, named as ``lastEndpoint()``
  /// returned it.
  ///
  /// The connections end while the socket continues to be polled.
  /// - Throws: `ENOENT` if not bound.
  package borrowing func unbind(_ endpoint: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try retryingInterruptions("zmq_unbind", endpoint) { zmq_unbind(handle, endpoint) }
  }

  /// Ends the connection to this endpoint, while the socket continues to be polled.
  /// - Throws: `ENOENT` if there is none.
  package borrowing func disconnect(_ endpoint: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try retryingInterruptions("zmq_disconnect", endpoint) { zmq_disconnect(handle, endpoint) }
  }

  /// On a `sub`: subscribes to messages that begin with these bytes. Subscribing twice needs unsubscribing twice.
  package borrowing func subscribe(_ prefix: UnsafeRawBufferPointer) throws(ZeroMQError) {
    try core.setBytes(ZMQ_SUBSCRIBE, prefix, "ZMQ_SUBSCRIBE")
  }

  /// On a `sub`: subscribes to messages that begin with these bytes. Subscribing twice needs unsubscribing twice.
  package borrowing func subscribe(_ prefix: [UInt8]) throws(ZeroMQError) {
    try prefix.withUnsafeBufferPointer { (bytes) throws(ZeroMQError) in try subscribe(UnsafeRawBufferPointer(bytes)) }
  }

  /// On a `sub`: undoes one ``subscribe(_:)-(UnsafeRawBufferPointer)`` of the same bytes.
  package borrowing func unsubscribe(_ prefix: UnsafeRawBufferPointer) throws(ZeroMQError) {
    try core.setBytes(ZMQ_UNSUBSCRIBE, prefix, "ZMQ_UNSUBSCRIBE")
  }

  /// On a `sub`: undoes one ``subscribe(_:)-([UInt8])`` of the same bytes.
  package borrowing func unsubscribe(_ prefix: [UInt8]) throws(ZeroMQError) {
    try prefix.withUnsafeBufferPointer { (bytes) throws(ZeroMQError) in try unsubscribe(UnsafeRawBufferPointer(bytes)) }
  }

  /// Waits for this socket alone, in milliseconds; negative: no limit. See ``Poller/wait(timeoutMilliseconds:)``.
  /// For tools and tests.
  package borrowing func wait(for interest: Readiness, timeoutMilliseconds: Int) throws(ZeroMQError) -> Bool {
    assert(isOnItsThread)
    var poller = Poller()
    _ = poller.add(self, for: interest)
    return try poller.wait(timeoutMilliseconds: timeoutMilliseconds) > 0
  }

  /// For assertions: whether the current thread made the socket.
  @usableFromInline var isOnItsThread: Bool { core.isOnItsThread }

  /// Throws `EEXIST` if a file that is not a socket is at the endpoint's path, since binding would remove it.
  private static func checkPath(of endpoint: String) throws(ZeroMQError) {
    if let path = ipcPath(of: endpoint), isOccupiedByNonSocket(path) {
      throw ZeroMQError(code: ErrorName.exists, call: "zmq_bind", subject: endpoint)
    }
  }

  private static func ipcPath(of endpoint: String) -> String? {
    guard endpoint.hasPrefix("ipc://") else { return nil }
    let path = String(endpoint.dropFirst("ipc://".count))
    return path == "*" || path.hasPrefix("@") ? nil : path
  }

  /// libzmq removes any file at the path before it binds.
  private static func isOccupiedByNonSocket(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
  }
}

/// A socket stays on its thread.
@available(*, unavailable)
extension Socket: Sendable {}
