import ArgumentParser
import Foundation
import Simulation

/// `bindsim`: runs simulated histories and checks each against the invariants.
@main
struct BindSim: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bindsim", abstract: "Run simulated histories of a hub and its peers; one seed is one history.")

  @Option(help: "How many histories.")
  var seeds = 2_000
  @Option(help: "The first seed of the fixed half.")
  var from: UInt64 = 0
  @Option(help: "The first seed of the other half; drawn afresh and printed when not given.")
  var fresh: UInt64?
  @Option(help: "Run this seed alone and print every step.")
  var replay: UInt64?
  @Flag(help: "Let several hubs share one log.")
  var cell = false
  @Flag(help: "End with the first broken history, print it in one line, and draw no seed afresh.")
  var untilBroken = false
  @Flag(help: "Run only histories with an edge, a world of their own; otherwise one after each eighth history.")
  var edges = false
  @Flag(help: "Run only histories of ephemeral models over several hubs; otherwise one after each eighth history.")
  var siblings = false
  #if MUTANTS
    @Option(help: "Plant this fault; 'list' names them all.")
    var mutant: String?
  #endif

  /// After so many histories one with an edge is run too, and one of several hubs' ephemeral models.
  private static let everyOther: UInt64 = 8

  /// Whether only histories with an edge are run.
  private var onlyEdges: Bool { edges || isMutant("edge") }

  /// Whether only histories of several hubs' ephemeral models are run.
  private var onlySiblings: Bool { siblings || isMutant("sibling") }

  /// Whether the histories are those of several hubs over one log.
  private var isCell: Bool { cell || isMutant("cell") }

  /// Whether a planted fault concerns these histories.
  private func isMutant(_ kind: String) -> Bool {
    #if MUTANTS
      mutant?.hasPrefix(kind) == true
    #else
      false
    #endif
  }

  /// Runs the histories of one seed.
  private func runOne(_ world: World, _ seed: UInt64, withOthers: Bool) throws(Violation) {
    let hasOthers = !isCell && withOthers
    if !onlyEdges, !onlySiblings { try world.run() }
    // Worlds of their own.
    if onlyEdges || hasOthers && !onlySiblings { try EdgeWorld(seed: seed).run() }
    if onlySiblings || hasOthers && !onlyEdges { try SiblingWorld(seed: seed).run() }
  }

  /// From this many histories on, every situation must have occurred.
  private static let enough = 1_000

  func run() throws {
    #if MUTANTS
      if try plant() { return }
    #endif
    if let replay { return printTrace(replay) }
    let fresh = self.fresh ?? UInt64.random(in: 1_000_000 ... .max / 2)
    if !untilBroken { print("half of the seeds from \(from), half fresh: --fresh \(fresh)") }
    let begin = clock()
    var all = Counts()
    var (run, broken, digest) = (0, 0, UInt64(0))
    for number in 0..<UInt64(max(seeds, 0)) {
      // Every second seed is fresh.
      let seed = untilBroken ? from + number : (number % 2 == 0 ? from : fresh) + number / 2
      let world = World(seed: seed, isCell: isCell)
      run += 1
      do {
        try runOne(world, seed, withOthers: number % BindSim.everyOther == 0)
      } catch {
        broken += 1
        let kind = isCell ? "--cell " : ""
        print("\(error)  replay: SWIFT_DETERMINISTIC_HASHING=1 swift run -c release bindsim \(kind)--replay \(seed)")
        // A long run tells at once, into a file too.
        fflush(nil)
      }
      all.add(world.counts)
      digest = digest &* 31 &+ world.digest
      if broken > 0, untilBroken { throw ExitCode(1) }
    }
    // Processor time of this process, independent of the machine's load.
    let seconds = Double(clock() - begin) / Double(CLOCKS_PER_SEC)
    print(all.table)
    print(BindSim.figures(all, run, seconds))
    let never = run >= BindSim.enough && !onlyEdges && !onlySiblings ? all.never(inCells: isCell) : []
    for situation in never { print("never happened: \(situation.rawValue)") }
    print("digest of these histories: \(String(digest, radix: 16))")
    print("\(run) histories in \(Int(seconds)) s of a core, \(broken) broken")
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

  private func printTrace(_ seed: UInt64) {
    let world = World(seed: seed, isCell: isCell, keepsTrace: true)
    do {
      try runOne(world, seed, withOthers: true)
      print(world.trace.joined(separator: "\n"))
    } catch {
      print(world.trace.joined(separator: "\n"))
      print("\(error)")
      BindSim.exit(withError: ExitCode(1))
    }
  }
}
