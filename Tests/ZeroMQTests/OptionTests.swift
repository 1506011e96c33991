import Testing

@testable import ZeroMQ

@Suite("Options")
struct OptionTests {
  let context: Context

  init() throws { context = try Context() }

  @Test("sockets of every kind have a handshake timeout of 5 s and no linger", arguments: Socket.Kind.allCases)
  func commonConventions(kind: Socket.Kind) throws {
    let socket = try Socket(kind, in: context)
    #expect(try socket.read(.handshakeIntervalMilliseconds) == 5_000)
    #expect(try socket.read(.lingerMilliseconds) == 0)
    #expect(try socket.type() == kind.number)
  }

  @Test("a sub has no limit on queued subscriptions")
  func subConvention() throws {
    #expect(try Socket(.sub, in: context).read(.sendHighWaterMarkMessages) == 0)
  }

  @Test("each dealer has its own id and never reconnects")
  func dealerConvention() throws {
    let first = try Socket(.dealer, in: context)
    let second = try Socket(.dealer, in: context)
    let ids = [try first.routingID(), try second.routingID()].compactMap(\.self)
    try #require(ids.count == 2)
    #expect(ids[0] != ids[1])
    #expect(ids.allSatisfy { $0.byteCount == 16 && !$0.isGivenByRouter })
    #expect(try first.read(.reconnectIntervalMilliseconds) == -1)
    #expect(try Socket(.router, in: context).routingID() == nil)
  }

  @Test("options are read back as set, in the same unit")
  func readBack() throws {
    let socket = try Socket(.dealer, in: context)
    let id = RoutingID.random()
    try socket.set([
      .sendHighWaterMark(messages: 48), .receiveHighWaterMark(messages: 49), .maximumMessageSize(bytes: 5_000_000_000),
      .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000), .handshakeInterval(milliseconds: 4_321),
      .connectTimeout(milliseconds: 777), .immediate(true), .linger(milliseconds: 250),
      .reconnectInterval(milliseconds: 15), .routingID(id),
      .backlog(connections: 1_024), .ipv6(true),
    ])
    #expect(try socket.read(.sendHighWaterMarkMessages) == 48)
    #expect(try socket.read(.receiveHighWaterMarkMessages) == 49)
    #expect(try socket.read(.maximumMessageSizeBytes) == 5_000_000_000)
    #expect(try socket.read(.heartbeatIntervalMilliseconds) == 1_000)
    #expect(try socket.read(.heartbeatTimeoutMilliseconds) == 3_000)
    #expect(try socket.read(.heartbeatTimeToLiveMilliseconds) == 3_000)
    #expect(try socket.read(.handshakeIntervalMilliseconds) == 4_321)
    #expect(try socket.read(.connectTimeoutMilliseconds) == 777)
    #expect(try socket.read(.immediate) == 1)
    #expect(try socket.read(.lingerMilliseconds) == 250)
    #expect(try socket.read(.reconnectIntervalMilliseconds) == 15)
    #expect(try socket.routingID() == id)
    #expect(try socket.read(.backlogConnections) == 1_024)
    #expect(try socket.read(.ipv6) == 1)
    try socket.set([.maximumMessageSize(bytes: nil), .linger(milliseconds: -7), .reconnectInterval(milliseconds: nil)])
    #expect(try socket.read(.maximumMessageSizeBytes) == -1)
    #expect(try socket.read(.lingerMilliseconds) == -1)
    #expect(try socket.read(.reconnectIntervalMilliseconds) == -1)
  }

  @Test(
    "an option value out of range is refused by name",
    arguments: [
      SocketOption.sendHighWaterMark(messages: -1), .receiveHighWaterMark(messages: 1 << 40),
      .handshakeInterval(milliseconds: -5), .heartbeat(intervalMilliseconds: -1, timeoutMilliseconds: 0),
      .heartbeat(intervalMilliseconds: 1, timeoutMilliseconds: 10_000_000), .xpubVerbose(true),
    ])
  func refused(option: SocketOption) throws {
    let socket = try Socket(.dealer, in: context)
    do throws(ZeroMQError) {
      try socket.set(option)
      Issue.record("accepted")
    } catch {
      #expect(error.name == "EINVAL")
      #expect(error.call == "zmq_setsockopt")
      #expect(error.subject.hasPrefix("ZMQ_"))
    }
  }

  @Test("each kind of socket accepts its own options")
  func kindOptions() throws {
    try Socket(.router, in: context).set([.routerMandatory(false), .routerHandover(true)])
    try Socket(.xpub, in: context).set([.xpubVerbose(true)])
  }

  @Test("with immediate, nothing is queued for an absent connection")
  func immediate() throws {
    // Bound but not listening: no peer can connect, and no other socket can take the port.
    let reserved = try RawConnection.reserved()
    let endpoint = "tcp://127.0.0.1:\(reserved.localPort)"
    let careful = try Socket.connected(.dealer, in: context, to: endpoint, [.immediate(true)])
    #expect(try careful.send([1]) == .wouldBlock)
    let hopeful = try Socket.connected(.dealer, in: context, to: endpoint, [.reconnectInterval(milliseconds: 50)])
    #expect(try hopeful.send([1]) == .sent)
  }
}
