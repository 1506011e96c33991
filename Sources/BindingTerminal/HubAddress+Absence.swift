public import BindingProtocol

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension HubAddress {
  /// Whether certainly nothing listens at the address: there is no such socket, or the connection is refused. False
  /// if that cannot be determined within 100 ms, as for another machine. Blocks the calling thread.
  public var isCertainlyAbsent: Bool {
    switch transport {
    case .ipc: isSocketAbsent
    case .tcp: isPortClosed
    }
  }

  private var isSocketAbsent: Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array(hostOrPath.utf8CString)
    // A name that begins with @ is in no directory.
    guard path.count <= MemoryLayout.size(ofValue: address.sun_path), path.first != CChar(UInt8(ascii: "@")) else {
      return false
    }
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      path.withUnsafeBytes { target.copyMemory(from: $0) }
    }
    let code = HubAddress.connect(AF_UNIX, to: address)
    return code == ENOENT || code == ECONNREFUSED || code == ENOTDIR
  }

  private var isPortClosed: Bool {
    guard let port = port.flatMap(UInt16.init(exactly:)) else { return false }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard inet_pton(AF_INET, hostOrPath == "localhost" ? "127.0.0.1" : hostOrPath, &address.sin_addr) == 1 else {
      return false
    }
    return HubAddress.connect(AF_INET, to: address) == ECONNREFUSED
  }

  /// Connects and closes the connection again.
  /// - Returns: 0, or the `errno` of the failure; `ETIMEDOUT` when connecting took too long.
  private static func connect<Address>(_ family: Int32, to address: Address) -> Int32 {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let result = withUnsafeBytes(of: address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { systemConnect(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
    }
    if result == 0 { return 0 }
    guard errno == EINPROGRESS else { return errno }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&waiting, 1, 100) == 1 else { return ETIMEDOUT }
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
  }

  private static func systemConnect(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t
  ) -> Int32 {
    #if canImport(Darwin)
      Darwin.connect(descriptor, address, length)
    #elseif canImport(Musl)
      Musl.connect(descriptor, address, length)
    #else
      Glibc.connect(descriptor, address, length)
    #endif
  }
}
