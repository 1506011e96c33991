import Testing

@testable import ZeroMQ

@Suite("Sending and receiving")
struct TransferTests {
  let context: Context

  init() throws { context = try Context() }

  @Test("a router answers the connection that asked, by its own id")
  func askAndAnswer() throws {
    let router = try Socket.listening(.router, in: context)
    let first = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    let second = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try first.send([1])
    try second.send([2])
    for _ in 0..<2 {
      let asked = try router.receiveRouted()
      #expect(asked.reception == .received)
      let expected = asked.bytes == [1] ? try first.routingID() : try second.routingID()
      #expect(asked.id == expected)
      #expect(try router.send([asked.bytes[0] * 10], to: asked.id) == .sent)
    }
    #expect(try first.receiveBytes() == [10])
    #expect(try second.receiveBytes() == [20])
  }

  @Test("a router reports an id without a connection")
  func unknownID() throws {
    let router = try Socket.listening(.router, in: context)
    #expect(try router.send([1], to: .random()) == .hostUnreachable)
    let message = try Message(copying: [1])
    #expect(try router.send(sharing: message, to: .random()) == .hostUnreachable)
    // A refused address leaves nothing half sent: the next message is whole.
    let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try dealer.send([5])
    let id = try router.receiveRouted().id
    #expect(try router.send([6], to: id) == .sent)
    #expect(try dealer.receiveBytes() == [6])
  }

  @Test("a full queue is reported, and messages queued before arrive")
  func fullQueue() throws {
    let router = try Socket.listening(
      .router, in: context, [.sendHighWaterMark(messages: 1), .receiveHighWaterMark(messages: 1)], at: "inproc://full")
    let dealer = try Socket.connected(
      .dealer, in: context, to: "inproc://full",
      [.sendHighWaterMark(messages: 1), .receiveHighWaterMark(messages: 1)])
    var sent: UInt8 = 0
    while try dealer.send([sent]) == .sent, sent < 100 { sent += 1 }
    #expect(1...10 ~= sent)
    var id = RoutingID.random()
    for expected in 0..<sent {
      let next = try router.receiveRouted()
      #expect(next.bytes == [expected])
      id = next.id
    }
    sent = 0
    while try router.send([sent], to: id) == .sent, sent < 100 { sent += 1 }
    #expect(1...10 ~= sent)
    #expect(try router.send([sent], to: id) == .wouldBlock)
    for expected in 0..<sent { #expect(try dealer.receiveBytes() == [expected]) }
  }

  @Test("an empty queue is a result, not an error")
  func nothingWaiting() throws {
    let router = try Socket.listening(.router, in: context)
    var message = try Message(copying: [1, 2, 3])
    var id = RoutingID.random()
    #expect(try router.receive(into: &message) == false)
    #expect(message.byteCount == 0)
    #expect(try router.receive(from: &id, into: &message) == .nothing)
    #expect(try router.events() == [])
  }

  @Test("a message of several frames is dropped whole, and none of its frames is taken as an id")
  func severalFrames() throws {
    let router = try Socket.listening(.router, in: context)
    let stranger = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    let victim = RoutingID.random()
    for _ in 0..<2 {
      try stranger.send([0], [.dontWait, .sendMore])
      try victim.withBytes { (bytes) throws(ZeroMQError) in _ = try stranger.send(bytes, [.dontWait, .sendMore]) }
      try stranger.send([1, 1])
    }
    try stranger.send([9])
    let strangerID = try stranger.routingID()
    for _ in 0..<2 {
      var message = Message()
      let bad = try router.receiveRouted(into: &message)
      #expect(bad.reception == .rejected(.severalFrames))
      #expect(bad.id == strangerID)
      #expect(message.sourceFileDescriptor != nil)
    }
    let good = try router.receiveRouted()
    #expect(good.reception == .received)
    #expect(good.id == strangerID)
    #expect(good.bytes == [9])
  }

  @Test("a connection with too long a routing id is rejected and can be cut")
  func longRoutingID() throws {
    let router = try Socket.listening(.router, in: context)
    let stranger = try Socket(.dealer, in: context)
    let long = [UInt8](repeating: 7, count: 200)
    try long.withUnsafeBufferPointer { (bytes) throws(ZeroMQError) in
      // 5 is ZMQ_ROUTING_ID.
      try stranger.core.setBytes(5, UnsafeRawBufferPointer(bytes), "ZMQ_ROUTING_ID")
    }
    var events = try SocketEvents(of: stranger)
    try stranger.connect(try router.lastEndpoint())
    try stranger.send([1], [.dontWait, .sendMore])
    try stranger.send([2])
    var message = Message()
    #expect(try router.receiveRouted(into: &message).reception == .rejected(.routingIDTooLong))
    let source = message.sourceFileDescriptor
    ConnectionCut.shutdownConnection(fileDescriptor: try #require(source))
    try events.await("the stranger is cut", \.isDisconnected)
    let friend = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try friend.send([3])
    #expect(try router.receiveRouted().bytes == [3])
  }

  @Test("one message object serves for frames of any size", arguments: ["tcp://127.0.0.1:*", "inproc://sizes"])
  func reusedMessage(endpoint: String) throws {
    let router = try Socket.listening(.router, in: context, at: endpoint)
    let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    var message = Message()
    for size in [0, 1, 29, 30, 33, 34, 255, 256, 100_000, 3, 0, 1_000_000] {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
      try dealer.send(bytes)
      let received = try router.receiveRouted(into: &message)
      #expect(received.reception == .received)
      #expect(received.bytes == bytes)
      #expect(message.byteCount == size)
      #expect(message.hasMore == false)
    }
  }

  @Test("a sent message is empty afterwards, a shared one is kept")
  func givingAndSharing() throws {
    let left = try Socket.listening(.pair, in: context, at: "inproc://give")
    let right = try Socket.connected(.pair, in: context, to: "inproc://give")
    let bytes = [UInt8](repeating: 9, count: 500)
    var message = try Message(copying: bytes)
    #expect(try left.send(sharing: message) == .sent)
    #expect(try left.send(sharing: message) == .sent)
    #expect(message.byteCount == 500)
    #expect(try left.send(&message) == .sent)
    #expect(message.byteCount == 0)
    for _ in 0..<3 { #expect(try right.receiveBytes() == bytes) }
  }

  @Test("a message that could not be sent is unchanged")
  func unsentMessageStays() throws {
    let lonely = try Socket(.pair, in: context)
    var message = try Message(copying: [1, 2, 3])
    #expect(try lonely.send(&message) == .wouldBlock)
    #expect(try lonely.send(sharing: message) == .wouldBlock)
    #expect(message.withBytes { Array($0) } == [1, 2, 3])
  }

  @Test("frames of one message are marked as belonging together")
  func frames() throws {
    let left = try Socket.listening(.pair, in: context, at: "inproc://frames")
    let right = try Socket.connected(.pair, in: context, to: "inproc://frames")
    for part: UInt8 in 1...3 { try left.send([part], part < 3 ? [.dontWait, .sendMore] : .dontWait) }
    try left.send([4])
    var message = Message()
    #expect(try right.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds) == true)
    #expect(try right.receive(into: &message) == true)
    #expect(message.hasMore == true)
    try right.discardRemainingFrames(after: &message)
    #expect(message.hasMore == false)
    #expect(try right.receiveBytes() == [4])
  }

  @Test("a message carries its source over tcp and ipc, and none over inproc")
  func source() throws {
    let directory = try TemporaryDirectory()
    for endpoint in ["tcp://127.0.0.1:*", "ipc://\(directory.path)/s", "inproc://source"] {
      let router = try Socket.listening(.router, in: context, at: endpoint)
      let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
      try dealer.send([1])
      var message = Message()
      _ = try router.receiveRouted(into: &message)
      #expect((message.sourceFileDescriptor == nil) == endpoint.hasPrefix("inproc"))
    }
    let own = try Message(copying: [1])
    #expect(own.sourceFileDescriptor == nil)
  }
}
