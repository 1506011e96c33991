import BindingHub
import BindingProtocol
import StoreContract
import Testing

/// The contract over a log in memory.
struct MemoryBench: SharedStoreBench {
  let log = SharedMemoryLog(logID: 3, epoch: ModelWriter.epoch)

  func open(_ faults: SharedStoreFaults) throws -> SharedStoreClient {
    let store = SharedMemoryStore(log) { MemoryBench.fault(faults, $0) }
    // The tail would tell what no answer tells.
    store.setTailHeld(faults == .silent)
    return SharedStoreClient(store) { store.step() }
  }

  static func fault(_ faults: SharedStoreFaults, _ number: Int) -> SharedMemoryStore.Fault {
    switch faults {
    case .none: .none
    case .late: number % 2 == 0 ? .lateAnswer(5) : .lateRequest(12)
    case .lost: [.lostAnswer, .lostRequest, .none][number % 3]
    case .repeated: .repeatedAnswer
    case .mixed:
      [.none, .lateRequest(9), .lostAnswer, .repeatedAnswer, .lostRequest, .lateAnswer(20)][number * 7 % 6]
    case .silent: number < SharedMemoryStore.maxTries ? (number == 2 ? .lostAnswer : .lostRequest) : .none
    }
  }

  func setHeld(_ isHeld: Bool, _ client: SharedStoreClient) throws {
    (client.store as? SharedMemoryStore)?.setTailHeld(isHeld)
  }
  func compact() throws { log.compact() }
  func setRoom(_ room: SharedRoom) throws { log.setRoom(room) }
  func beginEpoch() throws { log.begin(ModelWriter.epoch + 1) }
  func chunkKeys(of model: String) throws -> Int? { nil }
}

@Suite("A shared store in memory")
struct SharedStoreTests {
  @Test("keeps the contract", arguments: SharedStoreContract.all)
  func contract(_ check: SharedStoreContract) throws { try check.run(MemoryBench()) }

  @Test("names a model whose last event was lost, and no other")
  func lostEvent() throws {
    let bench = MemoryBench()
    let (reader, client) = (try bench.open(.none), try bench.open(.none))
    var (lamp, fan) = (ModelWriter("lamp", 1), ModelWriter("fan", 1))
    let store = try #require(reader.store as? SharedMemoryStore)
    store.setLosing { $0.batch.model == "lamp" && $0.batch.record == 3 }
    for value in 1...3 { try lamp.write("\(value)", client) }
    try fan.write("1", client)
    let heads = try reader.wait("changed") { if case .changed(let heads) = $0 { heads } else { nil } }
    #expect(heads.map(\.model) == ["lamp"] && heads.map(\.record) == [3])
    #expect(store.status.losses == 1)
  }

  @Test("a sync names a record that waits for the answer to an append")
  func syncWhileWaiting() throws {
    let bench = MemoryBench()
    let store = SharedMemoryStore(bench.log) { _ in .lateAnswer(6) }
    let (client, other) = (SharedStoreClient(store) { store.step() }, try bench.open(.none))
    store.setLosing { $0.batch.record == 1 }
    var writer = ModelWriter("lamp", 1)
    let number = client.submit([writer.next("1")])
    try other.wait(until: "its record") {
      client.work()
      return other.followed.count == 1
    }
    writer = ModelWriter("lamp", 2, head: try other.load("lamp").head)
    try writer.write("2", other)
    for _ in 0..<2 { client.work() }
    #expect(try client.answers(to: number).isEmpty && client.followed.isEmpty)
    client.store.sync(1)
    try client.wait("synced") { if case .synced(1) = $0 { true } else { nil } }
    let told = client.all.flatMap { event in if case .changed(let heads) = event { heads } else { [] as [SharedHead] } }
    #expect(told.map(\.record) == [2])
  }

  @Test("takes a record of the tail as the answer to its append, and drops the engine's answer")
  func tailFirst() throws {
    let bench = MemoryBench()
    let store = SharedMemoryStore(bench.log) { _ in .lateAnswer(6) }
    let client = SharedStoreClient(store) { store.step() }
    var writer = ModelWriter("lamp", 1)
    for value in 1...3 { try writer.write("\(value)", client) }
    for _ in 0..<20 { client.work() }
    let answers = client.all.filter { if case .appended = $0 { true } else { false } }
    #expect(answers.count == 3)
    #expect(client.followed.isEmpty)
    try SharedStoreContract.checkOrder(client)
  }

  @Test("delivers nothing and keeps questions while it is cut off")
  func cut() throws {
    let bench = MemoryBench()
    let client = try bench.open(.none)
    let store = try #require(client.store as? SharedMemoryStore)
    var writer = ModelWriter("lamp", 1)
    try writer.write("1", client)
    store.setCut(true)
    let first = client.all.count
    let number = client.submit([writer.next("2")])
    store.load("lamp")
    for _ in 0..<6 { client.work() }
    #expect(client.all.count == first + 1 && !store.status.isConnected)
    store.setCut(false)
    try client.wait("loaded", after: first) { if case .loaded(_, let model) = $0 { model } else { nil } }
    try client.wait(until: "an answer") { try client.answers(to: number).count == 1 }
  }
}
