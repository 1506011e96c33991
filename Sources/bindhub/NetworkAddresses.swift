import BindingProtocol

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The addresses by which other machines may reach this one.
enum NetworkAddresses {
  /// The addresses to try for one on which a hub listens: one that stands for all gives those of this machine's
  /// networks.
  static func concrete(_ address: HubAddress) -> [HubAddress] {
    guard let port = address.port else { return [] }
    let found: [String]
    switch address.hostOrPath {
    case "0.0.0.0", "*": found = hosts(AF_INET)
    case "[::]": found = hosts(AF_INET6).map { "[\($0)]" } + hosts(AF_INET)
    default: return [address]
    }
    return found.map { HubAddress(tcp: $0, port: port) }
  }

  /// The numeric addresses of the interfaces that are up, without loopback and those valid on one link only.
  private static func hosts(_ family: Int32) -> [String] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var hosts: [String] = []
    var next = list
    while let entry = next {
      next = entry.pointee.ifa_next
      guard let address = entry.pointee.ifa_addr, Int32(address.pointee.sa_family) == family else { continue }
      let flags = Int32(bitPattern: UInt32(entry.pointee.ifa_flags))
      guard flags & isUp != 0, flags & isLoopback == 0 else { continue }
      let size =
        family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
      var text = [CChar](repeating: 0, count: 64)
      guard getnameinfo(address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
        continue
      }
      let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if !host.contains("%"), !host.hasPrefix("169.254."), !hosts.contains(host) { hosts.append(host) }
    }
    return hosts
  }

  private static let isUp = Int32(IFF_UP)
  private static let isLoopback = Int32(IFF_LOOPBACK)
}
