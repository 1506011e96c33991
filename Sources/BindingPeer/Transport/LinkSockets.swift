package import BindingProtocol
package import ZeroMQ

/// One request connection to a hub, from `connect` to its end.
package final class RequestLink {
  /// A connection that is not established in this time is given up.
  private static let connectMilliseconds: UInt64 = 2_000

  package let socket: Socket
  package var events: SocketEvents
  package var isOpen = false
  /// On the monotonic clock, milliseconds.
  package let givesUpAt: UInt64

  /// - Throws: `ZeroMQError` where the address cannot be connected to at all.
  package init(to address: HubAddress, by route: HubRoute, in context: Context, now: UInt64) throws(ZeroMQError) {
    socket = try Socket(.dealer, in: context)
    try socket.set([
      .immediate(true), .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000),
      .sendHighWaterMark(messages: 100_000), .receiveHighWaterMark(messages: 0),
      .ipv6(address.hostOrPath.hasPrefix("[")),
    ])
    try socket.set(route.options(to: address.description))
    events = try SocketEvents(of: socket)
    givesUpAt = now + RequestLink.connectMilliseconds
    try socket.connect(address.description)
  }
}

/// The publish connection beside it.
package final class PublishLink {
  package let socket: Socket

  /// - Throws: `ZeroMQError` where the endpoint cannot be connected to at all.
  package init(
    to endpoint: String, by route: HubRoute, sessionTopic: [UInt8], in context: Context
  ) throws(ZeroMQError) {
    socket = try Socket(.sub, in: context)
    try socket.set([
      .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000), .receiveHighWaterMark(messages: 0),
      .ipv6(endpoint.hasPrefix("tcp://[")),
    ])
    try socket.set(route.options(to: endpoint))
    try socket.subscribe(sessionTopic)
    try socket.subscribe(Topics.bytes(Topics.heartbeat))
    try socket.connect(endpoint)
  }
}
