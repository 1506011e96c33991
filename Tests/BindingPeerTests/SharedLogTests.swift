import BindbusTesting
import BindingHub
import BindingProtocol
import Foundation
import Synchronization
import Testing

@testable import BindingPeer

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field(policy: .add) var count = 0
}

/// A handle of a log in memory that goes on by itself, as one of an engine does.
private final class RunningStore: SharedStore {
  let store: SharedMemoryStore
  private let queue = DispatchQueue(label: "engine")
  private let isClosed = Mutex(false)

  init(_ store: SharedMemoryStore) {
    self.store = store
    step()
  }

  private func step() {
    queue.asyncAfter(deadline: .now() + .milliseconds(1)) { [weak self] in
      guard let self, !isClosed.withLock(\.self) else { return }
      store.step()
      step()
    }
  }

  var logID: LogID { store.logID }
  var epoch: Epoch { store.epoch }
  var grade: SharedGrade { store.grade }
  var maxBatchBytes: Int { store.maxBatchBytes }
  var status: SharedStoreStatus { store.status }
  func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) { store.begin(deliver) }
  func append(_ number: UInt64, _ batches: [SharedBatch]) { store.append(number, batches) }
  func load(_ model: String) { store.load(model) }
  func loadToFold(_ model: String, upTo record: UInt64) { store.loadToFold(model, upTo: record) }
  func head(of model: String) { store.head(of: model) }
  func sync(_ number: UInt64) { store.sync(number) }
  func list(prefix: String, after: String, limit: Int) { store.list(prefix: prefix, after: after, limit: limit) }
  func fold(_ fold: SharedFold) { store.fold(fold) }
  func history(_ query: HistoryQuery) { store.history(query) }

  func close() {
    isClosed.withLock { $0 = true }
    queue.sync { store.close() }
  }
}

@Suite("Peers of two hubs that share a log")
struct SharedLogTests {
  private let log = SharedMemoryLog(logID: 7, epoch: 1 << 32 | 1)

  private func start(faults: @escaping SharedMemoryStore.Faults = { _ in .none }) throws -> (Hub, SharedMemoryStore) {
    let store = SharedMemoryStore(log, faults: faults)
    var configuration = Hub.Configuration()
    configuration.listen = []
    configuration.store = HubStore(shared: { () throws(StoreError) in RunningStore(store) })
    let hub = try Hub(configuration: configuration)
    try hub.start()
    return (hub, store)
  }

  private func share(_ name: String, at hub: Hub) async throws -> (Peer, Lamp) {
    let peer = try Peer(name: name, hub: .inProcess(hub))
    return (peer, try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20)))
  }

  @Test("each sees what the other writes, and additions of both count once, though answers are late, lost and repeated")
  func bothWrite() async throws {
    let faults: SharedMemoryStore.Faults = { number in
      [.none, .lateAnswer(9), .lostAnswer, .none, .repeatedAnswer, .lostRequest, .none][number % 7]
    }
    let (one, _) = try start(faults: faults)
    let (two, _) = try start(faults: faults)
    let (annPeer, ann) = try await share("ann", at: one)
    let (benPeer, ben) = try await share("ben", at: two)
    ann.level = 0.8
    #expect(await eventually { ben.level == 0.8 })
    for _ in 0..<100 {
      try ann.$count.add(1)
      try ben.$count.add(1)
    }
    #expect(await eventually { ann.count == 200 && ben.count == 200 })
    #expect(await eventually { annPeer.unconfirmed == 0 && benPeer.unconfirmed == 0 })
    #expect(ann.shared?.version.version == ben.shared?.version.version)
    one.stop()
    two.stop()
  }

  @Test("a peer of a hub that loses the log reads on and waits for upstream, and goes on with it")
  func cut() async throws {
    let (one, store) = try start()
    let (two, _) = try start()
    let (annPeer, ann) = try await share("ann", at: one)
    let (_, ben) = try await share("ben", at: two)
    #expect(await eventually { annPeer.unconfirmed == 0 })
    store.setCut(true)
    #expect(await eventually { annPeer.status.waitsForUpstream })
    ben.level = 0.7
    try ann.$count.add(1)
    _ = try await ben.$count.add(0).committed
    #expect(ann.level == 0.3 && annPeer.unconfirmed == 1 && ben.count == 0)
    store.setCut(false)
    #expect(await eventually { ann.level == 0.7 && ben.count == 1 && !annPeer.status.waitsForUpstream })
    #expect(await eventually { annPeer.unconfirmed == 0 })
    one.stop()
    two.stop()
  }

  @Test("a hub's last decisions are stored before it ends, and a hub that starts later has them")
  func lastWords() async throws {
    let (one, _) = try start()
    let (peer, lamp) = try await share("ann", at: one)
    let write = try lamp.$count.write(41)
    _ = try await write.committed
    try lamp.$count.add(1)
    #expect(await peer.ping(timeout: .seconds(20)) != nil)
    one.stop()
    let (two, _) = try start()
    let (_, later) = try await share("ben", at: two)
    #expect(await eventually { later.count == 42 })
    two.stop()
  }

  @Test("the hub folds what it has stored, and what is left makes the same model")
  func folds() async throws {
    let (one, _) = try start()
    let (peer, lamp) = try await share("ann", at: one)
    for _ in 0..<3_000 { _ = try await lamp.$count.add(1).committed }
    #expect(await eventually { log.records(of: "lamp") <= 1_024 + 512 })
    #expect(log.records(of: "lamp") >= 1_000)
    let (two, _) = try start()
    let (_, later) = try await share("ben", at: two)
    #expect(await eventually { later.count == 3_000 })
    #expect(peer.unconfirmed == 0)
    one.stop()
    two.stop()
  }
}
