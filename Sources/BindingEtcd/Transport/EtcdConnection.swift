#if Etcd
  import NIOCore
  import NIOPosix
  import NIOSSL

  /// One connection to one node. All of it is on its event loop.
  final class EtcdConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let endpoint: EtcdEndpoint
    let session: HTTP2Session
    private var context: ChannelHandlerContext?
    private var isFlushing = false
    private var whenClosed: ((String) -> Void)?
    private var failure = "the connection was closed"

    init(_ endpoint: EtcdEndpoint, isEncrypted: Bool, _ whenClosed: @escaping (String) -> Void) {
      self.endpoint = endpoint
      session = HTTP2Session(authority: endpoint.description, isEncrypted: isEncrypted)
      self.whenClosed = whenClosed
    }

    /// Begins a call; nil: the connection takes none.
    func start(
      _ path: String, _ message: [UInt8], token: String, isLast: Bool = true, _ call: HTTP2Session.Call
    ) -> Int32? {
      guard context != nil, !session.isClosing else { return nil }
      let stream = session.start(path, message, token: token, isLast: isLast, call)
      flushSoon()
      return stream
    }

    func cancel(_ stream: Int32) {
      session.cancel(stream)
      flushSoon()
    }

    func close(_ reason: String) {
      failure = reason
      guard let context else { return end() }
      context.close(promise: nil)
    }

    /// What is begun in one turn of the loop is sent together.
    private func flushSoon() {
      guard let context, !isFlushing else { return }
      isFlushing = true
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.execute {
        let (connection, context) = bound.value
        connection.isFlushing = false
        connection.flush(context)
      }
    }

    private func flush(_ context: ChannelHandlerContext) {
      guard self.context != nil else { return }
      var buffer = context.channel.allocator.buffer(capacity: 4_096)
      session.takeOutput { buffer.writeBytes($0) }
      if buffer.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(buffer), promise: nil) }
    }

    private func end() {
      guard let closed = whenClosed else { return }
      whenClosed = nil
      // What the calls do when they end changes it.
      let reason = failure
      session.cut()
      closed(reason)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      if context.channel.isActive { flush(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      self.context = nil
      end()
    }

    func channelActive(context: ChannelHandlerContext) { flush(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let isWhole = unwrapInboundIn(data).withUnsafeReadableBytes { session.take($0) }
      guard isWhole else {
        failure = "\(endpoint) does not speak etcd's protocol: name a client URL of etcd"
        return context.close(promise: nil)
      }
      flush(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
      self.context = nil
      end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      failure = "\(endpoint): \(EtcdTLS.text(of: error))"
      context.close(promise: nil)
    }
  }
#endif
