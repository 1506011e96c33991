import ArgumentParser
import BindingHub
import BindingPeer
import Foundation

/// The cost of an outbox on disk for a write: the same writes with the outbox in memory and in a file, in turn.
struct OutboxBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "Measure a write with its outbox in a file against one with it in memory.")

  @Option(help: "Rounds of both sides in turn.")
  var rounds = 9
  @Option(help: "Writes in each round and side.")
  var writes = 20_000
  @Option(help: "The same where each write is synced.")
  var syncedWrites = 200

  func run() throws {
    let name = "outbox-\(UInt64.random(in: 0 ... .max))"
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    print("Time of a write, median of \(rounds) rounds; the ratio is file by memory, least and greatest in brackets.")
    let hub = try Hub.embedded()
    let path = folder.appendingPathComponent("outbox").path
    try compare("a write without a hub, until it returns", writes, .file(path)) { storage in
      try Writing(Peer(hub: .inProcess(NoHub()), configuration: .init(outbox: storage)), window: nil)
    }
    try compare("a write with a hub, until its outcome, 200 under way", writes, .file(path)) { storage in
      try Writing(Peer(hub: .inProcess(hub), configuration: .init(outbox: storage)), window: 200)
    }
    try compare("a write with a hub, until its outcome, one by one", writes / 20, .file(path)) { storage in
      try Writing(Peer(hub: .inProcess(hub), configuration: .init(outbox: storage)), window: 1)
    }
    let synced = OutboxStorage.file(path, durability: .disk)
    try compare("a synced write without a hub, until it returns", syncedWrites, synced) { storage in
      try Writing(Peer(hub: .inProcess(NoHub()), configuration: .init(outbox: storage)), window: nil)
    }
  }

  private func compare(
    _ name: String, _ count: Int, _ storage: OutboxStorage, _ make: (OutboxStorage) throws -> Writing
  ) throws {
    var pairs: [(memory: Double, file: Double)] = []
    for _ in 0..<rounds {
      pairs.append((try make(.memory).time(of: count), try make(storage).time(of: count)))
    }
    let ratios = pairs.map { $0.file / $0.memory }
    print(
      name.padding(toLength: 54, withPad: " ", startingAt: 0),
      String(
        format: "%.2f × (%.2f to %.2f)   %.2f of %.2f µs", median(ratios), ratios.min() ?? 0, ratios.max() ?? 0,
        median(pairs.map(\.file)), median(pairs.map(\.memory))))
  }
}

func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

/// Writes one field of one model repeatedly.
struct Writing {
  let peer: Peer
  let model: SharedModel
  /// Writes in flight before their outcomes are awaited; nil: not awaited.
  let window: Int?

  init(_ peer: Peer, window: Int?) throws {
    self.peer = peer
    self.window = window
    model = try peer.model("bench")
    while window != nil, !model.isCurrent { usleep(100) }
  }

  /// Microseconds a write.
  func time(of count: Int) throws -> Double {
    let verb: Verb = window == nil ? .set : .add
    let begin = now()
    for number in 1...count {
      let value = FieldValue(bytes: Array("\(number)".utf8))
      try model.write(Proposal(operations: [FieldOperation(verb, "level", value)]))
      guard let window, number % window == 0 else { continue }
      while peer.unconfirmed > 0 { usleep(5) }
    }
    let time = Double(now() - begin) / 1_000 / Double(count)
    end(peer)
    return time
  }
}

func end(_ peer: Peer) {
  let closed = DispatchSemaphore(value: 0)
  Task.detached {
    await peer.close(flush: .zero)
    closed.signal()
  }
  closed.wait()
}

/// A transport without a hub.
final class NoHub: InProcessTransport {
  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection { Nobody() }

  private final class Nobody: HubConnection {
    func send(_ frame: [UInt8]) {}
    func subscribe(_ topic: [UInt8]) {}
    func unsubscribe(_ topic: [UInt8]) {}
    func close() {}
  }
}
