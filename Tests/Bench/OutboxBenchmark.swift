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
    try compareKeeping(folder, hub)
    let synced = OutboxStorage.file(path, durability: .disk)
    try compare("a synced write without a hub, until it returns", syncedWrites, synced) { storage in
      try Writing(Peer(hub: .inProcess(NoHub()), configuration: .init(outbox: storage)), window: nil)
    }
  }

  /// The cost of keeping replicas: writes with the outbox in a file, alone and with replicas; commits of another peer,
  /// not kept and kept; and the time to read what is kept.
  private func compareKeeping(_ folder: URL, _ hub: Hub) throws {
    let path = folder.appendingPathComponent("keep").path
    var pairs: [(without: Double, with: Double)] = []
    for _ in 0..<rounds {
      let alone = Peer.Keeping(outbox: .file(path))
      pairs.append(
        (
          try Writing(Peer(hub: .inProcess(hub), keeping: alone), window: 200).time(of: writes),
          try Writing(Peer(hub: .inProcess(hub), keeping: .file(path + ".all")), window: 200).time(of: writes)
        ))
    }
    report("a write with a hub, replicas kept against the outbox alone", pairs)
    pairs.removeAll()
    for _ in 0..<rounds {
      pairs.append(
        (
          try Following(hub, .memory).time(of: writes), try Following(hub, .file(path + ".follow")).time(of: writes)
        ))
    }
    report("a commit of another peer, kept against not kept", pairs)
    try readKept(folder, hub)
  }

  private func readKept(_ folder: URL, _ hub: Hub) throws {
    let path = folder.appendingPathComponent("fields").path
    let peer = try Peer(hub: .inProcess(hub), keeping: .file(path, only: ["fields"]))
    let model = try peer.model("fields")
    while !model.isCurrent { usleep(100) }
    for part in 0..<10 {
      let fields = (0..<1_000).map {
        FieldOperation(.set, "f\(part * 1_000 + $0)", FieldValue(bytes: Array("\($0)".utf8)))
      }
      try model.write(Proposal(operations: fields))
      while peer.unconfirmed > 0 { usleep(100) }
    }
    end(peer)
    var times: [Double] = []
    for _ in 0..<max(rounds, 5) {
      let begin = now()
      let count = try KeptModels(readingFrom: path)["fields"].fields.count
      times.append(Double(now() - begin) / 1_000_000)
      precondition(count == 10_000)
    }
    print(
      String(
        format: "10,000 kept fields are read in %.1f ms (%.1f to %.1f)", median(times), times.min() ?? 0,
        times.max() ?? 0))
  }

  private func report(_ name: String, _ pairs: [(without: Double, with: Double)]) {
    let ratios = pairs.map { $0.with / $0.without }
    print(
      name.padding(toLength: 62, withPad: " ", startingAt: 0),
      String(
        format: "%.2f × (%.2f to %.2f)   %.2f of %.2f µs", median(ratios), ratios.min() ?? 0, ratios.max() ?? 0,
        median(pairs.map(\.with)), median(pairs.map(\.without))))
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

private func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

/// Writes one field of one model repeatedly.
private struct Writing {
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

private func end(_ peer: Peer) {
  let closed = DispatchSemaphore(value: 0)
  Task.detached {
    await peer.close(flush: .zero)
    closed.signal()
  }
  closed.wait()
}

/// Follows what another peer writes.
private struct Following {
  let writer: Peer
  let reader: Peer
  let model: SharedModel
  let copy: SharedModel

  init(_ hub: Hub, _ keeping: Peer.Keeping) throws {
    writer = try Peer(hub: .inProcess(hub))
    reader = try Peer(hub: .inProcess(hub), keeping: keeping)
    (model, copy) = (try writer.model("follow"), try reader.model("follow"))
    while !model.isCurrent || !copy.isCurrent { usleep(100) }
  }

  /// Microseconds a commit, until the reader has it.
  func time(of count: Int) throws -> Double {
    let begin = now()
    for number in 1...count {
      let value = FieldValue(bytes: Array("\(number)".utf8))
      try model.write(Proposal(operations: [FieldOperation(.add, "f\(number % 100)", value)]))
      guard number % 200 == 0 else { continue }
      while writer.unconfirmed > 0 || copy.version.version < model.version.version { usleep(5) }
    }
    let time = Double(now() - begin) / 1_000 / Double(count)
    end(writer)
    end(reader)
    return time
  }
}

/// A transport without a hub.
private final class NoHub: InProcessTransport {
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
