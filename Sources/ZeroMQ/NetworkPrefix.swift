#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The part of an IP address that stands for one site: the whole of an IPv4 address, the first 64 bits of an IPv6
/// address, of which a site has as many as it likes.
package struct NetworkPrefix: Hashable, Sendable {
  private let bits: UInt64
  private let isIPv6: Bool

  /// Reads an address as libzmq writes it; nil if it is none, such as that of an `ipc` connection.
  package init?(_ text: String) {
    var four = in_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      self.init(four: four.s_addr)
      return
    }
    var six = in6_addr()
    // An address of one link names its interface.
    guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &six) == 1 else { return nil }
    self.init(six)
  }

  /// The other side of a connection; nil if it has no IP address, or is gone.
  package init?(ofPeerOf fileDescriptor: Int32) {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let prefix: NetworkPrefix? = withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress,
        getpeername(fileDescriptor, start.assumingMemoryBound(to: sockaddr.self), &size) == 0
      else { return nil }
      switch Int32(start.assumingMemoryBound(to: sockaddr.self).pointee.sa_family) {
      case AF_INET:
        return NetworkPrefix(four: start.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_addr.s_addr)
      case AF_INET6: return NetworkPrefix(start.assumingMemoryBound(to: sockaddr_in6.self).pointee.sin6_addr)
      default: return nil
      }
    }
    guard let prefix else { return nil }
    self = prefix
  }

  private init(four address: UInt32) { (bits, isIPv6) = (UInt64(UInt32(bigEndian: address)), false) }

  private init(_ address: in6_addr) {
    let bytes = withUnsafeBytes(of: address) { Array($0) }
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    // An IPv4 address at a socket that also speaks IPv6.
    isIPv6 = !bytes.starts(with: mapped)
    bits = (isIPv6 ? bytes[..<8] : bytes[12...]).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
