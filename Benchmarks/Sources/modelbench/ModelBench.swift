import ArgumentParser
import Foundation

/// `modelbench`: what the values of `BindingModel` cost in one process, as ratios to something else that is measured in
/// the same run.
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

  /// A second thread, which does nothing: in a process with only one the C library leaves out the atomic operations of
  /// its locks, and every figure with a lock in it would be one that no real program sees.
  private static func becomeThreaded() {
    Thread.detachNewThread {
      while true { sleep(1000) }
    }
  }

  private func isAsked(_ name: String) -> Bool { only.isEmpty || name.contains(only) }
}
