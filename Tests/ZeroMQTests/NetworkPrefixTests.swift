import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite("Sites by their addresses")
struct NetworkPrefixTests {
  @Test("an IPv4 address is a site of its own, and the same where a socket speaks IPv6 too")
  func four() throws {
    let one = try #require(NetworkPrefix("192.0.2.1"))
    #expect(one == NetworkPrefix("::ffff:192.0.2.1"))
    #expect(one != NetworkPrefix("192.0.2.2"))
    #expect(NetworkPrefix("0.0.0.0") != NetworkPrefix("::"))
  }

  @Test("the first 64 bits of an IPv6 address are a site")
  func six() throws {
    let one = try #require(NetworkPrefix("2001:db8:1:2:3:4:5:6"))
    #expect(one == NetworkPrefix("2001:db8:1:2::1"))
    #expect(one != NetworkPrefix("2001:db8:1:3::1"))
    #expect(NetworkPrefix("fe80::1%eth0") == NetworkPrefix("fe80::2"))
  }

  @Test("what is no address is none", arguments: ["", "localhost:0:0:17", "1.2.3", "::g", "127.0.0.1:80"])
  func none(_ text: String) { #expect(NetworkPrefix(text) == nil) }

  @Test("an accepted connection tells its site; a descriptor that is no connection has none")
  func accepted() throws {
    let context = try Context()
    let server = try Socket(.router, in: context)
    var events = try SocketEvents(of: server)
    try server.bind("tcp://127.0.0.1:*")
    let client = try Socket(.dealer, in: try Context())
    try client.connect(try server.lastEndpoint())
    var poller = Poller()
    _ = poller.add(events)
    var site: NetworkPrefix?
    for _ in 0..<100 where site == nil {
      _ = try poller.wait(timeoutMilliseconds: 200)
      while let event = try events.next() {
        if case .accepted(let descriptor) = event.change { site = NetworkPrefix(ofPeerOf: descriptor) }
      }
    }
    #expect(site == NetworkPrefix("127.0.0.1"))
    #expect(NetworkPrefix(ofPeerOf: -1) == nil)
  }

  @Test("two endpoints of one socket are each served by the I/O thread that was named before its bind")
  func threads() throws {
    let context = try Context(ioThreads: 2)
    let server = try Socket(.router, in: context)
    let messages = MessageGuard(maximumParts: 4, maximumBytes: 1_000)
    let path = "/tmp/threads-\(UInt32.random(in: 0 ... .max))"
    try server.set([.ioThread(0)])
    _ = try messages.bind(server, to: "ipc://\(path)")
    try server.set([.ioThread(1)])
    _ = try messages.bind(server, to: "tcp://127.0.0.1:*")
    let endpoints = ["ipc://\(path)", try server.lastEndpoint()]
    var message = Message()
    var from = RoutingID.random()
    for endpoint in endpoints {
      let client = try Socket(.dealer, in: try Context())
      try client.connect(endpoint)
      try #require(try client.send([1, 2, 3]) == .sent)
      try #require(try server.wait(for: .readable, timeoutMilliseconds: 20_000))
      #expect(try server.receive(from: &from, into: &message) == .received)
      #expect(message.withBytes { Array($0) } == [1, 2, 3])
    }
    unlink(path)
  }
}
