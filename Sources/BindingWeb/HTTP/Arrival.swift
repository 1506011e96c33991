import NIOCore
import NIOHTTP1

/// A request, and how it has reached the gateway.
struct Arrival {
  /// The request, with the `Host` that the browser sent.
  var head: HTTPRequestHead
  /// The connection's address here, `HOST:PORT`.
  let local: String?
  /// The browser's address, as far as named proxies tell it; nil: unknown.
  let client: NumericAddress?
  /// The scheme that the browser uses, as a named proxy tells it.
  let scheme: String?
  /// Whether it carries forwarding headers that are not believed, because no named proxy sent it.
  let hasIgnoredHeaders: Bool

  /// - Parameter proxies: those whose headers are believed.
  init(of head: HTTPRequestHead, on channel: any Channel, proxies: [WebProxy]) {
    let remote = NumericAddress(channel.remoteAddress)
    let isForwarded = Forwarding.isIn(head.headers)
    let isBelieved = remote.map { remote in proxies.contains { $0.contains(remote) } } ?? false
    self.head = head
    local = Arrival.host(of: channel.localAddress)
    hasIgnoredHeaders = isForwarded && !isBelieved
    guard isForwarded, isBelieved else {
      (client, scheme) = (remote, nil)
      return
    }
    let told = Forwarding(head.headers, proxies: proxies)
    (client, scheme) = (told.client ?? remote, told.scheme)
    if let host = told.host, head.headers["host"].count == 1 {
      self.head.headers.replaceOrAdd(name: "Host", value: host)
    }
  }

  private static func host(of address: SocketAddress?) -> String? {
    guard let number = NumericAddress(address), let port = address?.port else { return nil }
    return "\(number.host):\(port)"
  }
}
