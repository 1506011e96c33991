import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Lifetimes of sockets and connections")
struct SocketLifetimeTests {
  let context: Context

  init() throws { context = try Context() }

  @Test("a socket that goes out of scope is closed: its peer notices and its endpoint is free again")
  func closedAtEndOfScope() throws {
    var endpoint = ""
    let dealer = try Socket(.dealer, in: context)
    var events = try SocketEvents(of: dealer)
    do {
      let router = try Socket.listening(.router, in: context)
      endpoint = try router.lastEndpoint()
      try dealer.connect(endpoint)
      try events.await("a handshake") { $0 == .handshakeSucceeded }
    }
    try events.await("the router is gone", \.isDisconnected)
    let next = try Socket(.router, in: context)
    try eventually("the port is free") {
      do throws(ZeroMQError) {
        try next.bind(endpoint)
        return true
      } catch {
        #expect(error.name == "EADDRINUSE")
        return false
      }
    }
  }

  @Test("closing with linger still sends queued messages")
  func lingering() throws {
    let router = try Socket.listening(.router, in: context)
    let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    for number: UInt8 in 0..<100 { try dealer.send([number]) }
    try dealer.close(lingerMilliseconds: timeoutMilliseconds)
    for number: UInt8 in 0..<100 { #expect(try router.receiveRouted().bytes == [number]) }
  }

  @Test("unbinding ends the endpoint's connections and refuses new ones until it is bound again")
  func unbinding() throws {
    let router = try Socket.listening(.router, in: context)
    let endpoint = try router.lastEndpoint()
    let inside = try Socket(.dealer, in: context)
    var events = try SocketEvents(of: inside)
    try inside.connect(endpoint)
    try inside.send([1])
    let id = try router.receiveRouted().id
    try router.unbind(endpoint)
    try eventually("the port refuses") { (try? RawConnection.connected(to: endpoint)) == nil }
    try eventually("the router knows") { try router.send([2], to: id) == .hostUnreachable }
    var isGone = false
    try eventually("the connection ends") {
      _ = try (router.events(), inside.events())
      while let event = try events.next() { isGone = isGone || event.change.isDisconnected }
      return isGone
    }
    try router.bind(endpoint)
    let outside = try Socket.connected(.dealer, in: context, to: endpoint)
    try outside.send([3])
    #expect(try router.receiveRouted().bytes == [3])
    #expect(throws: ZeroMQError.self) { try router.unbind("tcp://127.0.0.1:1") }
  }

  @Test("disconnecting ends the connection on the other side too, while the socket is polled")
  func disconnecting() throws {
    let router = try Socket(.router, in: context)
    var events = try SocketEvents(of: router)
    try router.bind("tcp://127.0.0.1:*")
    let endpoint = try router.lastEndpoint()
    let dealer = try Socket.connected(.dealer, in: context, to: endpoint)
    try dealer.send([1])
    _ = try router.receiveRouted()
    try dealer.disconnect(endpoint)
    var isGone = false
    try eventually("the dealer left") {
      _ = try (dealer.events(), router.events())
      while let event = try events.next() { isGone = isGone || event.change.isDisconnected }
      return isGone
    }
    #expect(throws: ZeroMQError.self) { try dealer.disconnect(endpoint) }
  }

  @Test("a frame past the maximum ends its connection, and other connections continue")
  func oversize() throws {
    let router = try Socket(.router, in: context)
    try router.set(.maximumMessageSize(bytes: 1_000))
    var events = try SocketEvents(of: router)
    try router.bind("tcp://127.0.0.1:*")
    let greedy = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    let modest = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try modest.send([UInt8](repeating: 1, count: 1_000))
    try greedy.send([UInt8](repeating: 2, count: 1_000))
    let first = [try router.receiveRouted().bytes.count, try router.receiveRouted().bytes.count]
    #expect(first == [1_000, 1_000])
    // The sender gets no error.
    #expect(try greedy.send([UInt8](repeating: 2, count: 1_001)) == .sent)
    try events.await("the greedy one is cut", \.isDisconnected)
    try modest.send([3])
    #expect(try router.receiveRouted().bytes == [3])
    #expect(try router.wait(for: .readable, timeoutMilliseconds: 0) == false)
  }

  @Test("after a half-open connection, a new dealer with another id is received")
  func halfOpenConnection() throws {
    let router = try Socket.listening(.router, in: context)
    let relay = try Relay(to: try router.lastEndpoint())
    let first = try Socket(.dealer, in: context)
    var events = try SocketEvents(of: first)
    try first.connect(relay.endpoint)
    try first.send([1])
    let before = try router.receiveRouted()
    relay.loseNearSides()
    try events.await("the first connection is lost", \.isDisconnected)
    // The dealer does not reconnect by itself: the router would not receive from the same id.
    let second = try Socket.connected(.dealer, in: context, to: relay.endpoint)
    try second.send([2])
    let after = try router.receiveRouted()
    #expect(after.bytes == [2])
    #expect(after.id != before.id)
    #expect(try router.send([3], to: after.id) == .sent)
    #expect(try second.receiveBytes() == [3])
    #expect(try router.send([4], to: before.id) == .sent)
  }

  @Test("heartbeats detect a network that falls silent", arguments: [true, false])
  func heartbeats(atDealer: Bool) throws {
    let heartbeats = SocketOption.heartbeat(intervalMilliseconds: 100, timeoutMilliseconds: 300)
    let router = try Socket(.router, in: context)
    let dealer = try Socket(.dealer, in: context)
    if atDealer { try dealer.set(heartbeats) } else { try router.set(heartbeats) }
    var events = if atDealer { try SocketEvents(of: dealer) } else { try SocketEvents(of: router) }
    try router.bind("tcp://127.0.0.1:*")
    let relay = try Relay(to: try router.lastEndpoint())
    try dealer.connect(relay.endpoint)
    try dealer.send([1])
    _ = try router.receiveRouted()
    relay.fallSilent()
    try events.await("the silence is noticed", \.isDisconnected)
  }

  @Test("a silent peer is cut after the handshake interval, a malformed greeting immediately")
  func handshakes() throws {
    let router = try Socket(.router, in: context)
    try router.set(.handshakeInterval(milliseconds: 200))
    var events = try SocketEvents(of: router)
    try router.bind("tcp://127.0.0.1:*")
    let silent = try RawConnection.connected(to: try router.lastEndpoint())
    try events.await("the silent one is cut") { $0.isHandshakeFailed || $0.isDisconnected }
    #expect(silent.isEndedByPeer())
    let babbler = try RawConnection.connected(to: try router.lastEndpoint())
    babbler.send([UInt8](repeating: 0xAB, count: 200))
    #expect(babbler.isEndedByPeer())
    let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try dealer.send([1])
    #expect(try router.receiveRouted().bytes == [1])
  }
}

extension RawConnection {
  /// Reads to the end; false if the end does not arrive.
  func isEndedByPeer() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 1_024)
    while true {
      var item = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&item, 1, Int32(timeoutMilliseconds)) == 1 else { return false }
      if read(fileDescriptor, &buffer, buffer.count) <= 0 { return true }
    }
  }
}
