import ArgumentParser

/// The clients of `Benchmarks/compare/scale.py`, which measures what a hub costs by its models, fields and peers. Each
/// is a process of its own and holds as many connections as asked for; the hub is one too and is measured from outside.
struct ScaleBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scale", abstract: "Clients that load a hub with many models, fields or peers.", shouldDisplay: false,
    subcommands: [ScaleWrite.self, ScaleListen.self, ScaleCrowd.self, ScaleFill.self])
}

/// What a hub said that these clients do not expect, or did not say in time.
struct ScaleTrouble: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
