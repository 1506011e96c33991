import Testing

@testable import ZeroMQ

#if os(Linux)
  #if canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// ZMTP 3.1, frame by frame.
  private enum Frame {
    /// Greets as a dealer and waits for the other side's greeting: libzmq treats frames before that as errors.
    static func greet(_ connection: RawConnection) throws {
      try #require(connection.sendAll(greeting(kind: "DEALER")))
      try #require(connection.receive(64).count == 64)
      let head = connection.receive(2)
      try #require(head.first == 4)
      _ = connection.receive(Int(head[1]))
    }

    private static func greeting(kind: String) -> [UInt8] {
      let mechanism = Array("NULL".utf8)
      let start: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + mechanism
      let name = Array("Socket-Type".utf8)
      let value = Array(kind.utf8)
      let ready = [5] + Array("READY".utf8) + [UInt8(name.count)] + name + [0, 0, 0, UInt8(value.count)] + value
      return start + [UInt8](repeating: 0, count: 64 - start.count) + [4, UInt8(ready.count)] + ready
    }

    static func part(_ body: [UInt8], more: Bool) -> [UInt8] {
      body.count < 256
        ? [more ? 1 : 0, UInt8(body.count)] + body
        : [more ? 3 : 2, 0, 0, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: body.count >> (24 - 8 * $0)) } + body
    }

    static let ping: [UInt8] = [4, 7, 4] + Array("PING".utf8) + [0, 0]
  }

  @Suite("Message bounds", .serialized)
  struct MessageGuardTests {
    private let context: Context
    private let bounds: MessageGuard

    init() throws {
      context = try Context()
      bounds = MessageGuard(maximumParts: 4, maximumBytes: 1_000)
    }

    private func listen() throws -> Socket {
      let router = try Socket(.router, in: context)
      let isGuarded = try bounds.bind(router, to: "tcp://127.0.0.1:*")
      try #require(isGuarded)
      return router
    }

    private func stranger(of router: borrowing Socket) throws -> RawConnection {
      let connection = try RawConnection.connected(to: router.lastEndpoint())
      try Frame.greet(connection)
      return connection
    }

    /// Returns the sizes of the parts of the next message, without its routing id.
    private func nextParts(at router: borrowing Socket) throws -> [Int] {
      var message = Message()
      var sizes: [Int] = []
      #expect(try router.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds))
      try #require(try router.receive(into: &message))
      while message.hasMore {
        try #require(try router.receive(into: &message))
        sizes.append(message.byteCount)
      }
      return sizes
    }

    @Test("messages with the maximum parts and bytes pass, repeatedly")
    func atTheBound() throws {
      let router = try listen()
      let connection = try stranger(of: router)
      let full = [UInt8](repeating: 1, count: 1_000)
      for _ in 0..<3 {
        for last in [false, false, false, true] {
          #expect(connection.sendAll(Frame.part(Array(full.prefix(250)), more: !last)))
        }
        #expect(connection.sendAll(Frame.part(full, more: false)))
        #expect(try nextParts(at: router) == [250, 250, 250, 250])
        #expect(try nextParts(at: router) == [1_000])
      }
      withExtendedLifetime(connection) {}
      #expect(bounds.cutConnections == 0)
    }

    @Test("one part too many ends the connection, and libzmq receives nothing of the message")
    func onePartMore() throws {
      let router = try listen()
      let connection = try stranger(of: router)
      for _ in 0..<4 { #expect(connection.sendAll(Frame.part([], more: true))) }
      _ = connection.sendAll(Frame.part([], more: false))
      try eventually("it is cut") { bounds.cutConnections == 1 }
      withExtendedLifetime(connection) {}
      #expect(try router.events() != .readable)
    }

    @Test("one byte too many over all parts ends the connection as soon as the part's size has arrived")
    func oneByteMore() throws {
      let router = try listen()
      let connection = try stranger(of: router)
      #expect(connection.sendAll(Frame.part([UInt8](repeating: 1, count: 800), more: true)))
      _ = connection.sendAll([0, 201])
      try eventually("it is cut") { bounds.cutConnections == 1 }
      withExtendedLifetime(connection) {}
    }

    @Test("a header that arrives byte by byte counts like one that arrives whole")
    func dripping() throws {
      let router = try listen()
      let connection = try stranger(of: router)
      while connection.sendAll([1]) {
        poll(nil, 0, 1)
        guard connection.sendAll([0]) else { break }
        poll(nil, 0, 1)
      }
      #expect(bounds.cutConnections == 1)
    }

    @Test("heartbeats between the parts of a message do not count as parts")
    func heartbeats() throws {
      let router = try listen()
      let connection = try stranger(of: router)
      for _ in 0..<2 {
        for _ in 0..<500 { #expect(connection.sendAll(Frame.ping)) }
        #expect(connection.sendAll(Frame.part([7], more: true)))
      }
      #expect(connection.sendAll(Frame.part([7, 7], more: false)))
      #expect(try nextParts(at: router) == [1, 1, 2])
      withExtendedLifetime(connection) {}
      #expect(bounds.cutConnections == 0)
    }

    @Test(
      "a peer with a ZMTP version below 3, whose frames differ, is refused", arguments: [[0x01, 0x00], [0xFF, 1]])
    func olderProtocols(beginning: [UInt8]) throws {
      let router = try listen()
      let connection = try RawConnection.connected(to: router.lastEndpoint())
      let signature: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, beginning[1]]
      _ = connection.sendAll(beginning[0] == 0xFF ? signature : beginning)
      try eventually("it is cut") { bounds.cutConnections == 1 }
      withExtendedLifetime(connection) {}
    }

    @Test("a connection that reuses the descriptor of a cut one starts with fresh counts")
    func reusedNumber() throws {
      let router = try listen()
      for round in 1...5 {
        let bad = try stranger(of: router)
        while bad.sendAll(Frame.part([], more: true)) { poll(nil, 0, 1) }
        #expect(bounds.cutConnections == UInt64(round))
        let good = try stranger(of: router)
        #expect(good.sendAll(Frame.part([1, 2, 3], more: false)))
        #expect(try nextParts(at: router) == [3])
        withExtendedLifetime(good) {}
      }
    }

    @Test("other sockets of the process are not bounded")
    func others() throws {
      let open = try Socket.listening(.dealer, in: context)
      let sender = try RawConnection.connected(to: open.lastEndpoint())
      try Frame.greet(sender)
      for _ in 0..<1_000 { #expect(sender.sendAll(Frame.part([], more: true))) }
      #expect(sender.sendAll(Frame.part([5], more: false)))
      var message = Message()
      var count = 0
      #expect(try open.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds))
      while try open.receive(into: &message) {
        count += 1
        guard message.hasMore else { break }
      }
      #expect(count == 1_001)
      withExtendedLifetime(sender) {}
      #expect(bounds.cutConnections == 0)
    }

    @Test("a listener that reuses the descriptor of a guarded one is not guarded")
    func reusedListener() throws {
      let guarded = try Socket(.router, in: context)
      let other = MessageGuard(maximumParts: 1, maximumBytes: 1)
      let isGuarded = try other.bind(guarded, to: "tcp://127.0.0.1:*")
      try #require(isGuarded)
      try guarded.unbind(try guarded.lastEndpoint())
      // One of them gets the descriptor that has become free.
      let listeners = try (0..<4).map { _ in try RawConnection.listening() }
      for listener in listeners {
        let near = try RawConnection.connected(to: "tcp://127.0.0.1:\(listener.localPort)")
        let far = RawConnection(fileDescriptor: accept(listener.fileDescriptor, nil, nil))
        #expect(near.sendAll([1, 0, 1, 0]))
        var buffer = [UInt8](repeating: 0, count: 4)
        #expect(recv(far.fileDescriptor, &buffer, 4, Int32(MSG_WAITALL)) == 4)
      }
      #expect(other.cutConnections == 0)
    }
  }
#endif
