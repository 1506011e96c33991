#if Etcd
  import Foundation
  import NIOCore
  import NIOPosix

  /// A way to a node that delays what passes, loses answers, or is cut. Everything is on its event loop.
  final class FaultProxy: @unchecked Sendable {  // SAFETY: everything that changes is touched on the event loop only.
    let port: Int
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let loop: any EventLoop
    private let target: Int
    private let server: any Channel
    private var pairs: [ObjectIdentifier: Pair] = [:]
    private var isHeld = false
    private var isSilent = false
    private var delay = TimeAmount.zero
    /// Of so many answers one is lost with the connection; 0: none.
    private var cutEvery = 0
    private var answers = 0

    private struct Pair {
      var near: any Channel
      var far: any Channel
    }

    init(to target: Int) throws {
      self.target = target
      loop = group.next()
      let accepted = Accepted()
      server = try ServerBootstrap(group: loop).childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
          accepted.proxy?.accept(channel) ?? channel.close()
        }
        .bind(host: "127.0.0.1", port: 0).wait()
      port = server.localAddress?.port ?? 0
      accepted.proxy = self
    }

    private final class Accepted: @unchecked Sendable {  // SAFETY: written before a client knows the port.
      weak var proxy: FaultProxy?
    }

    func close() { try? group.syncShutdownGracefully() }

    /// Keeps what the node says. What was kept is lost with its connection when that ends.
    func setHeld(_ isHeld: Bool) throws {
      try loop.submit { [self] in self.isHeld = isHeld }.wait()
      if !isHeld { try cut() }
    }

    /// Passes requests on, and no answers.
    func setSilent(_ isSilent: Bool) throws { try loop.submit { [self] in self.isSilent = isSilent }.wait() }

    func setDelay(_ delay: TimeAmount) throws { try loop.submit { [self] in self.delay = delay }.wait() }

    func setCutEvery(_ count: Int) throws { try loop.submit { [self] in cutEvery = count }.wait() }

    /// Cuts all connections.
    func cut() throws {
      try loop.submit { [self] in
        for pair in pairs.values {
          pair.near.close(promise: nil)
          pair.far.close(promise: nil)
        }
      }.wait()
    }

    private func accept(_ near: any Channel) -> EventLoopFuture<Void> {
      ClientBootstrap(group: loop).channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Passing { [weak self] in
              self?.answer($0, to: near)
            } ended: {
              near.close(promise: nil)
            })
        }
      }
      .connect(host: "127.0.0.1", port: target).flatMapThrowing { [self] far in
        pairs[ObjectIdentifier(near)] = Pair(near: near, far: far)
        try near.pipeline.syncOperations.addHandler(
          Passing {
            far.writeAndFlush($0, promise: nil)
          } ended: { [weak self] in
            far.close(promise: nil)
            self?.pairs[ObjectIdentifier(near)] = nil
          })
        near.setOption(.autoRead, value: true).whenComplete { _ in }
      }
    }

    private func answer(_ buffer: ByteBuffer, to near: any Channel) {
      let key = ObjectIdentifier(near)
      guard !isSilent, !isHeld else { return }
      answers += 1
      if cutEvery > 0, answers % cutEvery == 0 {
        near.close(promise: nil)
        pairs[key]?.far.close(promise: nil)
      } else if delay > .zero {
        loop.scheduleTask(in: delay) { near.writeAndFlush(buffer, promise: nil) }
      } else {
        near.writeAndFlush(buffer, promise: nil)
      }
    }
  }

  private final class Passing: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let pass: (ByteBuffer) -> Void
    private let ended: () -> Void

    init(_ pass: @escaping (ByteBuffer) -> Void, ended: @escaping () -> Void) {
      (self.pass, self.ended) = (pass, ended)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { pass(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { ended() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
