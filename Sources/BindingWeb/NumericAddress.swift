import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A numeric network address without a port: 16 bytes, those of IPv4 mapped as in RFC 4291, 2.5.5.2, because a socket
/// for both families shows them so.
struct NumericAddress: Hashable, CustomStringConvertible {
  let bytes: [UInt8]

  private static let prefix: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]

  var isIPv4: Bool { bytes.starts(with: NumericAddress.prefix) }

  /// The 4 bytes of an IPv4 address, or the 16 of an IPv6 address; nil for another number of bytes.
  init?(packed: [UInt8]) {
    guard packed.count == 4 || packed.count == 16 else { return nil }
    bytes = packed.count == 4 ? NumericAddress.prefix + packed : packed
  }

  /// Nil if the text is no numeric address.
  init?(_ text: String) {
    var number = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &number) == 1 {
      bytes = NumericAddress.prefix + number[..<4]
    } else if inet_pton(AF_INET6, text, &number) == 1 {
      bytes = number
    } else {
      return nil
    }
  }

  /// Nil for the address of a socket in the file system.
  init?(_ address: SocketAddress?) {
    guard let text = address?.ipAddress else { return nil }
    self.init(text)
  }

  var isLoopback: Bool { isIPv4 ? bytes[12] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1 }

  /// As it stands in an address with a port: IPv6 in brackets.
  var host: String { isIPv4 ? description : "[\(description)]" }

  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    let packed = isIPv4 ? Array(bytes.suffix(4)) : bytes
    inet_ntop(isIPv4 ? AF_INET : AF_INET6, packed, &text, socklen_t(text.count))
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
