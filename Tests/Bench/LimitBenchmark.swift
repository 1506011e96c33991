import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import Foundation

/// What the limits of names cost each message, and what a refusal costs that the store keeps.
struct LimitBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limits", abstract: "Measure the limits of names: per message, and per refused write.")

  @Option(help: "Rounds of all figures in turn.")
  var rounds = 7
  @Option(help: "Messages of each round.")
  var messages = 20_000
  @Option(help: "Only these messages: none, standard (limits) or refused (writes). For counting instructions.")
  var only: String?
  @Option(help: "Where to put the stores; their disk is what is measured.")
  var folder = FileManager.default.temporaryDirectory.path

  func run() throws {
    if let only {
      for size in [1, 16] { print("\(only), \(size) a message: \(try time(only, of: size)) ns each") }
      return
    }
    for size in [1, 16] {
      let pairs = try (0..<rounds).map { _ in (try time("standard", of: size), try time("none", of: size)) }
      figure("writes, \(size) a message, with limits", pairs.map(\.0), pairs.map { $0.0 / $0.1 })
    }
    for (name, durability) in [("process", Durability.process), ("disk", .disk)] {
      for size in [1, 256] {
        let count = messages / size / (durability == .disk ? 10 : 1)
        let times = try (0..<rounds).map { _ in try refused(count, of: size, durability) }
        let memory = try (0..<rounds).map { _ in try refused(count, of: size, nil) }
        figure(
          "refused writes, \(size) a message, stored (\(name))", times.map(\.0),
          times.indices.map { times[$0].0 / memory[$0].0 })
        figure("the same, in memory only", memory.map(\.0), [])
        print("  bytes of the store for each: \(median(times.map(\.1)))")
      }
    }
  }

  private func time(_ kind: String, of size: Int) throws -> Double {
    var hub = LocalHub(kind)
    let begin = now()
    for _ in 0..<messages / size { try hub.propose(size, nil) }
    return Double(now() - begin) / Double(messages / size * size)
  }

  /// Nanoseconds and bytes of each refused write.
  private func refused(_ count: Int, of size: Int, _ durability: Durability?) throws -> (Double, Double) {
    let path = "\(folder)/limits-\(UInt64.random(in: 0 ... .max))"
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    let store = try durability.map { durability in try SQLiteStore(path: path, durability: durability) }
    var hub = LocalHub("refused")
    let before = LimitBenchmark.bytes(at: path)
    let begin = now()
    for _ in 0..<max(count, 1) { try hub.propose(size, store) }
    let took = Double(now() - begin)
    let written = Double(LimitBenchmark.bytes(at: path) - before)
    try store?.close()
    return (took / Double(max(count, 1) * size), written / Double(max(count, 1) * size))
  }

  private func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

  private static func bytes(at path: String) -> Int {
    ["", "-wal"].reduce(0) { sum, suffix in
      let size = (try? FileManager.default.attributesOfItem(atPath: path + suffix))?[.size] as? Int
      return sum + (size ?? 0)
    }
  }

  private func figure(_ name: String, _ times: [Double], _ ratios: [Double]) {
    func words(_ values: [Double], _ format: String) -> String {
      String(format: format, median(values), values.min() ?? 0, values.max() ?? 0)
    }
    let ratio = ratios.isEmpty ? "" : words(ratios, "  × %.3f (%.3f to %.3f)")
    print("\(name): \(words(times, "%.0f ns each (%.0f to %.0f)"))\(ratio)")
  }
}
