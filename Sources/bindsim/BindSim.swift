import ArgumentParser
import BindingTestKit
import Foundation

/// `bindsim`: runs simulated histories and holds every one against the invariants.
@main
struct BindSim: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindsim", abstract: "Run simulated histories of a hub and its peers; one seed is one history.")

  @Option(help: "How many histories.")
  var seeds = 2_000
  @Option(help: "The first seed; one in ten is drawn afresh besides.")
  var from: UInt64 = 0
  @Option(help: "Run this seed alone and tell it step by step.")
  var replay: UInt64?

  func run() throws {
    if let replay { return tell(replay) }
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    let begin = DispatchTime.now().uptimeNanoseconds
    var all = Counts()
    var broken = 0
    for number in 0..<UInt64(max(seeds, 0)) {
      let seed = number % 10 == 9 ? fresh + number : from + number
      let world = World(seed: seed)
      do {
        try world.run()
      } catch {
        broken += 1
        print("\(error)  replay: SWIFT_DETERMINISTIC_HASHING=1 swift run -c release bindsim --replay \(seed)")
      }
      all.add(world.counts)
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e9
    print(all.all.map { "\($0.name) \($0.count)" }.joined(separator: ", "))
    let never = all.all.filter { $0.count == 0 && $0.name != "divergences" }.map(\.name)
    if seeds >= 1_000, !never.isEmpty { print("never happened: \(never.joined(separator: ", "))") }
    print("\(seeds) histories in \(Int(seconds)) s, \(broken) broken, fresh seeds from \(fresh)")
    if broken > 0 || seeds >= 1_000 && !never.isEmpty { throw ExitCode(1) }
  }

  private func tell(_ seed: UInt64) {
    let world = World(seed: seed, keepsTrace: true)
    do {
      try world.run()
      print(world.trace.joined(separator: "\n"))
    } catch {
      print(world.trace.joined(separator: "\n"))
      print("\(error)")
      BindSim.exit(withError: ExitCode(1))
    }
  }
}
