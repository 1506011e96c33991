import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A plain TCP connection to a gateway that can send what no browser would. Use it on the test's thread only; it
/// waits at most 20 s.
final class RawClient {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private(set) var hasEnded = false

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter receiveBytes: the size of the receive buffer in bytes; nil for the system's default.
  init(port: Int, receiveBytes: Int32? = nil) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    if var receiveBytes {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(description: "connect: \(String(cString: strerror(errno)))") }
  }

  deinit { close(descriptor) }

  /// Sends all bytes, unless the other side has closed.
  func send(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        #if canImport(Darwin)
          Darwin.send(descriptor, $0.baseAddress, $0.count, 0)
        #elseif canImport(Musl)
          Musl.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        #else
          Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        #endif
      }
      if count <= 0 { return }
      sent += count
    }
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Sends all bytes, or nothing if the socket is not writable now.
  func sendWithoutWaiting(_ bytes: [UInt8]) {
    var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if poll(&item, 1, 0) > 0 { send(bytes) }
  }

  /// Closes the sending direction.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  // MARK: HTTP

  struct Reply {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    subscript(name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }
  }

  /// Sends a request as a browser would and returns the reply.
  func ask(_ method: String = "GET", _ target: String, _ more: [String] = [], host: String) throws -> Reply {
    send(
      ([
        "\(method) \(target) HTTP/1.1", "Host: \(host)",
      ] + more).joined(separator: "\r\n") + "\r\n\r\n")
    return try reply(hasBody: method != "HEAD")
  }

  func reply(hasBody: Bool = true) throws -> Reply {
    let head = try take(through: Array("\r\n\r\n".utf8))
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw Failure(description: "no status in \(lines)")
    }
    let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (line[..<colon].lowercased(), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
    var reply = Reply(status: status, headers: headers, body: [])
    if hasBody, status != 304, status != 101 { reply.body = try take(Int(reply["content-length"] ?? "0") ?? 0) }
    return reply
  }

  /// Whether the other side closes, possibly after more bytes.
  func ends() -> Bool {
    while !hasEnded { if (try? fill()) == nil { return hasEnded } }
    return true
  }

  // MARK: WebSocket

  struct Frame: Equatable {
    var opcode: UInt8
    var payload: [UInt8]

    var text: String { String(decoding: payload, as: UTF8.self) }
    /// The status of a close frame.
    var code: Int? { opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
  }

  func upgrade(_ more: [String], target: String = "/bind", host: String) throws -> Reply {
    try ask(
      "GET", target,
      [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      ] + more, host: host)
  }

  /// - Parameter first: the frame's first byte: FIN, reserved bits, opcode.
  func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) {
    send(RawClient.frame(first, payload, isMasked: isMasked))
  }

  func sendText(_ text: String) { frame(0x81, Array(text.utf8)) }

  static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
    let mask: [UInt8] = [0x12, 0x34, 0x56, 0x78]
    let bit: UInt8 = isMasked ? 0x80 : 0
    var bytes = [first]
    switch payload.count {
    case 0..<126: bytes.append(bit | UInt8(payload.count))
    case 126..<65_536: bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default: bytes += [bit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    if isMasked {
      bytes += mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    } else {
      bytes += payload
    }
    return bytes
  }

  /// Returns the next frame, pings and texts included.
  func frame() throws -> Frame {
    let head = try take(2)
    var length = Int(head[1] & 0x7F)
    if length == 126 { length = try take(2).reduce(0) { $0 << 8 | Int($1) } }
    if length == 127 { length = try take(8).reduce(0) { $0 << 8 | Int($1) } }
    return Frame(opcode: head[0] & 0x0F, payload: try take(length))
  }

  /// Returns the next matching frame and skips those before it.
  func frame(where matches: (Frame) -> Bool) throws -> Frame {
    while true {
      let frame = try frame()
      if matches(frame) { return frame }
    }
  }

  /// The code with which the other side closes.
  func closeCode() throws -> Int? { try frame { $0.opcode == 8 }.code }

  // MARK: Bytes

  private func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try fill() }
    defer { buffer.removeFirst(count) }
    return Array(buffer.prefix(count))
  }

  private func take(through mark: [UInt8]) throws -> [UInt8] {
    while true {
      if buffer.count >= mark.count {
        for start in 0...(buffer.count - mark.count) where Array(buffer[start..<start + mark.count]) == mark {
          return try take(start + mark.count)
        }
      }
      try fill()
    }
  }

  private func fill() throws {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&item, 1, 20_000) > 0 else { throw Failure(description: "nothing came for 20 s") }
    var part = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &part, part.count, 0)
    if count <= 0 {
      hasEnded = true
      throw Failure(description: "the other side closed")
    }
    buffer += part[..<count]
  }
}
