import BindingHub
import BindingProtocol

/// The log of a cell: a root, and perhaps one shard, between which models are moved while hubs go on. Each step of a
/// move is an event of its own, so anything may happen between two of them.
final class SimulatedShards {
  /// What is done next about a prefix.
  private enum Step {
    case copy
    case begin
    case raiseFence
    case copyRest
    case finish
    case raiseFenceAgain
    case delete
  }
  let logs: [SharedMemoryLog]
  /// The models below this are moved to and fro.
  static let prefix = "m0"
  @exclusivity(unchecked) private var steps: [Step] = []
  @exclusivity(unchecked) private(set) var moves = 0

  init(logID: LogID, epoch: Epoch, hasShard: Bool) {
    let root = SharedMemoryLog(logID: logID, epoch: epoch)
    guard hasShard else {
      logs = [root]
      return
    }
    logs = [root, SharedMemoryLog(logID: logID, epoch: epoch, isShard: true)]
    root.change { map in _ = try? map.add("shard") }
  }

  var map: ShardMap { logs[0].map }

  /// Whether a model is one of those that are moved.
  private static func isMeant(_ model: String) -> Bool { model.hasPrefix(prefix) }

  /// Where they are, and where they are not.
  private var ends: (source: Int, target: Int) {
    let source = Int(map.place(of: SimulatedShards.prefix).shard)
    return (source, 1 - source)
  }

  /// Does the next step of a move, or begins one.
  /// - Returns: what was done, for the trace; nil: there is no shard.
  func goOn() -> String? {
    guard logs.count > 1 else { return nil }
    if steps.isEmpty { steps = [.copy, .begin, .raiseFence, .copyRest, .finish, .raiseFenceAgain, .delete] }
    let step = steps.removeFirst()
    let (source, target) = ends
    switch step {
    case .copy, .copyRest: logs[source].copy(to: logs[target], SimulatedShards.isMeant)
    case .begin: logs[0].change { map in map.move(SimulatedShards.prefix, to: UInt16(target)) }
    case .raiseFence: if source != 0 { logs[source].raiseFence() }
    case .finish:
      logs[0].change { map in map.finishMove(SimulatedShards.prefix) }
      moves += 1
    // From here on the ends are the other way round.
    case .raiseFenceAgain: if target != 0 { logs[target].raiseFence() }
    case .delete: logs[target].delete(SimulatedShards.isMeant)
    }
    return "\(step)"
  }

  /// Whether a move is under way that keeps writes waiting.
  var isHolding: Bool { map.entries.contains { $0.target != nil } }
}

extension ShardMap {
  /// Begins a move. The models of a simulation have no slashes.
  fileprivate mutating func move(_ prefix: String, to target: UInt16) {
    let entry = entries.first { $0.prefix == prefix } ?? Entry(prefix, in: ShardMap.root)
    let others = entries.filter { $0.prefix != prefix }
    self = ShardMap(
      version: version + 1, shards: shards, entries: others + [Entry(prefix, in: entry.shard, movingTo: target)])
  }
}

/// A hub's handle of all shards of a log, driven step by step.
// SAFETY: one thread runs a world, and all calls and events of its handles are on it.
final class SimulatedHandle: SharedStore, @unchecked Sendable {
  let logID: LogID
  let epoch: Epoch
  let maxBatchBytes: Int
  var grade: SharedGrade { .memory }
  var status: SharedStoreStatus { SharedStoreStatus(address: "memory:") }
  private let shards: SimulatedShards
  private let faults: SharedMemoryStore.Faults
  /// By their numbers; nil: it is not open yet.
  @exclusivity(unchecked) private var parts: [SharedMemoryStore?]
  /// What each of them is told when it is opened.
  @exclusivity(unchecked) private var isLost: @Sendable (SharedRecord) -> Bool = { _ in false }
  @exclusivity(unchecked) private(set) var isCut = false
  @exclusivity(unchecked) private var router: ShardRouter
  @exclusivity(unchecked) private var deliver: (@Sendable (SharedEvent) -> Void)?
  @exclusivity(unchecked) private var steps = 0

  init(_ shards: SimulatedShards, faults: @escaping SharedMemoryStore.Faults) {
    (self.shards, self.faults) = (shards, faults)
    let used = shards.map.used
    parts = shards.logs.enumerated().map { number, log in
      used.contains(UInt16(number)) ? SharedMemoryStore(log, faults: faults) : nil
    }
    let root = SharedMemoryStore(shards.logs[0])
    (logID, epoch, maxBatchBytes) = (root.logID, root.epoch, root.maxBatchBytes)
    router = ShardRouter(shards.map, open: used)
  }

  func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) {
    self.deliver = deliver
    for (number, part) in parts.enumerated() {
      if let part { begin(part, UInt16(number)) } else { open(number) }
    }
  }

  /// Opens a shard that has models only later, or has some since.
  private func open(_ number: Int) {
    let part = SharedMemoryStore(shards.logs[number], namesAll: true, faults: faults)
    parts[number] = part
    begin(part, UInt16(number))
    handle { router, output in router.opened(UInt16(number), into: &output) }
  }

  private func begin(_ part: SharedMemoryStore, _ number: UInt16) {
    part.setLosing(isLost)
    part.begin { [weak self] event in
      self?.handle { router, output in router.receive(event, from: number, into: &output) }
    }
    part.setCut(isCut)
  }

  func append(_ number: UInt64, _ batches: [SharedBatch]) { call(.append(number, batches)) }
  func load(_ model: String) { call(.load(model)) }
  func loadToFold(_ model: String, upTo record: UInt64) { call(.loadToFold(model, upTo: record)) }
  func head(of model: String) { call(.head(of: model)) }
  func sync(_ number: UInt64) { call(.sync(number)) }
  func list(prefix: String, after: String, limit: Int) { call(.list(prefix: prefix, after: after, limit: limit)) }
  func fold(_ fold: SharedFold) { call(.fold(fold)) }
  func history(_ query: HistoryQuery) { call(.history(query)) }
  func close() { for part in parts { part?.close() } }

  private func call(_ call: ShardCall) { handle { router, output in router.call(call, into: &output) } }

  private func handle(_ body: (inout ShardRouter, inout ShardRouter.Output) -> Void) {
    var output = ShardRouter.Output()
    body(&router, &output)
    for (shard, call) in output.calls { if let part = parts[Int(shard)] { call.carryOut(on: part) } }
    for event in output.events { deliver?(event) }
    for shard in output.opening { open(Int(shard.number)) }
  }

  func step() {
    steps += 1
    if steps % 20 == 0, router.isWaiting { handle { router, output in router.look(into: &output) } }
    for part in parts { part?.step() }
  }

  var isIdle: Bool { parts.allSatisfy { $0?.isIdle != false } }
  func setCut(_ isCut: Bool) {
    self.isCut = isCut
    for part in parts { part?.setCut(isCut) }
  }
  func setTailHeld(_ isHeld: Bool) { for part in parts { part?.setTailHeld(isHeld) } }
  /// To be called before `begin`.
  func setLosing(_ isLost: @escaping @Sendable (SharedRecord) -> Bool) { self.isLost = isLost }
}
