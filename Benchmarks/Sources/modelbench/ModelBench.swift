import ArgumentParser
import Foundation

/// `modelbench`: the cost of `BindingModel`'s values in one process, as ratios to a baseline measured in the same
/// run.
@main
struct ModelBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "modelbench", abstract: "Measure BindingModel against its limits; every time is a ratio of one run.")

  @Option(help: "Rounds of each pair; the median of their ratios is told.")
  var rounds = 15
  @Option(help: "Milliseconds of each side in each round.")
  var milliseconds = 20.0
  @Option(help: "Only the cases whose name contains this.")
  var only = ""
  @Flag(help: "One JSON object a line.")
  var json = false

  func run() throws {
    Self.becomeThreaded()
    let report = Report(asJSON: json)
    for group in Self.groups {
      let races = group.races.filter { isAsked($0.name) }
      if !races.isEmpty { report.title(group.title) }
      for race in races { report.add(race, race.run(rounds: max(rounds, 1), seconds: milliseconds / 1000)) }
    }
    let counts = Counts.all.filter { isAsked($0.name) }
    if !counts.isEmpty { report.title(Counts.title) }
    for count in counts { report.add(count, count.measure()) }
  }

  private static var groups: [any Group.Type] {
    [
      Observers.self, Locking.self, Bindings.self, Graph.self, LettingGo.self, OtherLibraries.self, MoreLibraries.self,
    ]
  }

  /// Starts a second, idle thread: in a single-threaded process the C library leaves out the atomic operations of
  /// its locks, and no figure with a lock would match a real program.
  private static func becomeThreaded() {
    Thread.detachNewThread {
      while true { sleep(1000) }
    }
  }

  private func isAsked(_ name: String) -> Bool { only.isEmpty || name.contains(only) }
}
