import ArgumentParser
import Foundation

/// The hub against a bare forwarder of the same messages.
struct HubBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hub", abstract: "Compare bindhub with a bare libzmq forwarder of the same messages.")

  @Option(help: "Rounds of each pair; the median of their ratios is told.")
  var rounds = 5
  @Option(help: "Seconds of writing in each round of a throughput pair.")
  var seconds = 1.0
  @Option(help: "Messages in each round of a latency pair.")
  var samples = 2_000
  @Option(help: "Only the cases whose name contains this.")
  var only = ""
  @Flag(help: "One JSON object a line.")
  var json = false

  func run() throws {
    let report = Report(asJSON: json)
    report.title(
      "throughput: changes a second that reached every subscriber, ratio to the forwarder", aim: "aim: at least 0.5")
    for (subscribers, batch) in [(1, 1), (1, 16), (8, 1), (8, 16)] {
      let name = "\(subscribers) subscriber\(subscribers == 1 ? "" : "s"), \(batch) a message"
      guard isAsked(name) else { continue }
      let pair = try Self.pair(rounds) { kind in
        try Throughput(kind: kind, subscribers: subscribers, batch: batch, seconds: seconds).measure()
      }
      report.throughput(name, pair)
    }
    report.title("one-way latency, one change at a time, ratio to the forwarder", aim: "aim: p50 at most 1.3")
    for transport in Transport.allCases where isAsked("hub, \(transport)") {
      let pair = try Self.pair(rounds) { kind in
        try Latency(kind: kind, transport: transport, samples: samples).measure()
      }
      report.latency("hub, \(transport)", pair)
    }
    let name = "peer to peer, from `x = …` to its observer, ipc"
    guard isAsked(name) else { return }
    let pair = try Self.pair(rounds) { kind in
      switch kind {
      case .hub: try PeerLatency(samples: samples).measure()
      case .forwarder: try Latency(kind: kind, transport: .ipc, samples: samples).measure()
      }
    }
    report.latency(name, pair)
  }

  private func isAsked(_ name: String) -> Bool { only.isEmpty || name.contains(only) }

  /// Measures both sides in turn, so that other load on the machine affects both.
  private static func pair<Figure>(
    _ rounds: Int, _ measure: (Contender) throws -> Figure
  ) rethrows -> [(ours: Figure, bare: Figure)] {
    try (0..<max(rounds, 1)).map { round in
      if round % 2 == 0 {
        let ours = try measure(.hub)
        return (ours, try measure(.forwarder))
      }
      let bare = try measure(.forwarder)
      return (try measure(.hub), bare)
    }
  }
}

/// The process between writer and subscribers.
enum Contender: String {
  case hub, forwarder
}

enum Transport: String, CaseIterable {
  case ipc, tcp
}
