import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Dispatch
import Foundation
import Testing

/// A store with its own thread that stores, fails or ends under the test's control.
private final class GatedStore: Store {
  /// The test's control and view of the store.
  final class Gate: @unchecked Sendable {  // SAFETY: its variables are touched only while `condition` is held
    private let condition = NSCondition()
    private var isOpen = true
    private var shallFail = false
    private var shallBeReplaced = false
    private var counts: [Int] = []
    private var opened = 0

    private func locked<Result>(_ body: () -> Result) -> Result {
      condition.lock()
      defer { condition.unlock() }
      defer { condition.broadcast() }
      return body()
    }

    func close() { locked { isOpen = false } }
    func open() { locked { isOpen = true } }
    func fail() { locked { shallFail = true } }
    func replace() { locked { shallBeReplaced = true } }
    /// The number of batches of each append that has begun.
    var appends: [Int] { locked { counts } }
    var openings: Int { locked { opened } }

    fileprivate func recordOpening() { locked { opened += 1 } }

    fileprivate func pass(_ batches: Int) throws(StoreError) {
      locked { counts.append(batches) }
      condition.lock()
      while !isOpen { condition.wait() }
      let shallFail = shallFail
      condition.unlock()
      if shallFail { throw StoreError("the disk is gone", .syncFailed) }
    }

    fileprivate func consumeReplacement() -> Bool {
      locked {
        defer { shallBeReplaced = false }
        return shallBeReplaced
      }
    }
  }

  private let memory: MemoryStore
  private let gate: Gate
  var logID: LogID { memory.logID }
  var epoch: Epoch { memory.epoch }
  var durability: Durability { .process }

  init(_ gate: Gate) {
    self.gate = gate
    gate.recordOpening()
    memory = MemoryStore(logID: 5, epoch: UInt64(gate.openings) << 32 | 1)
  }

  func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    try gate.pass(batches.count)
    return try memory.append(batches)
  }

  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}
  func load(_ model: String) throws(StoreError) -> StoredModel? { nil }
  func start(_ epoch: Epoch) throws(StoreError) { try memory.start(epoch) }

  func upkeep() throws(StoreError) -> Bool {
    if gate.consumeReplacement() { throw StoreError("put back", .replaced) }
    return false
  }
}

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
}

@Suite("A hub with a store on its own thread")
struct StoringTests {
  private let gate = GatedStore.Gate()
  private let hub: Hub
  private let desk: Peer
  private let kitchen: Peer

  init() throws {
    var configuration = Hub.Configuration()
    configuration.listen = []
    let gate = gate
    configuration.store = HubStore { () throws(StoreError) in GatedStore(gate) }
    hub = try Hub(configuration: configuration)
    try hub.start()
    desk = try Peer(name: "desk", hub: .inProcess(hub))
    kitchen = try Peer(name: "kitchen", hub: .inProcess(hub))
  }

  private func share(_ peer: Peer, _ id: String = "lamp") async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: id, on: .direct, timeout: .seconds(20))
    // Its description and defaults are writes too.
    #expect(await eventually { lamp.shared?["level"] != nil && peer.unconfirmed == 0 })
    return lamp
  }

  /// Returns when the hub has read and answered everything that this peer has sent.
  private func settle(_ peer: Peer) async { #expect(await peer.ping(timeout: .seconds(20)) != nil) }

  @Test("nothing shows elsewhere or is acknowledged before it is stored, and the hub answers meanwhile")
  func storedFirst() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    let before = gate.appends.count
    gate.close()
    let write = try mine.$level.write(0.8)
    #expect(await eventually { gate.appends.count == before + 1 })
    await settle(desk)
    await settle(kitchen)
    #expect(theirs.level == 0.3)
    #expect(desk.unconfirmed == 1)
    gate.open()
    _ = try await write.committed
    #expect(await eventually { theirs.level == 0.8 })
  }

  @Test("decisions made during one append are appended together")
  func gathers() async throws {
    var lamps: [Lamp] = []
    for number in 0..<6 { lamps.append(try await share(desk, "lamp\(number)")) }
    gate.close()
    let before = gate.appends.count
    lamps[0].level = 0.5
    #expect(await eventually { gate.appends.count == before + 1 })
    for lamp in lamps.dropFirst() {
      lamp.level = 0.6
      await settle(desk)
    }
    gate.open()
    #expect(await eventually { desk.unconfirmed == 0 })
    #expect(gate.appends.dropFirst(before) == [1, 5])
  }

  @Test("a failing store ends the hub with its reason, and nothing unstored is acknowledged")
  func fails() async throws {
    let mine = try await share(desk)
    gate.fail()
    mine.level = 0.8
    let hub = hub
    let error = await withCheckedContinuation { (ended: CheckedContinuation<StoreError?, Never>) in
      Thread.detachNewThread {
        do throws(StoreError) {
          try hub.wait()
          ended.resume(returning: nil)
        } catch {
          ended.resume(returning: error)
        }
      }
    }
    #expect(error?.kind == .syncFailed)
    #expect(desk.unconfirmed == 1)
    #expect(mine.level == 0.8)
  }

  @Test("a replaced store is opened again, and peers continue with it")
  func replaced() async throws {
    let mine = try await share(desk)
    gate.replace()
    #expect(await eventually { gate.openings == 2 })
    _ = try await mine.$level.write(0.8).committed
    let theirs = try await share(kitchen)
    #expect(await eventually { theirs.level == 0.8 })
  }
}
