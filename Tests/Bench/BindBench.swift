import ArgumentParser

/// `bindbench`: the cost of Bindbus, as ratios to what the same machine does without it, both measured in one run.
@main
struct BindBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindbench", abstract: "Measure Bindbus against its limits; every figure is a ratio of one run.",
    subcommands: [
      HubBenchmark.self, ServeHub.self, ServeForwarder.self, Subscribe.self, WatchPeer.self, OutboxBenchmark.self,
      StoreBenchmark.self, AccessBenchmark.self, LimitBenchmark.self, ListBenchmark.self, HistoryBenchmark.self,
      KeepBenchmark.self, HoldKept.self, Publish.self, Listen.self, ScaleBenchmark.self, Fill.self, Snapshot.self,
      PeerWrites.self, PeerSees.self, MakeKeys.self,
    ],
    defaultSubcommand: HubBenchmark.self)
}
