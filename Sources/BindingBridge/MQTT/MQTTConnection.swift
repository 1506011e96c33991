import NIOCore
import NIOPosix

#if WebTLS
  import NIOSSL
#endif

/// Where a broker is: `mqtt://host`, `mqtts://anna@host:8884`.
package struct MQTTAddress: Equatable, Sendable, CustomStringConvertible {
  package var host: String
  package var port: Int
  package var isEncrypted: Bool
  package var user: String?

  /// - Throws: `MQTTError` that names what is wrong.
  package init(_ text: String) throws(MQTTError) {
    let halves = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2, ["mqtt", "mqtts"].contains(halves[0]) else {
      throw MQTTError(description: "\(text) is no address of a broker; write mqtt://HOST, or mqtts://HOST with TLS")
    }
    isEncrypted = halves[0] == "mqtts"
    var rest = halves[1]
    if let at = rest.lastIndex(of: "@") {
      let name = String(rest[..<at])
      guard !name.isEmpty, !name.contains(":") else {
        throw MQTTError(description: "a password does not belong into an address; use --password-file")
      }
      user = name
      rest = rest[rest.index(after: at)...]
    }
    if rest.hasSuffix("/") { rest.removeLast() }
    // An IPv6 address is in brackets.
    let end = rest.hasPrefix("[") ? rest.firstIndex(of: "]").map(rest.index(after:)) ?? rest.endIndex : rest.startIndex
    let colon = rest[end...].lastIndex(of: ":")
    let name = rest[..<(colon ?? rest.endIndex)]
    host = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : String(name)
    port = colon.map { Int(rest[rest.index(after: $0)...]) ?? -1 } ?? (isEncrypted ? 8883 : 1883)
    guard (1...65_535).contains(port), !host.isEmpty, !host.contains("/") else {
      throw MQTTError(description: "\(text) has no host, or no port from 1 to 65535")
    }
  }

  package var description: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "\(isEncrypted ? "mqtts" : "mqtt")://\(user.map { $0 + "@" } ?? "")\(name):\(port)"
  }
}

/// What a connection tells, on its event loop.
enum MQTTEvent: Sendable {
  case opened(hasSession: Bool)
  case packet(MQTTPacket)
  /// It ends, or did not begin; nothing follows.
  case closed(String)
}

/// One connection to a broker, which it keeps alive. All of it is on its event loop.
final class MQTTConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let connect: MQTTConnect
  private let deliver: (MQTTEvent) -> Void
  private var reader = MQTTReader()
  private var context: ChannelHandlerContext?
  private var isOpen = false
  private var hasEnded = false
  private var reason = "the broker closed the connection"
  /// Whether something has come since the last ping.
  private var hasHeard = true
  private var beat: RepeatedTask?

  private init(_ connect: MQTTConnect, _ deliver: @escaping (MQTTEvent) -> Void) {
    (self.connect, self.deliver) = (connect, deliver)
  }

  /// Begins a connection. Call it on the event loop, on which events come too.
  static func open(
    _ address: MQTTAddress, _ connect: MQTTConnect, trusting authorities: String?, on loop: any EventLoop,
    _ deliver: @escaping (MQTTEvent) -> Void
  ) -> MQTTConnection {
    let connection = MQTTConnection(connect, deliver)
    let bound = NIOLoopBound(connection, eventLoop: loop)
    ClientBootstrap(group: loop).connectTimeout(.seconds(10)).channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if address.isEncrypted { try MQTTConnection.encrypt(pipeline, address, authorities) }
          try pipeline.addHandler(bound.value)
        }
      }
      .connect(host: address.host, port: address.port)
      .whenFailure { error in bound.value.end("no connection to \(address): \(error)") }
    return connection
  }

  private static func encrypt(
    _ pipeline: ChannelPipeline.SynchronousOperations, _ address: MQTTAddress, _ authorities: String?
  ) throws {
    #if WebTLS
      var configuration = TLSConfiguration.makeClientConfiguration()
      if let authorities { configuration.trustRoots = .file(authorities) }
      let context = try NIOSSLContext(configuration: configuration)
      // A certificate names hosts; of a bare address none is asked for by name.
      let isName = (try? SocketAddress(ipAddress: address.host, port: address.port)) == nil
      try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: isName ? address.host : nil))
    #else
      throw MQTTError(description: "this program was built without TLS; build it with the trait WebTLS")
    #endif
  }

  /// Sends a packet; nothing if the connection is not open.
  func send(_ packet: MQTTPacket) {
    guard let context, isOpen else { return }
    write(packet, context)
  }

  /// Ends it, after what was sent.
  func close() {
    guard let context else { return end("closed") }
    if isOpen { write(.disconnect, context) }
    reason = "closed"
    context.close(promise: nil)
  }

  private func write(_ packet: MQTTPacket, _ context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: packet.bytes)), promise: nil)
  }

  private func end(_ reason: String) {
    beat?.cancel()
    guard !hasEnded else { return }
    hasEnded = true
    isOpen = false
    deliver(.closed(reason))
  }

  // MARK: The channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { begin(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelActive(context: ChannelHandlerContext) { begin(context) }

  private func begin(_ context: ChannelHandlerContext) {
    // It was closed while it connected.
    guard !hasEnded else { return context.close(promise: nil) }
    write(.connect(connect), context)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    // What does not answer for half of the time after which the broker would end it, ends here.
    let pause = TimeAmount.seconds(Int64(max(connect.keepAlive / 2, 1)))
    beat = context.eventLoop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in
      let (connection, context) = bound.value
      guard connection.hasHeard else {
        connection.reason = "the broker does not answer"
        return context.close(promise: nil)
      }
      connection.hasHeard = false
      connection.send(.ping)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    reader.append(unwrapInboundIn(data).readableBytesView)
    hasHeard = true
    do throws(MQTTError) {
      while let packet = try reader.next() { handle(packet, context) }
    } catch {
      reason = "the broker sent what is no MQTT 3.1.1: \(error)"
      context.close(promise: nil)
    }
  }

  private func handle(_ packet: MQTTPacket, _ context: ChannelHandlerContext) {
    switch packet {
    case .connected(let hasSession, 0) where !isOpen:
      isOpen = true
      deliver(.opened(hasSession: hasSession))
    case .connected(_, let code):
      reason = MQTTConnection.refusal(code)
      context.close(promise: nil)
    default: if isOpen { deliver(.packet(packet)) }
    }
  }

  private static func refusal(_ code: UInt8) -> String {
    switch code {
    case 1: "the broker does not speak MQTT 3.1.1"
    case 2: "the broker refuses this client's name; choose another with --client"
    case 3: "the broker is not available"
    case 4: "the broker refuses the user or the password; check --password-file"
    case 5: "the broker does not let this client in; it may need a user and --password-file"
    default: "the broker refuses the connection with \(code)"
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    end(reason)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    reason = "\(error)"
    context.close(promise: nil)
  }
}
