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
  @Flag(help: "End with the first broken history, tell it in a line, and draw no seed afresh.")
  var untilBroken = false
  @Flag(help: "Let some peers keep their outboxes in files that survive their crashes.")
  var outboxes = false
  #if MUTANTS
    @Option(help: "Plant this fault; 'list' names them all.")
    var mutant: String?
  #endif

  /// From so many histories on, every situation is to have occurred.
  private static let enough = 1_000

  func run() throws {
    #if MUTANTS
      if try plant() { return }
    #endif
    if let replay { return tell(replay) }
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    let begin = DispatchTime.now().uptimeNanoseconds
    var all = Counts()
    var (run, broken) = (0, 0)
    for number in 0..<UInt64(max(seeds, 0)) {
      let seed = number % 10 == 9 && !untilBroken ? fresh + number : from + number
      let world = World(seed: seed, outboxes: outboxes)
      run += 1
      do {
        try world.run()
      } catch {
        broken += 1
        print("\(error)  replay: SWIFT_DETERMINISTIC_HASHING=1 swift run -c release bindsim --replay \(seed)")
      }
      all.add(world.counts)
      if broken > 0, untilBroken { throw ExitCode(1) }
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e9
    print(all.table)
    print(BindSim.figures(all, run, seconds))
    let never = run >= BindSim.enough ? all.never.filter { outboxes || $0 != .restored } : []
    for situation in never { print("never happened: \(situation.rawValue)") }
    print("\(run) histories in \(Int(seconds)) s, \(broken) broken, fresh seeds from \(fresh)")
    if broken > 0 || !never.isEmpty { throw ExitCode(1) }
  }

  private static func figures(_ all: Counts, _ run: Int, _ seconds: Double) -> String {
    let histories = Double(max(run, 1))
    return "a history: \(Int(Double(all[.delivered]) / histories)) messages delivered, "
      + "\(Int(Double(all[.decided]) / histories)) proposals decided; "
      + "\(Int(histories * 60 / max(seconds, 1e-9))) histories a minute and core"
  }

  #if MUTANTS
    /// - Returns: whether only the list was asked for.
    private func plant() throws -> Bool {
      guard let mutant else { return false }
      if mutant == "list" {
        for mutant in World.mutants { print("\(mutant.name) \(mutant.rule)") }
        return true
      }
      guard World.plant(mutant) else {
        throw ValidationError("there is no mutant \(mutant); --mutant list names them")
      }
      return false
    }
  #endif

  private func tell(_ seed: UInt64) {
    let world = World(seed: seed, outboxes: outboxes, keepsTrace: true)
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
