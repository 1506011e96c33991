#if WebTLS
  import BindingWeb
  import Foundation
  import NIOCore
  import NIOPosix
  import NIOSSL
  import NIOTLS

  /// Encrypts what a plain client of the tests sends: connections to a port of its own go on, over TLS, to a gateway.
  /// So every test client can speak to a gateway that encrypts.
  final class TLSRelay {
    let port: Int
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener: any Channel

    /// - Parameter target: the port of the gateway.
    init(to target: Int, _ change: (inout TLSConfiguration) -> Void = { _ in }) throws {
      var configuration = try TLSClient.configuration()
      change(&configuration)
      let context = try NIOSSLContext(configuration: configuration)
      let bootstrap = ServerBootstrap(group: group)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { plain in
          let connecting = ClientBootstrap(group: plain.eventLoop)
            .channelInitializer { encrypted in
              encrypted.eventLoop.makeCompletedFuture {
                try encrypted.pipeline.syncOperations.addHandlers([
                  try NIOSSLClientHandler(context: context, serverHostname: nil), Passing(to: plain),
                ])
              }
            }
            .connect(host: "127.0.0.1", port: target)
          return connecting.flatMap { encrypted in
            plain.eventLoop.makeCompletedFuture {
              try plain.pipeline.syncOperations.addHandler(Passing(to: encrypted))
            }.flatMap { plain.setOption(.autoRead, value: true) }
          }
        }
      listener = try bootstrap.bind(host: "127.0.0.1", port: 0).wait()
      port = listener.localAddress?.port ?? 0
    }

    deinit {
      try? listener.close().wait()
      try? group.syncShutdownGracefully()
    }
  }

  /// Passes on to another connection of the same event loop what one receives, and its end.
  private final class Passing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }

  /// A client that only shakes hands.
  enum TLSClient {
    struct Handshake: Equatable {
      var version: TLSVersion?
      var applicationProtocol: String?
      var certificate: NIOSSLCertificate?
    }

    /// Trusts the issuer of the tests' certificates.
    static func configuration() throws -> TLSConfiguration {
      var configuration = TLSConfiguration.makeClientConfiguration()
      let path = CertificateFolder.stored.appendingPathComponent("issuer.pem").path
      configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
      return configuration
    }

    /// Connects and shakes hands; throws if that fails.
    static func handshake(_ port: Int, _ change: (inout TLSConfiguration) -> Void = { _ in }) throws -> Handshake {
      var configuration = try configuration()
      change(&configuration)
      let context = try NIOSSLContext(configuration: configuration)
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let done = loop.makePromise(of: String?.self)
      let channel = try ClientBootstrap(group: loop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers([
              try NIOSSLClientHandler(context: context, serverHostname: nil), Finish(done),
            ])
          }
        }
        .connect(host: "127.0.0.1", port: port).flatMapError { error in
          done.fail(error)
          return loop.makeFailedFuture(error)
        }.wait()
      defer { channel.close(promise: nil) }
      let chosen = try done.futureResult.wait()
      return Handshake(
        version: try channel.nioSSL_tlsVersion().wait(), applicationProtocol: chosen,
        certificate: try channel.nioSSL_peerCertificate().wait())
    }
  }

  private final class Finish: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let done: EventLoopPromise<String?>

    init(_ done: EventLoopPromise<String?>) { self.done = done }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted(let chosen)? = event as? TLSUserEvent { done.succeed(chosen) }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      done.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { done.fail(ChannelError.eof) }
  }
#endif
