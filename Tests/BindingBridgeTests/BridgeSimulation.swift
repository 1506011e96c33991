import BindingPeer
import BindingProtocol
import Simulation

@testable import BindingBridge

/// A bridge between a hub and a broker that are both simulated, with connections and processes that are lost at any
/// step: one seed is one history.
struct BridgeSimulation {
  static let fields = ["level", "name", "on"]

  /// Faults in a thousand steps; 0: none.
  let faults: Int
  private var chance: Chance
  private var machine: MQTTBridgeMachine

  // The hub: what is committed, and what the bridge does not know of yet.
  private var committed = Dictionary(
    uniqueKeysWithValues: BridgeSimulation.fields.map { ($0, FieldValue(json: .string("first"))) })
  private var untold: [String] = []
  private var pending: [(number: Int, field: String, value: FieldValue)] = []

  // The broker: what is retained, and what has come for the bridge and is not acknowledged.
  private var retained: [String: [UInt8]] = [:]
  private var waiting: [(id: UInt16, message: MQTTMessage, wasSent: Bool)] = []
  private var lastID: UInt16 = 0
  private var isConnected = false
  private var isSubscribed = false
  private var toBroker: [MQTTPacket] = []

  // What was counted.
  private(set) var published = 0
  private(set) var sets = 0
  private(set) var changes = 0
  private(set) var restarts = 0
  private(set) var refusals = 0
  /// Of each text that was set, how often it was written.
  private(set) var applied: [String: Int] = [:]

  init(seed: UInt64, faults: Int) {
    (self.faults, chance) = (faults, Chance(seed: seed))
    machine = BridgeSimulation.newMachine()
  }

  private static func newMachine() -> MQTTBridgeMachine {
    // SAFETY of the unwrapping: the root is one.
    MQTTBridgeMachine(topics: BridgeTopics(root: "b")!)
  }

  mutating func run(steps: Int) {
    begin()
    for _ in 0..<steps { step() }
    settle()
  }

  private mutating func begin() {
    machine.hub(isLive: true)
    tell(BridgeSimulation.fields)
    machine.complete()
  }

  private mutating func step() {
    if chance.perMille(faults) { fail() }
    switch chance.below(7) {
    case 0: change()
    case 1: set()
    default: goOn()
    }
  }

  /// Lets something happen that is under way.
  private mutating func goOn() {
    switch chance.below(5) {
    case 0: if !isConnected { connect() }
    case 1: if !untold.isEmpty { tell([untold.removeFirst()]) }
    case 2: decide()
    case 3: deliver()
    default: if !toBroker.isEmpty { take(toBroker.removeFirst()) }
    }
    carryOut()
  }

  /// Until nothing is under way any more.
  private mutating func settle() {
    for _ in 0..<100_000 {
      goOn()
      let isQuiet = isConnected && untold.isEmpty && pending.isEmpty && waiting.isEmpty && toBroker.isEmpty
      if isQuiet, machine.isSettled { return }
    }
  }

  // MARK: The hub

  private mutating func change() {
    changes += 1
    commit(BridgeSimulation.fields[chance.below(3)], value())
  }

  /// Often one that was there before.
  private mutating func value() -> FieldValue {
    FieldValue(json: .string("t\(chance.below(2) == 0 ? chance.below(10) : chance.below(1_000_000))"))
  }

  private mutating func commit(_ field: String, _ value: FieldValue) {
    guard committed[field] != value else { return }
    committed[field] = value
    untold.append(field)
  }

  private mutating func tell(_ fields: [String]) {
    machine.update("lamp", fields.map { .init($0, committed[$0]) }, ModelDescription())
    carryOut()
  }

  /// The hub decides the bridge's oldest write.
  private mutating func decide() {
    guard !pending.isEmpty else { return }
    let (number, field, value) = pending.removeFirst()
    applied[value.description, default: 0] += 1
    let isRefused = value.description.contains("bad")
    if isRefused { refusals += 1 } else { commit(field, value) }
    machine.decided(number, "lamp", field, problem: isRefused ? "bad" : nil)
  }

  // MARK: The broker

  /// Somebody publishes a value for a field, with QoS 1.
  private mutating func set() {
    guard isSubscribed else { return }
    sets += 1
    lastID = lastID == .max ? 1 : lastID + 1
    let text = "\(chance.below(8) == 0 ? "bad" : "s")\(sets)"
    let topic = "b/lamp/\(BridgeSimulation.fields[chance.below(3)])/set"
    waiting.append((lastID, MQTTMessage(topic, Array(text.utf8)), false))
  }

  private mutating func connect() {
    toBroker.removeAll()
    machine.connected(hasSession: isSubscribed, retained: retained)
    isConnected = true
    for index in waiting.indices where waiting[index].wasSent {
      waiting[index].message.isRepeated = true
      waiting[index].wasSent = false
    }
  }

  /// The next message goes to the bridge.
  private mutating func deliver() {
    guard isConnected, let index = waiting.firstIndex(where: { !$0.wasSent }) else { return }
    waiting[index].wasSent = true
    machine.received(.publish(waiting[index].message, id: waiting[index].id))
  }

  private mutating func take(_ packet: MQTTPacket) {
    switch packet {
    case .publish(let message, let id):
      if message.isRetained {
        published += 1
        retained[message.topic] = message.payload.isEmpty ? nil : message.payload
      }
      if id != 0 { machine.received(.published(id)) }
    case .published(let id): waiting.removeAll { $0.id == id }
    case .subscribe: isSubscribed = true
    default: break
    }
  }

  private mutating func carryOut() {
    for effect in machine.takeEffects() {
      switch effect {
      case .send(let packet): if isConnected { toBroker.append(packet) }
      case .write(let number, _, let field, let value): pending.append((number, field, value))
      }
    }
  }

  // MARK: Faults

  private mutating func fail() {
    switch chance.below(4) {
    case 0, 1:
      // The connection: part of what was sent has come.
      for packet in toBroker.prefix(chance.below(toBroker.count + 1)) where isConnected { takeSilently(packet) }
      cut()
    case 2:
      // The broker is killed, and has lost what it retained last, or all of it.
      cut()
      for topic in retained.keys.sorted() where chance.below(2) == 0 { retained[topic] = nil }
    default:
      // The bridge is killed. Its writes reach the hub, or not; what it knew is gone.
      cut()
      restarts += 1
      for write in pending where chance.below(2) == 0 && !write.value.description.contains("bad") {
        applied[write.value.description, default: 0] += 1
        commit(write.field, write.value)
      }
      pending.removeAll()
      untold.removeAll()
      machine = BridgeSimulation.newMachine()
      begin()
    }
  }

  private mutating func cut() {
    isConnected = false
    toBroker.removeAll()
    machine.lost()
    _ = machine.takeEffects().map { effect in
      if case .write(let number, _, let field, let value) = effect { pending.append((number, field, value)) }
    }
  }

  /// Something arrives, and its acknowledgement is lost.
  private mutating func takeSilently(_ packet: MQTTPacket) {
    switch packet {
    case .publish(let message, _) where message.isRetained:
      published += 1
      retained[message.topic] = message.payload.isEmpty ? nil : message.payload
    case .published(let id): waiting.removeAll { $0.id == id }
    case .subscribe: isSubscribed = true
    default: break
    }
  }

  // MARK: At rest

  /// What is otherwise on the two sides, and what should not have happened; nil: nothing.
  var violation: String? {
    guard isConnected, machine.isSettled, waiting.isEmpty else { return "it did not come to rest" }
    for field in BridgeSimulation.fields {
      let wanted = committed[field].map(BridgeText.payload)
      let found = retained["b/lamp/\(field)/state"]
      guard wanted == found else {
        return "\(field) is \(wanted.map { String(decoding: $0, as: UTF8.self) } ?? "nothing") at the hub, and "
          + "\(found.map { String(decoding: $0, as: UTF8.self) } ?? "nothing") is retained"
      }
    }
    guard retained["b/availability"] == Array("online".utf8) else { return "the bridge is not said to be online" }
    for number in 1...max(sets, 1) where sets > 0 {
      let count = (applied["\"s\(number)\""] ?? 0) + (applied["\"bad\(number)\""] ?? 0)
      guard count >= 1 else { return "the value \(number) was never written" }
      guard count == 1 || restarts > 0 else { return "the value \(number) was written \(count) times" }
    }
    return nil
  }
}
