import BindingProtocol
import Dispatch
import Foundation
import Logging
import Testing
import ZeroMQ

@testable import BindingHub

/// Halts a hub and lets it continue.
private struct Halt: Sendable {
  let reached = DispatchSemaphore(value: 0)
  let end = DispatchSemaphore(value: 0)
}

/// A store on the hub's own thread, which halts with its first batch.
private final class HaltingStore: Store {
  private let store = MemoryStore(logID: 3, epoch: 1 << 32 | 1)
  private var halt: Halt?
  var logID: LogID { store.logID }
  var epoch: Epoch { store.epoch }
  var durability: Durability { store.durability }
  var isImmediate: Bool { true }

  init(_ halt: Halt) { self.halt = halt }

  func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    if let halt {
      self.halt = nil
      halt.reached.signal()
      _ = halt.end.wait(timeout: .now() + 30)
    }
    return try store.append(batches)
  }

  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}
  func load(_ model: String) throws(StoreError) -> StoredModel? { nil }
  func start(_ epoch: Epoch) throws(StoreError) { try store.start(epoch) }
}

/// A peer's request connection, established once it is initialised.
private final class Talker {
  private let dealer: Socket
  private let session = SessionID.random(in: 1 ... .max)
  private var start: StartNumber = 0
  private var message = Message()

  init(to hub: HubAddress) throws {
    dealer = try Socket(.dealer, in: try Context())
    try dealer.set([.immediate(true), .linger(milliseconds: 10_000), .sendHighWaterMark(messages: 0)])
    try dealer.connect(hub.description)
    try #require(try dealer.wait(for: .writable, timeoutMilliseconds: 20_000))
  }

  func send(_ message: PeerMessage) throws {
    try #require(try dealer.send(message.encode(session: session, start: start)) == .sent)
  }

  func receive<Found>(_ find: (HubMessage) -> Found?) throws -> Found {
    while try dealer.wait(for: .readable, timeoutMilliseconds: 20_000) {
      guard try dealer.receive(into: &message) else { continue }
      let (header, content) = try HubMessage.decode(message.withBytes { Array($0) })
      start = header.start
      if let found = find(content) { return found }
    }
    throw Silence()
  }

  func hello(_ name: String) throws {
    try send(.hello(Hello(identity: Identity(secret: .random(), name: name))))
    try receive { if case .welcome = $0 { () } else { nil } }
  }

  struct Silence: Error {}
}

@Suite("A peer's last messages, over real sockets")
struct LastWordsTests {
  @Test("a leave arrives although the hub has much to send to its peer, whose connection is already gone")
  func goodBye() throws {
    let halt = Halt()
    let folder = "/tmp/bindbus-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = Hub.Configuration()
    configuration.listen = [try HubAddress("ipc://\(folder)/hub.sock")]
    // A silent peer stays listed for this long.
    configuration.lease = .seconds(60)
    configuration.store = HubStore { () throws(StoreError) in HaltingStore(halt) }
    let hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
    defer { hub.stop() }
    let address = try #require(hub.addresses.first)
    func present() -> [String] {
      guard case .array(let sessions)? = HubStatus.ask(address, timeout: .seconds(10))?["sessions"] else {
        return []
      }
      return sessions.compactMap { if case .string(let name)? = $0["name"] { name } else { nil } }
    }

    var leaving: Talker? = try Talker(to: address)
    try leaving?.hello("leaving")
    let writer = try Talker(to: address)
    try writer.hello("writer")
    try writer.send(.join([Join(request: 1, model: "halt")]))
    let topic = try writer.receive { if case .topic(let assigned) = $0 { assigned.topic } else { nil } }
    #expect(present().sorted() == ["leaving", "writer"])
    try writer.send(.propose([.of(1, [.set("on", "true")], topic: topic)]))
    try #require(halt.reached.wait(timeout: .now() + 20) == .success)

    // More than the hub reads before it answers.
    for token in 0..<UInt64(ZeroMQTransport.drainMessages) { try leaving?.send(.ping(Ping(token: token))) }
    try leaving?.send(.leave(Leave()))
    leaving = nil
    // The hub's sockets have received everything sent before those connections, including the close.
    for _ in 0..<5 { _ = try Talker(to: address) }
    halt.end.signal()
    let deadline = ContinuousClock.now + .seconds(20)
    while present() != ["writer"], ContinuousClock.now < deadline { usleep(20_000) }
    #expect(present() == ["writer"])
  }
}
