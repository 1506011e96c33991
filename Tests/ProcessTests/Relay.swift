import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Forwards bytes between its own path and a hub's, and can drop the peers' side while the hub's side stays open.
final class Relay: @unchecked Sendable {  // SAFETY: mutable state is touched only under `lock`
  private let hubPath: String
  private let listener: Int32
  private let lock = NSLock()
  private var peerSides: [Int32] = []
  private var hubSides: [Int32] = []

  /// - Parameters:
  ///   - path: the path at which peers connect.
  ///   - hubPath: the path at which the hub listens.
  init(at path: String, to hubPath: String) throws {
    self.hubPath = hubPath
    listener = Relay.newSocket()
    guard Relay.withAddress(path, { Glibc.bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    let (listening, relay) = (self.listener, Weak(self))
    Thread.detachNewThread {
      while case let peer = accept(listening, nil, nil), peer >= 0 { relay.value?.adopt(peer) }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    for side in peerSides + hubSides {
      shutdown(side, Int32(SHUT_RDWR))
      close(side)
    }
  }

  /// The number of connections so far.
  var connections: Int { lock.withLock { hubSides.count } }

  /// Ends every connection to the peers without notifying the hub.
  func losePeerSides() {
    lock.withLock {
      for side in peerSides { shutdown(side, Int32(SHUT_RDWR)) }
    }
  }

  private func adopt(_ peer: Int32) {
    guard let hub = Relay.connected(to: hubPath) else {
      close(peer)
      return
    }
    lock.withLock {
      peerSides.append(peer)
      hubSides.append(hub)
    }
    Relay.copy(from: peer, to: hub)
    Relay.copy(from: hub, to: peer)
  }

  /// Copies until either side ends; the end itself is not forwarded.
  private static func copy(from source: Int32, to target: Int32) {
    Thread.detachNewThread {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      while case let count = read(source, &bytes, bytes.count), count > 0 {
        var sent = 0
        while sent < count {
          let more = bytes.withUnsafeBytes { part in
            // SAFETY: the buffer is never empty.
            send(target, part.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
          }
          if more <= 0 { return }
          sent += more
        }
      }
    }
  }

  /// Connects to a Unix-domain socket; nil if the connection is refused.
  static func connected(to path: String) -> Int32? {
    let socket = newSocket()
    guard withAddress(path, { connect(socket, $0, $1) }) == 0 else {
      close(socket)
      return nil
    }
    return socket
  }

  private static func newSocket() -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }

  private static func withAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      for (index, byte) in path.utf8.prefix(buffer.count - 1).enumerated() { buffer[index] = byte }
    }
    return withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}

/// A reference that does not keep its object alive.
// SAFETY: set once; reading a weak reference is safe on any thread.
private final class Weak<Object: AnyObject>: @unchecked Sendable {
  private(set) weak var value: Object?
  init(_ value: Object) { self.value = value }
}
