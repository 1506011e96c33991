import BindingProtocol
import NIOCore
import NIOWebSocket

/// The WebSocket of one page: texts in both directions, pings, and closing.
final class PageSocket: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias OutboundOut = WebSocketFrame

  private let loop: GatewayLoop
  private let limits: WebLimits
  private let visitor: AccessControl.Visitor
  private var context: ChannelHandlerContext?
  private var page: PageID?
  private var lastReceivedAt = NIODeadline.now()
  private var nextPing: Scheduled<Void>?
  /// The turn of the loop in which the page became full, nil while it is writable; and the bytes sent to it since.
  private var fullSince: UInt64?
  private var bytesWhileFull = 0
  /// Whether the close frame has been sent: further input is ignored.
  private var isEnding = false

  init(loop: GatewayLoop, visitor: AccessControl.Visitor) {
    self.loop = loop
    self.visitor = visitor
    limits = loop.configuration.limits
  }

  // MARK: Output

  /// Queues a text; the next `flush` sends it.
  func send(_ text: [UInt8]) {
    guard !isEnding, let context else { return }
    loop.counters.messagesOut += 1
    loop.counters.bytesOut += UInt64(text.count)
    let frame = WebSocketFrame(fin: true, opcode: .text, data: context.channel.allocator.buffer(bytes: text))
    context.write(wrapOutboundOut(frame), promise: nil)
    // Output of the turn in which the page became full is not the page's fault. Later output, such as
    // announcements, must not fill the memory.
    guard let fullSince, fullSince < loop.turns else { return }
    bytesWhileFull += text.count
    if bytesWhileFull > limits.waitingBytes { refuse(.backlog, 1008, "the page does not read its messages") }
  }

  func flush() { context?.flush() }

  /// Sends a close frame with the reason, after all queued texts, and closes when the other side has closed or the
  /// time for that has passed.
  func end(code: UInt16, reason: String) {
    guard !isEnding, let context else { return }
    isEnding = true
    page = nil
    nextPing?.cancel()
    var data = context.channel.allocator.buffer(capacity: 125)
    data.writeInteger(code)
    data.writeString(PageSocket.cut(reason, to: 123))
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: nil)
    reads(true)
    context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.closingTimeout)) {
      context.close(promise: nil)
    }
  }

  // MARK: Input

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    loop.counters.sockets += 1
    page = loop.arrived(self, visitor)
    guard page != nil else {
      loop.counters.count(.tooManyPages)
      return end(code: 4005, reason: "\(limits.pages) pages are open, the limit: close another one")
    }
    checkLiveness()
  }

  func handlerRemoved(context: ChannelHandlerContext) { leave() }

  func channelInactive(context: ChannelHandlerContext) {
    leave()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    guard !isEnding, let page else {
      if frame.opcode == .connectionClose { context.close(promise: nil) }
      return
    }
    lastReceivedAt = .now()
    switch frame.opcode {
    case .text:
      loop.counters.messagesIn += 1
      loop.counters.bytesIn += UInt64(frame.length)
      let isText = frame.unmaskedData.withUnsafeReadableBytes { bytes in
        guard UTF8Check.isValid(bytes) else { return false }
        loop.receive(bytes, from: page)
        return true
      }
      if !isText { refuse(.notUTF8, 1007, "a text message must be UTF-8") }
    case .ping:
      context.writeAndFlush(
        wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)), promise: nil)
    case .connectionClose: answer(close: frame.unmaskedData)
    default: break
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  /// Back-pressure in both directions: while the page is full, the machine sends it nothing new, and its input is
  /// not read.
  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if let page, !isEnding {
      let isWritable = context.channel.isWritable
      reads(isWritable)
      fullSince = isWritable ? nil : loop.turns
      bytesWhileFull = 0
      if isWritable { loop.hasRoom(page) } else { loop.isFull(page) }
    }
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isEnding else { return }
    switch error {
    case FrameError.unmasked: refuse(.unmasked, 1002, "a client must mask its frames")
    case FrameError.reservedBits: refuse(.badFrame, 1002, "a reserved bit is set, and no extension was negotiated")
    case FrameError.opcode: refuse(.badFrame, 1002, "the opcode is unknown")
    case FrameError.binary: refuse(.binary, 1003, "only text messages are supported")
    case FrameError.flood: refuse(.flood, 1008, "more than \(limits.messagesPerSecond) messages a second")
    case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
      NIOWebSocketFrameAggregator.Error.tooManyFragments:
      refuse(.messageTooLong, 1009, "a message has at most \(limits.messageBytes) bytes")
    case is NIOWebSocketError: refuse(.badFrame, 1002, "a control frame is one frame of at most 125 bytes")
    case is NIOWebSocketFrameAggregator.Error:
      refuse(.badFragment, 1002, "the fragments of a message must follow each other")
    default: context.close(promise: nil)
    }
  }

  // MARK: The end

  private func refuse(_ refusal: WebRefusal, _ code: UInt16, _ reason: String) {
    loop.counters.count(refusal)
    leave()
    end(code: code, reason: reason)
  }

  /// Reports the end of this page to the machine, once.
  private func leave() {
    nextPing?.cancel()
    guard let page else { return }
    self.page = nil
    loop.gone(page)
  }

  /// A close frame is answered in kind (RFC 6455, 5.5.1).
  private func answer(close payload: ByteBuffer) {
    var payload = payload
    guard payload.readableBytes != 1 else {
      return refuse(.badFrame, 1002, "a close frame has either no code or a complete one")
    }
    let code: UInt16? = payload.readInteger()
    if let code, !(1000...1003).contains(code), !(1007...1014).contains(code), !(3000...4999).contains(code) {
      return refuse(.badFrame, 1002, "the close code is invalid")
    }
    leave()
    isEnding = true
    var data = ByteBuffer()
    if let code { data.writeInteger(code) }
    guard let context else { return }
    context.writeAndFlush(
      wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: nil)
    context.close(promise: nil)
  }

  // MARK: Liveness

  /// Pings regularly, and ends the page after too long a silence.
  private func checkLiveness() {
    guard let context else { return }
    let quiet = NIODeadline.now() - lastReceivedAt
    let left = TimeAmount(limits.silenceTimeout) - quiet
    guard left > .nanoseconds(0) else {
      return refuse(.silence, 4004, "no message for too long: is the page suspended?")
    }
    let pause = min(left, TimeAmount(limits.pingInterval))
    nextPing = context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
      guard !isEnding, page != nil else { return }
      if context.channel.isWritable {
        context.writeAndFlush(
          wrapOutboundOut(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())), promise: nil)
      }
      checkLiveness()
    }
  }

  private func reads(_ reads: Bool) { try? context?.channel.syncOptions?.setOption(.autoRead, value: reads) }

  private static func cut(_ text: String, to limit: Int) -> String {
    var text = text
    while text.utf8.count > limit { text.removeLast() }
    return text
  }
}
