import ArgumentParser

/// The clients of `Benchmarks/compare/scale.py`, which measures what models, fields and peers cost a hub. Each
/// client is a process with as many connections as requested; the hub is another and is measured from outside.
struct ScaleBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scale", abstract: "Clients that load a hub with many models, fields or peers.", shouldDisplay: false,
    subcommands: [ScaleWrite.self, ScaleListen.self, ScaleCrowd.self, ScaleFill.self])
}

/// An unexpected answer of the hub, or none in time.
struct ScaleTrouble: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
