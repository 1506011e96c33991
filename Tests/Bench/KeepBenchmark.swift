import ArgumentParser
import BindingHub
import BindingPeer
import Foundation

/// The cost of keeping replicas on disk, and how soon they show: writes with a file for writes and values, with one for
/// writes alone and without one; commits of another peer, kept and not kept; and starts after a program was killed.
struct KeepBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keep", abstract: "Measure kept replicas: writes, commits of others, starts after kill -9.")

  @Option(help: "Rounds of all sides in turn.")
  var rounds = 15
  @Option(help: "Writes in each round and side.")
  var writes = 40_000

  private enum Side: CaseIterable {
    case memory, outbox, kept
  }

  func run() throws {
    let folder = try makeFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    print("Median of \(rounds) rounds, least and greatest in brackets.")
    let hub = try Hub.embedded()
    try compareWrites(folder, hub)
    try compareCommits(folder, hub)
    try start(in: folder)
  }

  private func compareWrites(_ folder: String, _ hub: Hub) throws {
    var times: [Side: [Cost]] = [:]
    for round in 0..<rounds {
      for turn in Side.allCases.indices {
        let side = Side.allCases[(round + turn) % Side.allCases.count]
        let keeping: Peer.Keeping =
          switch side {
          case .memory: .memory
          case .outbox: Peer.Keeping(outbox: .file(folder + "/outbox"))
          case .kept: .file(folder + "/kept")
          }
        let writing = try Writing(Peer(hub: .inProcess(hub), keeping: keeping), window: 200)
        times[side, default: []].append(try Cost.of(writes) { try writing.time(of: writes) })
      }
    }
    let (memory, outbox, kept) = (times[.memory] ?? [], times[.outbox] ?? [], times[.kept] ?? [])
    figures("a write with a hub, 200 under way: values kept against writes kept", kept, outbox)
    figures("  the same against nothing kept", kept, memory)
    figures("  writes kept against nothing kept", outbox, memory)
  }

  private func compareCommits(_ folder: String, _ hub: Hub) throws {
    var (plain, kept): ([Cost], [Cost]) = ([], [])
    for round in 0..<rounds {
      for isKept in round % 2 == 0 ? [false, true] : [true, false] {
        let following = try Following(hub, isKept ? .file(folder + "/follow") : .memory)
        let cost = try Cost.of(writes) { try following.time(of: writes) }
        if isKept { kept.append(cost) } else { plain.append(cost) }
      }
    }
    figures("a commit of another peer, kept against not kept", kept, plain)
  }

  /// Kills a program that keeps 10,000 fields while it writes, and reads them in this process, where no hub is.
  private func start(in folder: String) throws {
    var (shown, read): ([Cost], [Cost]) = ([], [])
    for round in 0..<rounds {
      let path = "\(folder)/killed-\(round)"
      let child = try Child(["hold-kept", "--file", path])
      guard try child.line() == "holding" else { throw ExitCode(1) }
      child.kill()
      read.append(
        try Cost.of {
          guard try KeptModels(readingFrom: path)["fields"].fields.count == 10_000 else { throw ExitCode(1) }
        })
      var peer: Peer?
      shown.append(
        try Cost.of {
          let started = try Peer(hub: .inProcess(NoHub()), keeping: .file(path))
          let model = try started.model("fields")
          for field in 0..<10_000 where model.record("f\(field)")?.shown == nil { throw ExitCode(1) }
          peer = started
        })
      if let peer { end(peer) }
    }
    milliseconds("10,000 fields after kill -9, without a hub: until a new peer shows all", shown)
    milliseconds("  the same, read by bindpeer --keep FILE get", read)
  }

  private func milliseconds(_ name: String, _ costs: [Cost]) {
    figure(name, costs.map { $0.time / 1_000 }, "ms")
    figure("    processor time", costs.map { $0.processor / 1_000 }, "ms")
  }

  private func figures(_ name: String, _ mine: [Cost], _ other: [Cost]) {
    figure(name, zip(mine, other).map { $0.time / $1.time }, "×", median(mine.map(\.time)), median(other.map(\.time)))
    figure(
      "    processor time", zip(mine, other).map { $0.processor / $1.processor }, "×", median(mine.map(\.processor)),
      median(other.map(\.processor)))
  }

  private func figure(_ name: String, _ figures: [Double], _ unit: String, _ mine: Double? = nil, _ other: Double = 0) {
    var words = String(format: "%.2f %@ (%.2f to %.2f)", median(figures), unit, figures.min() ?? 0, figures.max() ?? 0)
    if let mine { words += String(format: "   %.2f of %.2f µs", mine, other) }
    print(name.padding(toLength: 72, withPad: " ", startingAt: 0), words)
  }
}

/// What one operation of many takes, in microseconds.
private struct Cost {
  /// As a clock on the wall shows it; other processes have a share in it.
  var time: Double
  /// The processor time of all threads of this process, the hub's too.
  var processor: Double

  /// - Parameter body: returns the time of one operation.
  static func of(_ count: Int, _ body: () throws -> Double) rethrows -> Cost {
    let begin = processTime()
    let time = try body()
    return Cost(time: time, processor: Double(processTime() - begin) / 1_000 / Double(count))
  }

  static func of(_ body: () throws -> Void) rethrows -> Cost {
    try of(1) {
      let begin = now()
      try body()
      return Double(now() - begin) / 1_000
    }
  }

  private static func processTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// A program that keeps a model of 10,000 fields, and writes to one of them until it is killed.
struct HoldKept: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "hold-kept", shouldDisplay: false)
  @Option var file: String

  func run() throws {
    let hub = try Hub.embedded()
    let peer = try Peer(hub: .inProcess(hub), keeping: .file(file, only: ["fields"]))
    let model = try peer.model("fields")
    while !model.isCurrent { usleep(100) }
    for part in 0..<10 {
      let fields = (0..<1_000).map { FieldOperation(.set, "f\(part * 1_000 + $0)", value($0)) }
      try model.write(Proposal(operations: fields))
      while peer.unconfirmed > 0 { usleep(100) }
    }
    // Values reach the file within 250 ms.
    while try KeptModels(readingFrom: file)["fields"].fields.count < 10_000 { usleep(10_000) }
    report("holding")
    for number in 0... {
      try model.write(Proposal(operations: [FieldOperation(.set, "f\(number % 10_000)", value(number))]))
      while peer.unconfirmed > 0 { usleep(100) }
    }
  }

  private func value(_ number: Int) -> FieldValue { FieldValue(bytes: Array("\(number)".utf8)) }
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
