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
    guard loop.admitConnection(channel) else { return try pipeline.addHandler(TurnedAway(limits: limits)) }
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
        guard let router = loop.router, router.opensSocket(head, at: channel.localAddress) else {
          return channel.eventLoop.makeSucceededFuture(nil)
        }
        loop.connections.letIn(channel)
        let renewal = router.renewal(for: head).map { [($0.name, $0.value)] } ?? []
        return channel.eventLoop.makeSucceededFuture(HTTPHeaders(renewal))
      },
      upgradePipelineHandler: { channel, head in
        guard let visitor = loop.router?.access.visitor(head.headers, now: WebEntry.now) else { return channel.close() }
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
