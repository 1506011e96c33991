import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Contexts")
struct ContextTests {
  @Test("the library's randomness is seeded once, before the first context")
  func seeding() async {
    await #expect(processExitsWith: .success) {
      // The first number that an unseeded process draws.
      srand(1)
      let unseeded = rand()
      srand(1)
      #expect(LibraryRandomness.seedingCount == 0)
      let first = try Context()
      #expect(LibraryRandomness.seedingCount == 1)
      #expect(rand() != unseeded)
      let second = try Context()
      #expect(LibraryRandomness.seedingCount == 1)
      withExtendedLifetime((first, second)) {}
    }
  }

  @Test("a refused context has seeded the randomness already: no library code runs before")
  func seedingComesFirst() async {
    await #expect(processExitsWith: .success) {
      #expect(throws: ZeroMQError.self) { try Context(ioThreads: 0) }
      #expect(LibraryRandomness.seedingCount == 1)
    }
  }

  @Test("two processes generate different routing ids")
  func routingIDsDiffer() async throws {
    var outputs: [[UInt8]] = []
    for _ in 0..<2 {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let context = try Context()
        let router = try Socket.listening(.router, in: context, at: "inproc://hub")
        // With libzmq's defaults the connection has no id, and the router generates one.
        let dealer = Socket(core: try SocketCore(.dealer, in: context, isBare: true))
        try dealer.connect("inproc://hub")
        try dealer.send([1])
        let id = try router.receiveRouted().id
        #expect(id.isGivenByRouter)
        print("[id \(id)]")
      }
      let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
      let id = try #require(output.split(separator: "[id ").last?.split(separator: "]").first)
      #expect(id.utf8.count == 10)
      outputs.append(Array(id.utf8))
    }
    #expect(outputs[0] != outputs[1])
  }

  @Test("context options out of range are refused", arguments: [(0, 10), (-1, 10), (1, 0), (1, 1 << 40), (1 << 40, 1)])
  func ranges(ioThreads: Int, maximumSockets: Int) {
    do throws(ZeroMQError) {
      _ = try Context(ioThreads: ioThreads, maximumSockets: maximumSockets)
      Issue.record("accepted")
    } catch {
      #expect(error.name == "EINVAL")
      #expect(error.call == "zmq_ctx_set")
    }
  }

  @Test("a socket past the limit throws EMFILE")
  func tooManySockets() throws {
    let context = try Context(maximumSockets: 2)
    let first = try Socket(.pair, in: context)
    let second = try Socket(.pair, in: context)
    do throws(ZeroMQError) {
      _ = try Socket(.pair, in: context)
      Issue.record("accepted")
    } catch { #expect(error.name == "EMFILE") }
    #expect(try first.type() == second.type())
  }

  @Test("shutting down a context ends a poll without timeout")
  func shutdown() throws {
    let context = try Context()
    let sawShutdown = Shared(false)
    let isReady = Shared(false)
    let thread = try SocketThread(name: "waiter") {
      do throws(ZeroMQError) {
        let socket = try Socket(.pair, in: context)
        isReady.current = true
        _ = try socket.wait(for: .readable, timeoutMilliseconds: -1)
      } catch { sawShutdown.current = error.isShutdown }
    }
    try eventually("the thread waits") { isReady.current }
    context.shutdown()
    context.shutdown()
    #expect(thread.join(timeoutMilliseconds: timeoutMilliseconds))
    #expect(sawShutdown.current)
    #expect(throws: ZeroMQError.self) { _ = try Socket(.pair, in: context) }
  }

  @Test("a context ends although messages for an absent peer are queued")
  func endsWithUnsentMessages() throws {
    let thread = try SocketThread(name: "ender") {
      do {
        let context = try Context()
        let dealer = try Socket.connected(
          .dealer, in: context, to: "tcp://127.0.0.1:9", [.reconnectInterval(milliseconds: 10)])
        #expect(try dealer.send([1]) == .sent)
      } catch { Issue.record(error) }
    }
    #expect(thread.join(timeoutMilliseconds: timeoutMilliseconds))
  }

  @Test("the library's version is at least 4.3.0")
  func version() throws {
    let parts = Context.libraryVersion.split(separator: ".").compactMap { Int($0) }
    #expect(parts.count == 3)
    #expect(parts.lexicographicallyPrecedes([4, 3, 0]) == false)
  }
}
