import BindingKeys
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Accepts connections, and sets up each for HTTP and the upgrade to a WebSocket.
enum Listener {
  /// Blocks until the address is bound. Connections are accepted from `GatewayLoop.start` on.
  static func listen(
    _ configuration: WebGateway.Configuration, loop: GatewayLoop, group: MultiThreadedEventLoopGroup
  ) throws -> any Channel {
    let limits = configuration.limits
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.autoRead, value: false)
      .serverChannelInitializer { channel in
        // When no file descriptors are left, pauses before accepting again instead of spinning.
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler()) }
      }
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(
        .writeBufferWaterMark, value: .init(low: limits.roomBytes, high: limits.fullBytes)
      )
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try setUp(channel, loop) }
      }
    let address = configuration.address
    return try bootstrap.bind(
      to: try address.numeric ?? SocketAddress.makeAddressResolvingHost(address.bareHost, port: address.port)
    ).wait()
  }

  /// Why listening failed.
  static func failure(_ error: any Error, at address: WebAddress) -> WebError {
    switch error {
    case let error as KeyError: .members(problem: error.description)
    case let error as IOError where error.errnoCode == EADDRINUSE: .addressInUse(address: address.description)
    case let error as IOError:
      .cannotListen(address: address.description, problem: String(cString: strerror(error.errnoCode)))
    case is SocketAddressError: .cannotListen(address: address.description, problem: "there is no such host")
    default: .cannotListen(address: address.description, problem: "\(error)")
    }
  }

  private static func setUp(_ channel: any Channel, _ loop: GatewayLoop) throws {
    let pipeline = channel.pipeline.syncOperations
    let limits = loop.configuration.limits
    guard let access = loop.router?.access else { throw ChannelError.ioOnClosedChannel }
    guard access.admits(channel.remoteAddress) else {
      loop.counters.count(.notByProxy)
      let words = "This port is for the reverse proxy of the pages; their address is \(access.origin)."
      return try pipeline.addHandler(TurnedAway(.closing(.forbidden, words, .notByProxy), limits: limits))
    }
    guard loop.admitConnection(channel) else {
      let words = "All \(limits.connections) connections are in use. Close other pages and try again."
      let answer = Answer.closing(.serviceUnavailable, words, .tooManyConnections)
      return try pipeline.addHandler(TurnedAway(access.tls == nil ? answer : nil, limits: limits))
    }
    try access.tls?.add(to: pipeline)
    let encoder = HTTPResponseEncoder()
    var decoding = NIOHTTPDecoderLimitConfiguration()
    decoding.maxHeaderFieldSize = limits.headerBytes
    decoding.maxHeaderListSize = limits.headerBytes
    decoding.maxHeaderFieldCount = limits.headerFields
    let decoder = ByteToMessageHandler(
      HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: decoding))
    let order = HTTPServerPipelineHandler()
    let connection = HTTPConnection(loop: loop)
    let upgrade = HTTPServerUpgradeHandler(
      upgraders: [upgrader(loop)], httpEncoder: encoder, extraHTTPHandlers: [decoder, order, connection],
      upgradeCompletionHandler: { _ in })
    try pipeline.addHandlers([encoder, decoder, order, upgrade, connection])
  }

  private static func upgrader(_ loop: GatewayLoop) -> NIOWebSocketServerUpgrader {
    let limits = loop.configuration.limits
    return NIOWebSocketServerUpgrader(
      maxFrameSize: limits.messageBytes, automaticErrorHandling: false,
      shouldUpgrade: { channel, head in
        guard let router = loop.router,
          case let arrival = Arrival(of: head, on: channel, proxies: router.access.proxies),
          router.opensSocket(arrival)
        else { return channel.eventLoop.makeSucceededFuture(nil) }
        if arrival.hasIgnoredHeaders { loop.counters.ignoredForwards += 1 }
        loop.connections.letIn(channel)
        let renewal = router.renewal(for: arrival.head).map { [($0.name, $0.value)] } ?? []
        return channel.eventLoop.makeSucceededFuture(HTTPHeaders(renewal))
      },
      upgradePipelineHandler: { channel, head in
        // With the host that the browser sees, which its session is for.
        guard let access = loop.router?.access,
          case let arrival = Arrival(of: head, on: channel, proxies: access.proxies),
          let visitor = access.visitor(arrival.head.headers, now: WebEntry.now)
        else { return channel.close() }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers([
            FrameCheck(limits: limits),
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: limits.messagesAtOnce,
              maxAccumulatedFrameSize: limits.messageBytes),
            PageSocket(loop: loop, visitor: visitor),
          ])
        }
      })
  }
}
