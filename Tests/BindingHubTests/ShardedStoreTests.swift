import BindingHub
import BindingProtocol
import StoreContract
import Synchronization
import Testing

/// The contract over a log with two shards in memory.
struct ShardedBench: SharedStoreBench {
  let logs = [
    SharedMemoryLog(logID: 3, epoch: ModelWriter.epoch),
    SharedMemoryLog(logID: 3, epoch: ModelWriter.epoch, isShard: true),
  ]
  /// About half of the contract's models are in the shard.
  init(prefixes: [String] = ["lamp", "fan", "door", "m1", "m3", "n63/1", "n200/1", "b1", "big"]) {
    logs[0].change { map in
      map = ShardMap(
        version: map.version + 1, shards: [.init(number: 1, address: "second")],
        entries: prefixes.map { ShardMap.Entry($0, in: 1) })
    }
  }

  func open(_ faults: SharedStoreFaults) throws -> SharedStoreClient { try openParts(faults).client }

  /// A handle, and its parts.
  func openParts(
    _ faults: SharedStoreFaults = .none
  ) throws -> (client: SharedStoreClient, store: ShardedStore) {
    @Sendable func open(_ shard: Int, _ isLate: Bool) -> SharedMemoryStore {
      let part = SharedMemoryStore(logs[shard], namesAll: isLate) { MemoryBench.fault(faults, $0) }
      part.setTailHeld(faults == .silent)
      return part
    }
    let store = try ShardedStore(open(0, false), logs[0].map) { _, isLate in open(1, isLate) }
    return (SharedStoreClient(store) { for shard in 0...1 { ShardedBench.step(store, shard) } }, store)
  }

  /// Lets a shard's part do what is due, if it is open.
  static func step(_ store: ShardedStore, _ shard: Int, times: Int = 1) {
    let parts = store.parts
    guard parts.indices.contains(shard), let part = parts[shard] as? SharedMemoryStore else { return }
    for _ in 0..<times { part.step() }
  }

  func setHeld(_ isHeld: Bool, _ client: SharedStoreClient) throws {
    for part in (client.store as? ShardedStore)?.parts ?? [] { (part as? SharedMemoryStore)?.setTailHeld(isHeld) }
  }
  func compact() throws { for log in logs { log.compact() } }
  func setRoom(_ room: SharedRoom) throws { for log in logs { log.setRoom(room) } }
  func beginEpoch() throws { for log in logs { log.begin(ModelWriter.epoch + 1) } }
  func chunkKeys(of model: String) throws -> Int? { nil }

  /// Moves models step by step; `between` is called after each.
  func move(_ prefix: String, to target: UInt16, _ between: (String) throws -> Void = { _ in }) throws {
    let source = logs[0].map.place(of: prefix).shard
    let isMeant = { (model: String) in model.hasPrefix(prefix) }
    logs[Int(source)].copy(to: logs[Int(target)], isMeant)
    try between("copied")
    try logs[0].change { map in try map.beginMove(prefix, to: target) }
    if source != 0 { logs[Int(source)].raiseFence() }
    try between("held")
    logs[Int(source)].copy(to: logs[Int(target)], isMeant)
    logs[0].change { map in map.finishMove(prefix) }
    try between("moved")
    if source != 0 { logs[Int(source)].raiseFence() }
    logs[Int(source)].delete(isMeant)
    try between("deleted")
  }
}

@Suite("A shared store of several shards")
struct ShardedStoreTests {
  @Test("keeps the contract", arguments: SharedStoreContract.all)
  func contract(_ check: SharedStoreContract) throws { try check.run(ShardedBench()) }

  @Test("a model goes on in the other shard, to and fro, where its last record is known by every handle")
  func toAndFro() throws {
    let bench = ShardedBench(prefixes: [])
    let (client, other) = (try bench.open(.none), try bench.open(.none))
    var writer = ModelWriter("eu/lamp", 1)
    for value in 1...3 { try writer.insist("\(value)", client) }
    for (round, target) in [UInt16(1), 0, 1, 0].enumerated() {
      try bench.move("eu/", to: target)
      try writer.insist("\(round)", round % 2 == 0 ? other : client)
      let (head, stored) = try client.load("eu/lamp")
      #expect(head.record == UInt64(round) + 4 && stored?.batches.count == round + 4)
      #expect(bench.logs.map { $0.records(of: "eu/lamp") } == (target == 1 ? [0, round + 4] : [round + 4, 0]))
    }
    #expect(try client.list("", page: 10) == ["eu/lamp"])
  }

  @Test("a batch decided before a move is not stored after it, also if the heads have the same revision")
  func staleRevision() throws {
    let bench = ShardedBench(prefixes: [])
    let client = try bench.open(.none)
    var (fan, writer) = (ModelWriter("fan", 2), ModelWriter("eu/lamp", 1))
    try fan.write("1", client)
    try writer.write("1", client)
    let late = writer.next("2")
    try bench.move("eu/", to: 1)
    #expect(bench.logs[1].revision == late.after)
    // It is unknown as long as the handle has not noticed the move.
    var result = SharedAppended.unknown
    for _ in 0..<100 where result == .unknown { result = try client.append([late])[0] }
    guard case .folded = result else { throw ContractError("\(result)") }
    #expect(try client.load("eu/lamp").head.record == 1)
  }

  @Test("what is appended while a model is moved waits, and is decided again in its new shard")
  func held() throws {
    let bench = ShardedBench(prefixes: [])
    let client = try bench.open(.none)
    var (writer, fan) = (ModelWriter("eu/lamp", 1), ModelWriter("fan", 1))
    try writer.write("1", client)
    var number: UInt64 = 0
    try bench.move("eu/", to: 1) { step in
      guard step == "held" else { return }
      for _ in 0..<SharedMemoryStore.checkInterval { client.work() }
      number = client.submit([writer.next("2")])
      try fan.write("1", client)
      #expect(try client.answers(to: number).isEmpty)
    }
    try client.wait(until: "an answer") { try client.answers(to: number).count == 1 }
    guard case .folded = try client.answers(to: number)["eu/lamp"] else { throw ContractError("it is stored") }
    writer = ModelWriter("eu/lamp", 1, head: try client.load("eu/lamp").head)
    try writer.write("2", client)
  }

  @Test("a handle that has not noticed a move stores nothing in the old shard, and shows nothing empty")
  func unnoticed() throws {
    let bench = ShardedBench(prefixes: ["eu/"])
    let (client, (slow, store)) = (try bench.open(.none), try bench.openParts())
    var writer = ModelWriter("eu/lamp", 1)
    try writer.write("1", client)
    try slow.wait(until: "the record") { slow.followed.count == 1 }
    var late = ModelWriter("eu/lamp", 2, head: try slow.load("eu/lamp").head)
    // What it asks now reaches the shard after the models have left it.
    try bench.move("eu/", to: 0)
    let number = slow.submit([late.next("9")])
    slow.store.load("eu/lamp")
    slow.store.list(prefix: "", after: "", limit: 10)
    ShardedBench.step(store, 1, times: 4)
    try slow.wait(until: "answers") { try slow.answers(to: number).count == 1 }
    #expect(try slow.answers(to: number) == ["eu/lamp": .unknown])
    #expect(bench.logs[1].records(of: "eu/lamp") == 0)
    let loaded = try slow.wait("loaded") { if case .loaded(let head, _) = $0 { head } else { nil } }
    #expect(loaded.record == 1)
    let page = try slow.wait("a list") { if case .listed(_, let heads, _) = $0 { heads.map(\.model) } else { nil } }
    #expect(page == ["eu/lamp"])
  }

  @Test(
    "what another hub stores in the new shard before a handle notices the move is named when it does",
    arguments: [true, false])
  func missed(_ isOpenBefore: Bool) throws {
    let bench = ShardedBench(prefixes: isOpenBefore ? ["us/"] : [])
    let (client, (slow, store)) = (try bench.open(.none), try bench.openParts())
    var writer = ModelWriter("eu/lamp", 1)
    try writer.write("1", client)
    try slow.wait(until: "the record") { slow.followed.count == 1 }
    try bench.move("eu/", to: 1)
    try writer.insist("2", client)
    // The shard tells at once, the root only later.
    ShardedBench.step(store, 1, times: 20)
    #expect(slow.followed.count == 1)
    func heads() -> [SharedHead] {
      slow.all.flatMap { event in if case .changed(let heads) = event { heads } else { [] as [SharedHead] } }
    }
    try slow.wait(until: "its last record") { heads().contains { $0.model == "eu/lamp" && $0.record == 2 } }
    // No sync is answered before that.
    let first = slow.all.count
    slow.store.sync(3)
    try slow.wait("synced", after: first) { if case .synced(3) = $0 { true } else { nil } }
  }

  @Test("a sync is answered once all shards have told what was stored before it")
  func sync() throws {
    let bench = ShardedBench(prefixes: ["eu/"])
    let (client, store) = try bench.openParts()
    client.store.sync(7)
    ShardedBench.step(store, 0, times: 20)
    func isSynced() -> Bool { client.all.contains { if case .synced(7) = $0 { true } else { false } } }
    #expect(!isSynced())
    try client.wait(until: "synced") { isSynced() }
  }

  @Test("it is connected while all shards that have models are")
  func connected() throws {
    let bench = ShardedBench(prefixes: ["eu/"])
    let (client, store) = try bench.openParts()
    let part = try #require(store.parts[1] as? SharedMemoryStore)
    try client.wait(until: "connected") { !client.all.isEmpty }
    func states() -> [Bool] {
      client.all.compactMap { if case .connected(let isConnected) = $0 { isConnected } else { nil } }
    }
    part.setCut(true)
    try client.wait(until: "cut") { states() == [true, false] }
    #expect(!client.store.status.isConnected && client.store.status.shards.map(\.isConnected) == [false])
    // The other shard goes on.
    var fan = ModelWriter("fan", 1)
    try fan.write("1", client)
    part.setCut(false)
    try client.wait(until: "healed") { states() == [true, false, true] }
  }

  @Test("a handle that is told of an earlier record alone, after moves to and fro, stores nothing over those behind it")
  func earlierRecord() throws {
    let bench = ShardedBench(prefixes: [])
    let client = try bench.open(.none)
    var writer = ModelWriter("eu/lamp", 1)
    for value in 1...5 { try writer.insist("\(value)", client) }
    let before = bench.logs[0].revision
    for target in [1, 0] as [UInt16] { try bench.move("eu/", to: target) }
    let records = try #require(bench.logs[0].records(after: before, limit: 100)?.records)
    let last = try client.load("eu/lamp").head.revision
    #expect(records.map(\.batch.record) == [1, 2, 3, 4, 5])
    #expect(records.map { $0.revision == last } == [false, false, false, false, true])
  }

  @Test("a list puts the pages of shards together in order, without what is left of a move")
  func lists() throws {
    let bench = ShardedBench(prefixes: ["b", "d"])
    let client = try bench.open(.none)
    let names = ["a", "b1", "b2", "b3", "c", "d1", "e"]
    for name in names {
      var writer = ModelWriter(name, 1)
      try writer.write("1", client)
    }
    for page in 1...8 { #expect(try client.list("", page: page) == names) }
    #expect(try client.list("b", page: 2) == ["b1", "b2", "b3"])
    // What was copied, and not moved yet, is listed once.
    bench.logs[1].copy(to: bench.logs[0]) { $0.hasPrefix("b") }
    for page in 1...8 { #expect(try client.list("", page: page) == names) }
  }

  @Test("a list lacks nothing when a shard that is not believed answers before the root")
  func listOfUnbelieved() throws {
    let bench = ShardedBench(prefixes: ["b"])
    let (client, store) = try bench.openParts()
    for name in ["a", "b"] {
      var writer = ModelWriter(name, 1)
      try writer.write("1", client)
    }
    let first = client.all.count
    client.store.list(prefix: "", after: "", limit: 10)
    // The shard tells that something was moved out of it, and then answers; the root answers, and only then shows the
    // map.
    bench.logs[1].raiseFence()
    ShardedBench.step(store, 1, times: 20)
    let page = try client.wait("a list", after: first) { event in
      if case .listed(_, let heads, _) = event { heads.map(\.model) } else { nil }
    }
    #expect(page == ["a", "b"])
  }

  @Test("a shard that the map names since is opened while the hub runs, as often as it takes")
  func added() throws {
    let bench = ShardedBench(prefixes: [])
    let root = SharedMemoryStore(bench.logs[0])
    let tries = Mutex(0)
    let store = try ShardedStore(root, ShardMap()) { [logs = bench.logs] _, isLate throws(StoreError) in
      let number = tries.withLock { tries in
        tries += 1
        return tries
      }
      guard number > 2 else { throw StoreError("no node answers", .cannotOpen) }
      return SharedMemoryStore(logs[1], namesAll: isLate)
    }
    let client = SharedStoreClient(store) {
      for shard in 0...1 { ShardedBench.step(store, shard) }
    }
    var writer = ModelWriter("eu/lamp", 1)
    try writer.write("1", client)
    try bench.move("eu/", to: 1)
    try client.wait(until: "trouble") { store.status.shards.map(\.trouble) == ["no node answers"] }
    #expect(!store.status.isConnected)
    try writer.insist("2", client)
    #expect(bench.logs[1].records(of: "eu/lamp") == 2)
    #expect(store.status.shards.map(\.prefixes) == [["eu/"]] && store.status.shards.map(\.trouble) == [""])
    store.close()
  }
}
