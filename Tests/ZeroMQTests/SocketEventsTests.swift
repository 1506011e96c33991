import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Socket events")
struct SocketEventsTests {
  let context: Context

  init() throws { context = try Context() }

  @Test("events report a connection from its beginning to its end on both sides")
  func wholeConnection() throws {
    let router = try Socket(.router, in: context)
    var atRouter = try SocketEvents(of: router)
    try router.bind("tcp://127.0.0.1:*")
    let endpoint = try router.lastEndpoint()
    let listening = try atRouter.await("listening") { if case .listening = $0 { true } else { false } }
    #expect(listening.endpoint == endpoint)
    let dealer = try Socket(.dealer, in: context)
    var atDealer = try SocketEvents(of: dealer)
    try dealer.connect(endpoint)
    try atDealer.await("connected", \.isConnected)
    try atDealer.await("shaken hands") { $0 == .handshakeSucceeded }
    let accepted = try atRouter.await("accepted", \.isAccepted)
    try atRouter.await("shaken hands") { $0 == .handshakeSucceeded }
    guard case .accepted(let fileDescriptor) = accepted.change else { return }
    #expect(ConnectionCut.shutdownConnection(fileDescriptor: fileDescriptor))
    let gone = try atRouter.await("gone", \.isDisconnected)
    #expect(gone.change == .disconnected(fileDescriptor: fileDescriptor))
    try atDealer.await("gone", \.isDisconnected)
  }

  @Test("events wake the loop that polls them")
  func polled() throws {
    let router = try Socket(.router, in: context)
    var events = try SocketEvents(of: router)
    try router.bind("tcp://127.0.0.1:*")
    var poller = Poller()
    let slot = poller.add(events)
    while try events.next() != nil {}
    let stranger = try RawConnection.connected(to: try router.lastEndpoint())
    #expect(try poller.wait(timeoutMilliseconds: timeoutMilliseconds) == 1)
    #expect(poller.isReadable(slot) == true)
    let event = try events.next()
    #expect(event?.change.isAccepted == true)
    withExtendedLifetime(stranger) {}
  }

  @Test("a failed connect is reported with the pause before the next attempt")
  func failedConnect() throws {
    let reserved = try RawConnection.reserved()
    let sub = try Socket(.sub, in: context)
    try sub.set(.reconnectInterval(milliseconds: 30))
    var events = try SocketEvents(of: sub)
    try sub.connect("tcp://127.0.0.1:\(reserved.localPort)")
    let retried = try events.await("a retry") { if case .connectRetried = $0 { true } else { false } }
    guard case .connectRetried(let pause) = retried.change else { return }
    #expect(1...60 ~= pause)
  }

  @Test("a socket keeps working when its events are dropped first")
  func eventsGoFirst() throws {
    let router = try Socket(.router, in: context)
    do {
      var events = try SocketEvents(of: router)
      try router.bind("tcp://127.0.0.1:*")
      _ = try events.next()
    }
    for number: UInt8 in 0..<20 {
      let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
      try dealer.send([number])
      #expect(try router.receiveRouted().bytes == [number])
    }
    // Another reader can follow.
    var events = try SocketEvents(of: router)
    let dealer = try Socket.connected(.dealer, in: context, to: router.lastEndpoint())
    try dealer.send([99])
    try events.await("accepted", \.isAccepted)
  }

  @Test("thousands of unread events block neither the socket nor its closing")
  func unreadEvents() throws {
    let thread = try SocketThread(name: "unread") {
      do {
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.set(.backlog(connections: 1_024))
        let events = try SocketEvents(of: router)
        try router.bind("tcp://127.0.0.1:*")
        let endpoint = try router.lastEndpoint()
        for _ in 0..<1_200 { _ = try RawConnection.connected(to: endpoint) }
        let dealer = try Socket.connected(.dealer, in: context, to: endpoint)
        try dealer.send([1])
        #expect(try router.receiveRouted().bytes == [1])
        withExtendedLifetime(events.reader.kind) {}
      } catch { Issue.record(error) }
    }
    #expect(thread.join(timeoutMilliseconds: 3 * timeoutMilliseconds))
  }

  @Test("a failed accept at the limit of open files is reported, and rebinding recovers")
  func acceptFailed() async {
    await #expect(processExitsWith: .success) {
      let context = try Context()
      let router = try Socket(.router, in: context)
      var events = try SocketEvents(of: router)
      try router.bind("tcp://127.0.0.1:*")
      let endpoint = try router.lastEndpoint()
      let stranger = try RawConnection()
      var taken: [Int32] = []
      var limit = rlimit(rlim_cur: 256, rlim_max: 256)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      while true {
        let number = dup(0)
        if number < 0 { break }
        taken.append(number)
      }
      #expect(stranger.connect(port: try RawConnection.port(of: endpoint)))
      try events.await("a failed accept") { $0 == .acceptFailed(code: EMFILE) }
      try router.unbind(endpoint)
      for number in taken { close(number) }
      try eventually("the port is free") { (try? router.bind(endpoint)) != nil }
      let dealer = try Socket.connected(.dealer, in: context, to: endpoint)
      try dealer.send([1])
      #expect(try router.receiveRouted().bytes == [1])
    }
  }

  @Test("frames of a wrong length are no event", arguments: [0, 5, 7])
  func malformed(count: Int) {
    let bytes = [UInt8](repeating: 1, count: count)
    #expect(bytes.withUnsafeBytes { SocketEvent(head: $0, endpoint: "") } == nil)
  }

  @Test("event numbers are decoded into changes")
  func changes() {
    func change(_ number: UInt16, _ value: Int32) -> SocketEvent.Change? {
      var bytes = withUnsafeBytes(of: number) { Array($0) }
      bytes += withUnsafeBytes(of: value) { Array($0) }
      return bytes.withUnsafeBytes { SocketEvent(head: $0, endpoint: "") }?.change
    }
    #expect(change(0x0010, 13) == .bindFailed(code: 13))
    #expect(change(0x0040, 24) == .acceptFailed(code: 24))
    #expect(change(0x0800, 32) == .handshakeFailed(.broken(code: 32)))
    #expect(change(0x2000, 0x1000_0001) == .handshakeFailed(.protocolError(number: 0x1000_0001)))
    #expect(change(0x4000, 400) == .handshakeFailed(.authentication(status: 400)))
    #expect(change(0x0400, 0) == .monitorStopped)
    #expect(change(0x8000, 5) == .other(number: 0x8000, value: 5))
  }
}

@Suite("Cutting connections")
struct ConnectionCutTests {
  @Test("shutdownConnection cuts only connected streams")
  func onlyStreams() throws {
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: -1))
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: 1_000_000))
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: try Wakeup().fileDescriptor))
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: file))
    let listener = try RawConnection.listening()
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: listener.fileDescriptor))
    #expect(!ConnectionCut.shutdownConnection(fileDescriptor: try RawConnection().fileDescriptor))
    // The listener still listens.
    let client = try RawConnection.connected(to: "tcp://127.0.0.1:\(listener.localPort)")
    #expect(ConnectionCut.shutdownConnection(fileDescriptor: client.fileDescriptor))
    #expect(client.isEndedByPeer())
  }

  @Test("a connection over a path, whose peer has no name, is cut too")
  func overPath() throws {
    let directory = try TemporaryDirectory()
    let context = try Context()
    let router = try Socket.listening(.router, in: context, at: "ipc://\(directory.path)/s")
    let dealer = try Socket(.dealer, in: context)
    var events = try SocketEvents(of: dealer)
    try dealer.connect(try router.lastEndpoint())
    try dealer.send([1])
    var message = Message()
    _ = try router.receiveRouted(into: &message)
    let source = message.sourceFileDescriptor
    #expect(ConnectionCut.shutdownConnection(fileDescriptor: try #require(source)))
    try events.await("cut", \.isDisconnected)
  }
}
