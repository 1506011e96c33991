import Testing

@testable import ZeroMQ

@Suite("Subscriptions")
struct SubscriptionTests {
  let context: Context

  init() throws { context = try Context() }

  /// A topic of four bytes, as a hub numbers them.
  func topic(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
  }

  @Test("5,000 subscriptions of one sub all reach the xpub")
  func manySubscriptions() throws {
    let xpub = try Socket.listening(.xpub, in: context)
    let sub = try Socket.connected(.sub, in: context, to: xpub.lastEndpoint())
    for number in 0..<5_000 { try sub.subscribe(topic(number)) }
    var seen = Set<[UInt8]>()
    var message = Message()
    try eventually("all are seen") {
      while try xpub.receive(into: &message) {
        let bytes = message.withBytes { Array($0) }
        #expect(bytes.first == 1)
        seen.insert(Array(bytes.dropFirst()))
      }
      // A sub processes its queue only while it is polled.
      _ = try sub.wait(for: .readable, timeoutMilliseconds: 0)
      return seen.count == 5_000
    }
    #expect(seen == Set((0..<5_000).map(topic)))
    for number in [0, 2_500, 4_999] { #expect(try xpub.send(topic(number) + [1]) == .sent) }
    for number in [0, 2_500, 4_999] { #expect(try sub.receiveBytes() == topic(number) + [1]) }
  }

  @Test("5,000 subscriptions are sent again after a reconnect")
  func resubscription() throws {
    let sub = try Socket(.sub, in: context)
    try sub.set(.reconnectInterval(milliseconds: 20))
    var events = try SocketEvents(of: sub)
    var endpoint = ""
    do {
      let first = try Socket.listening(.xpub, in: context)
      endpoint = try first.lastEndpoint()
      try sub.connect(endpoint)
      for number in 0..<5_000 { try sub.subscribe(topic(number)) }
      try events.await("a handshake") { $0 == .handshakeSucceeded }
    }
    try events.await("the end of the first", \.isDisconnected)
    let second = try Socket(.xpub, in: context)
    try eventually("the port is free") { (try? second.bind(endpoint)) != nil }
    var seen = Set<[UInt8]>()
    var message = Message()
    try eventually("all are seen again") {
      _ = try sub.receive(into: &message)
      while try second.receive(into: &message) { seen.insert(message.withBytes { Array($0.dropFirst()) }) }
      return seen.count == 5_000
    }
  }

  @Test("an equal subscription of a second sub is reported with its own connection")
  func verbose() throws {
    let xpub = try Socket.listening(.xpub, in: context)
    var connections = Set<Int32>()
    var message = Message()
    let first = try Socket.connected(.sub, in: context, to: xpub.lastEndpoint())
    try first.subscribe([1])
    let second = try Socket.connected(.sub, in: context, to: xpub.lastEndpoint())
    try second.subscribe([1])
    for _ in 0..<2 {
      #expect(try xpub.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds) == true)
      #expect(try xpub.receive(into: &message) == true)
      #expect(message.withBytes { Array($0) } == [1, 1])
      let source = message.sourceFileDescriptor
      connections.insert(try #require(source))
    }
    #expect(connections.count == 2)
  }

  @Test("an unsubscribed topic is no longer delivered")
  func unsubscribing() throws {
    let xpub = try Socket.listening(.xpub, in: context, at: "inproc://topics")
    let sub = try Socket.connected(.sub, in: context, to: "inproc://topics")
    try sub.subscribe([])
    #expect(try xpub.receiveBytes() == [1])
    try sub.subscribe([7])
    #expect(try xpub.receiveBytes() == [1, 7])
    try sub.unsubscribe([])
    #expect(try xpub.receiveBytes() == [0])
    try xpub.send([6])
    try xpub.send([7, 7])
    #expect(try sub.receiveBytes() == [7, 7])
  }

  @Test("a sub that floods subscriptions past the quota is cut, and other subs are served")
  func flood() throws {
    let quota = 1_000
    let asked = 200_000
    let xpub = try Socket.listening(.xpub, in: context)
    let endpoint = try xpub.lastEndpoint()
    let good = try Socket.connected(.sub, in: context, to: endpoint)
    try good.subscribe([0xFF])
    #expect(try xpub.receiveBytes() == [1, 0xFF])
    let isCut = Shared(false)
    let flooder = try SocketThread(name: "flooder") { [context] in
      do {
        let sub = try Socket(.sub, in: context)
        try sub.set(.reconnectInterval(milliseconds: nil))
        var events = try SocketEvents(of: sub)
        try sub.connect(endpoint)
        for number in 0..<asked { try sub.subscribe(withUnsafeBytes(of: number) { Array($0) }) }
        try events.await("the flood is cut", \.isDisconnected)
        isCut.current = true
      } catch { Issue.record(error) }
    }
    var counts: [Int32: Int] = [:]
    var cuts = 0
    var message = Message()
    try eventually("the flood is cut") {
      while try xpub.receive(into: &message) {
        guard message.unsafeBytes.first == 1, let source = message.sourceFileDescriptor else { continue }
        counts[source, default: 0] += 1
        if counts[source] == quota, ConnectionCut.shutdownConnection(fileDescriptor: source) { cuts += 1 }
      }
      return isCut.current
    }
    #expect(cuts == 1)
    #expect(counts.count == 1)
    #expect(try #require(counts.values.first) < asked / 4)
    #expect(try xpub.send([0xFF, 1]) == .sent)
    #expect(try good.receiveBytes() == [0xFF, 1])
    #expect(flooder.join(timeoutMilliseconds: timeoutMilliseconds))
  }
}
