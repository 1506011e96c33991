import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A plain TCP socket on the loopback interface, for talking to libzmq without libzmq.
final class RawConnection: Sendable {
  let fileDescriptor: Int32

  init(fileDescriptor: Int32) { self.fileDescriptor = fileDescriptor }

  /// Creates a socket that is not connected yet.
  init() throws {
    #if canImport(Glibc)
      fileDescriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      fileDescriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    if fileDescriptor < 0 { throw ZeroMQError.last("socket") }
  }

  deinit { close(fileDescriptor) }

  static func connected(to endpoint: String) throws -> RawConnection {
    let connection = try RawConnection()
    guard connection.connect(port: try port(of: endpoint)) else { throw ZeroMQError.last("connect", endpoint) }
    return connection
  }

  /// Reserves a port that refuses all connections.
  static func reserved() throws -> RawConnection {
    let connection = try RawConnection()
    guard withAddress(port: 0, { bind(connection.fileDescriptor, $0, $1) }) == 0 else { throw ZeroMQError.last("bind") }
    return connection
  }

  static func listening() throws -> RawConnection {
    let connection = try reserved()
    guard listen(connection.fileDescriptor, 16) == 0 else { throw ZeroMQError.last("listen") }
    return connection
  }

  func connect(port: UInt16) -> Bool {
    Self.withAddress(port: port) { Glibc.connect(fileDescriptor, $0, $1) } == 0
  }

  var localPort: UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(fileDescriptor, $0, &size) }
      return UInt16(bigEndian: $0.pointee.sin_port)
    }
  }

  func send(_ bytes: [UInt8]) { _ = write(fileDescriptor, bytes, bytes.count) }

  /// Returns whether all bytes were sent. Raises no signal when the other side has closed.
  func sendAll(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(fileDescriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  /// Waits for `count` bytes; returns fewer when the other side has closed.
  func receive(_ count: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(fileDescriptor, &buffer, count, Int32(MSG_WAITALL))
    return Array(buffer.prefix(max(received, 0)))
  }

  static func port(of endpoint: String) throws -> UInt16 {
    try #require(endpoint.split(separator: ":").last.flatMap { UInt16($0) })
  }

  private static func withAddress<Result>(
    port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}

/// A relay between a dealer and a router that can stop forwarding, or drop one side and keep the other.
final class Relay: Sendable {
  private struct Pair {
    var near: RawConnection?
    var far: RawConnection
  }

  let endpoint: String
  private let pairs = Shared<[Pair]>([])
  private let isPassing = Shared(true)
  private let isEnding = Shared(false)
  private let wakeup: Wakeup

  init(to endpoint: String) throws {
    let listener = try RawConnection.listening()
    self.endpoint = "tcp://127.0.0.1:\(listener.localPort)"
    wakeup = try Wakeup()
    _ = try SocketThread(name: "relay") { [pairs, isPassing, isEnding, wakeup] in
      try? Self.run(listener, endpoint, pairs, isPassing, isEnding, wakeup)
    }
  }

  deinit {
    isEnding.current = true
    wakeup.signal()
  }

  /// Stops forwarding without notifying either side.
  func fallSilent() { isPassing.current = false }

  /// Closes the near sides, those that connected to the relay; the far sides do not notice.
  func loseNearSides() {
    pairs.with { pairs in
      for index in pairs.indices { pairs[index].near = nil }
    }
    wakeup.signal()
  }

  private static func run(
    _ listener: RawConnection, _ endpoint: String, _ pairs: Shared<[Pair]>, _ isPassing: Shared<Bool>,
    _ isEnding: Shared<Bool>, _ wakeup: Wakeup
  ) throws {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !isEnding.current {
      var descriptors = [wakeup.fileDescriptor, listener.fileDescriptor]
      let open = pairs.current
      if isPassing.current {
        descriptors += open.flatMap { [$0.near?.fileDescriptor ?? -1, $0.far.fileDescriptor] }
      }
      var items = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      poll(&items, nfds_t(items.count), -1)
      wakeup.clear()
      if items[1].revents != 0 {
        let near = RawConnection(fileDescriptor: accept(listener.fileDescriptor, nil, nil))
        let far = try RawConnection.connected(to: endpoint)
        pairs.with { $0.append(Pair(near: near, far: far)) }
      }
      for (index, pair) in open.enumerated() where items.count > 2 {
        if items[2 + index * 2].revents != 0 { pass(from: pair.near, to: pair.far, &buffer) }
        if items[3 + index * 2].revents != 0 { pass(from: pair.far, to: pair.near, &buffer) }
      }
    }
  }

  /// Forwards bytes once. Bytes for a dropped side are discarded.
  private static func pass(from source: RawConnection?, to target: RawConnection?, _ buffer: inout [UInt8]) {
    guard let source else { return }
    let count = recv(source.fileDescriptor, &buffer, buffer.count, 0)
    guard count > 0, let target else { return }
    _ = Glibc.send(target.fileDescriptor, buffer, count, Int32(MSG_NOSIGNAL))
  }
}
