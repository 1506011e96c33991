import Foundation
import Testing

/// A connection to one of a hub's ports that sends ZMTP frames which libzmq would never send.
final class RawZMTP {
  private let socket: Int32

  /// - Parameters:
  ///   - endpoint: `ipc://PATH` or `tcp://127.0.0.1:PORT`.
  ///   - properties: claimed in the handshake beside the kind of socket.
  init(_ endpoint: String, kind: String, properties: [(name: String, value: String)] = []) throws {
    let connected: Int32? =
      if endpoint.hasPrefix("ipc://") {
        Relay.connected(to: String(endpoint.dropFirst(6)))
      } else {
        RawZMTP.connected(port: try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) }))
      }
    socket = try #require(connected)
    let start: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("NULL".utf8)
    var ready: [UInt8] = [5] + Array("READY".utf8)
    for (name, value) in [("Socket-Type", kind)] + properties {
      ready += [UInt8(name.utf8.count)] + Array(name.utf8) + [0, 0, 0, UInt8(value.utf8.count)] + Array(value.utf8)
    }
    try #require(send(start + [UInt8](repeating: 0, count: 64 - start.count) + [4, UInt8(ready.count)] + ready))
    // libzmq treats frames that arrive before its own greeting has left as errors.
    try #require(receive(64).count == 64)
    let head = receive(2)
    try #require(head.first == 4)
    _ = receive(Int(head[1]))
  }

  deinit { close(socket) }

  private func receive(_ count: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(socket, &buffer, count, Int32(MSG_WAITALL))
    return Array(buffer.prefix(max(received, 0)))
  }

  /// The next frame of at most 255 bytes; nil if none comes within 20 s.
  func frame() -> [UInt8]? {
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let head = receive(2)
    guard head.count == 2, head[0] & 2 == 0 else { return nil }
    return receive(Int(head[1]))
  }

  /// What has come within the time, at least one byte; nothing if the connection has ended.
  func some(milliseconds: Int) -> [UInt8] {
    var limit = timeval(tv_sec: milliseconds / 1_000, tv_usec: .init(milliseconds % 1_000 * 1_000))
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let received = recv(socket, &buffer, buffer.count, 0)
    return Array(buffer.prefix(max(received, 0)))
  }

  /// Whether the other side accepted all bytes.
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  static func part(_ size: Int) -> [UInt8] {
    guard size > 255 else { return [1, UInt8(size)] + [UInt8](repeating: 7, count: size) }
    let length = (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
    return [3] + length + [UInt8](repeating: 7, count: size)
  }

  static func whole(_ frame: [UInt8]) -> [UInt8] {
    guard frame.count > 255 else { return [0, UInt8(frame.count)] + frame }
    return [2] + (0..<8).map { UInt8(truncatingIfNeeded: frame.count >> (56 - 8 * $0)) } + frame
  }

  private static func connected(port: UInt16) -> Int32? {
    let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if code == 0 { return socket }
    close(socket)
    return nil
  }
}
