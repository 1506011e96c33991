import NIOCore
import NIOWebSocket

/// Why a page's frame ends its WebSocket.
enum FrameError: Error {
  case unmasked, reservedBits, opcode, binary, flood
}

/// Checks each frame of a page before fragments are joined: RFC 6455 requires a mask, and forbids extension bits
/// when no extension was negotiated. Frames beyond the budget are refused, whatever their content.
final class FrameCheck: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocketFrame

  private var budget: MessageBudget
  private var hasFailed = false

  init(limits: WebLimits) {
    budget = MessageBudget(
      perSecond: limits.messagesPerSecond, atOnce: limits.messagesAtOnce, now: NIODeadline.now().uptimeNanoseconds)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasFailed else { return }
    let frame = unwrapInboundIn(data)
    if let fault = fault(in: frame) {
      hasFailed = true
      context.fireErrorCaught(fault)
    } else {
      context.fireChannelRead(data)
    }
  }

  private func fault(in frame: WebSocketFrame) -> FrameError? {
    if frame.maskKey == nil { return .unmasked }
    if !frame.reservedBits.isEmpty { return .reservedBits }
    switch frame.opcode {
    case .text, .continuation, .ping, .pong, .connectionClose: break
    case .binary: return .binary
    default: return .opcode
    }
    return budget.spend(now: NIODeadline.now().uptimeNanoseconds) ? nil : .flood
  }
}
