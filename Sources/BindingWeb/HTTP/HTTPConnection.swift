import NIOCore
import NIOHTTP1

/// Reads the requests of one connection, one after the other, and sends the answers. Removed when the connection
/// becomes a WebSocket.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let loop: GatewayLoop
  private var arrival: Arrival?
  private var deadline: Scheduled<Void>?
  private var hasAsked = false
  /// Whether a request has carried a token or session.
  private var isKnown = false
  private var isAnswering = false
  /// Whether the other side has closed its output.
  private var isInputClosed = false
  /// Whether the last answer has been sent: further input is ignored.
  private var isFinished = false

  init(loop: GatewayLoop) { self.loop = loop }

  func channelActive(context: ChannelHandlerContext) {
    expectRequest(in: loop.configuration.limits.requestTimeout, context)
    context.fireChannelActive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    deadline?.cancel()
    isFinished = true
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    isFinished = true
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isFinished else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      deadline?.cancel()
      hasAsked = true
      loop.counters.requests += 1
      guard let access = loop.router?.access else { return }
      let arrival = Arrival(of: head, on: context.channel, proxies: access.proxies)
      if arrival.hasIgnoredHeaders { loop.counters.ignoredForwards += 1 }
      if !isKnown, access.isKnown(arrival.head.headers, now: WebEntry.now) {
        isKnown = true
        loop.connections.letIn(context.channel)
      }
      guard !HTTPConnection.hasBody(head) else {
        return send(.closing(.payloadTooLarge, "Requests with a body are not supported.", .body), arrival, context)
      }
      self.arrival = arrival
    case .body: break
    case .end:
      guard let arrival, let router = loop.router else { return }
      self.arrival = nil
      isAnswering = true
      router.answer(arrival) { [self] in send($0, arrival, context) }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed {
      isInputClosed = true
      if !isAnswering { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Answers input that is not HTTP. A refused handshake is answered as a request.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isFinished else { return }
    switch error {
    case HTTPParserError.headerOverflow:
      let limits = loop.configuration.limits
      send(
        .closing(
          .requestHeaderFieldsTooLarge,
          "The header has more than \(limits.headerFields) lines or \(limits.headerBytes) bytes. Clear this site's "
            + "cookies, or use a shorter address.", .headerTooLong), nil, context)
    case is HTTPParserError:
      send(.closing(.badRequest, "This is not an HTTP/1.1 request.", .badRequest), nil, context)
    case is ChannelError, is IOError: context.close(promise: nil)
    // Whose handshake fails is disconnected already.
    default: if ServerPair.isHandshake(error) { loop.counters.count(.handshake) }
    }
  }

  private static func hasBody(_ head: HTTPRequestHead) -> Bool {
    head.headers.contains(name: "transfer-encoding")
      || head.headers["content-length"].contains { $0 != "0" }
  }

  private func send(_ answer: Answer, _ arrival: Arrival?, _ context: ChannelHandlerContext) {
    guard !isFinished, context.channel.isActive else { return }
    var answer = answer
    let request = arrival?.head
    // The decoder stops reading a connection that requested an upgrade.
    let mayGoOn = request.map { $0.isKeepAlive && !$0.headers.contains(name: "upgrade") } ?? false
    answer.closes = answer.closes || !mayGoOn || isInputClosed
    isAnswering = false
    if let refusal = answer.refusal {
      loop.counters.count(refusal)
      loop.noteRefusal(refusal, of: arrival?.client ?? NumericAddress(context.remoteAddress))
    }
    context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
    if request?.method != .HEAD, answer.body.readableBytes > 0 {
      loop.counters.bytesOut += UInt64(answer.body.readableBytes)
      context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    if answer.closes {
      finish(context)
    } else {
      let limits = loop.configuration.limits
      expectRequest(in: isKnown ? limits.idleTimeout : limits.requestTimeout, context)
    }
  }

  private func expectRequest(in timeout: Duration, _ context: ChannelHandlerContext) {
    deadline?.cancel()
    deadline = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { [self] in
      guard !isFinished, !isAnswering else { return }
      if !hasAsked { loop.counters.count(.slowRequest) }
      isFinished = true
      if isKnown { context.close(promise: nil) } else { ServerPair.cut(context.channel) }
    }
  }

  /// Closes the output and ignores further input. Closing a connection with unread bytes would reset it, and the
  /// answer could be lost.
  private func finish(_ context: ChannelHandlerContext) {
    isFinished = true
    deadline?.cancel()
    context.close(mode: .output, promise: nil)
    let limit = TimeAmount(loop.configuration.limits.closingTimeout)
    context.eventLoop.assumeIsolated().scheduleTask(in: limit) { context.close(promise: nil) }
  }
}

/// Answers a connection without reading a request, and closes it.
final class TurnedAway: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Nil: a client that expects encryption could not read it.
  private let answer: Answer?
  private let limits: WebLimits

  init(_ answer: Answer?, limits: WebLimits) {
    self.answer = answer
    self.limits = limits
  }

  func channelActive(context: ChannelHandlerContext) {
    guard let answer else { return context.close(promise: nil) }
    context.writeAndFlush(wrapOutboundOut(answer.bytes), promise: nil)
    context.close(mode: .output, promise: nil)
    context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.closingTimeout)) {
      context.close(promise: nil)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
