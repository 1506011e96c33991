import BindingProtocol
import Foundation

/// A connection over which anything can be sent, also what libzmq never would.
final class RawConnection {
  private let descriptor: Int32

  /// - Parameter endpoint: `ipc://PATH` or `tcp://127.0.0.1:PORT`.
  init(_ endpoint: String) throws {
    if endpoint.hasPrefix("ipc://") {
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: endpoint.dropFirst(6).utf8.prefix(107)) }
      try connect(&address)
    } else {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = (endpoint.split(separator: ":").last.flatMap { UInt16($0) } ?? 0).bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      try connect(&address)
    }
    var limit = timeval(tv_sec: 2, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  private func connect<Address>(_ address: inout Address) throws {
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    if code != 0 { throw AttackError.refused(errno: errno) }
  }

  /// Whether the other side has accepted all bytes.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Up to so many bytes; fewer when the other side ends, or sends no more within 2 s.
  func receive(_ count: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &buffer, count, Int32(MSG_WAITALL))
    return Array(buffer.prefix(max(received, 0)))
  }

  /// What begins a connection of ZMTP 3.
  static func greeting(_ mechanism: String) -> [UInt8] {
    let start: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array(mechanism.utf8)
    return start + [UInt8](repeating: 0, count: 64 - start.count)
  }

  static func ready(_ kind: String) -> [UInt8] {
    let body: [UInt8] =
      [5] + Array("READY".utf8) + [11] + Array("Socket-Type".utf8) + [0, 0, 0, UInt8(kind.utf8.count)]
      + Array(kind.utf8)
    return [4, UInt8(body.count)] + body
  }

  /// Completes a handshake without encryption.
  func greet(as kind: String) throws {
    send(RawConnection.greeting("NULL") + RawConnection.ready(kind))
    guard receive(64).count == 64 else { throw AttackError.otherEnd("no greeting") }
    let head = receive(2)
    guard head.count == 2, head[0] == 4 else { throw AttackError.otherEnd("no READY") }
    _ = receive(Int(head[1]))
  }
}
