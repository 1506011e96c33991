#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Ends a single connection of a socket that has many, which libzmq has no call for.
package enum ConnectionCut {
  /// Shuts the connection down in both directions. libzmq then notices, closes it and reports it to
  /// ``SocketEvents``.
  ///
  /// Only a connected stream socket is touched, whatever else the number may refer to by now. Between the receipt
  /// of a message and this call the number can have passed to a newer connection. That one is then cut instead and
  /// reconnects by itself, so cut immediately, on the thread that received.
  ///
  /// - Parameter fileDescriptor: from ``Message/sourceFileDescriptor`` or ``SocketEvent``.
  /// - Returns: whether there was a connection to cut.
  @discardableResult
  package static func shutdownConnection(fileDescriptor: Int32) -> Bool {
    guard isConnectedStream(fileDescriptor) else { return false }
    return shutdown(fileDescriptor, Int32(SHUT_RDWR)) == 0
  }

  /// The peer of a Unix-domain socket has no name, yet `getpeername` succeeds; a listener has no peer at all.
  private static func isConnectedStream(_ fileDescriptor: Int32) -> Bool {
    var type: Int32 = 0
    var typeSize = socklen_t(MemoryLayout<Int32>.size)
    guard fileDescriptor >= 0, getsockopt(fileDescriptor, SOL_SOCKET, SO_TYPE, &type, &typeSize) == 0 else {
      return false
    }
    guard type == streamType else { return false }
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress else { return false }
      return getpeername(fileDescriptor, start.assumingMemoryBound(to: sockaddr.self), &size) == 0
    }
  }

  private static var streamType: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      Int32(SOCK_STREAM)
    #endif
  }
}
