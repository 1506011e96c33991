import Foundation
import Simulation
import Testing

@Suite("Simulated histories")
struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// Runs one history; a broken invariant is one line that says how to see it again.
  private func run(_ seed: UInt64, _ climate: Climate? = nil) -> Counts {
    let world = World(seed: seed, climate: climate)
    do {
      try world.run()
    } catch {
      Issue.record("\(error). Replay: SWIFT_DETERMINISTIC_HASHING=1 swift run bindsim --replay \(seed)")
    }
    return world.counts
  }

  @Test("every seed keeps every invariant")
  func manySeeds() {
    let count = Self.environment["BINDBUS_SEEDS"].flatMap(Int.init) ?? 200
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    print("fresh seeds begin with \(fresh)")
    var all = Counts()
    for number in 0..<count {
      // Every second one has never been seen before.
      all.add(run((number % 2 == 0 ? 0 : fresh) + UInt64(number / 2)))
    }
    print("\(count) histories:\n\(all.table)")
    guard count >= 1_000 else { return }
    #expect(all.never.isEmpty)
  }

  @Test("whichever one message about a model is lost, the first, a middle one or the last, it is found and healed")
  func eachMessageLostInTurn() {
    var climate = Climate()
    climate.peers = 2
    climate.steps = 6
    climate.chaosMilliseconds = 2_000
    for dropped in 0..<40 {
      climate.droppedFrame = dropped
      _ = run(7, climate)
    }
  }

  @Test("a history says what happened in it, and the same seed makes the same history")
  func counted() {
    let (first, second) = (run(3), run(3))
    #expect(first.table == second.table)
    #expect(first[.delivered] > 0 && first[.decided] > 0)
    #expect(first[.tailHealed] + first[.tailAsked] == 1)
    #expect(Counts().never == Situation.allCases)
    #expect(!first.never.contains(.written))
  }

  @Test("who speaks in another's name, answers too deep or comes back to a shorter log breaks nothing")
  func unusualClimates() {
    var climate = Climate()
    climate.strangers = 100
    climate.answers = 500
    climate.writesTooDeep = true
    climate.isDurable = true
    climate.unnoticedLosses = 100
    var all = Counts()
    for seed in 0..<20 as Range<UInt64> { all.add(run(seed, climate)) }
    for situation in [Situation.stranger, .answered, .refusedAsLoop, .provenLoss] {
      #expect(all[situation] > 0, "\(situation.rawValue)")
    }
  }

  @Test("peers that hold fields, own a model and wait for each other do so through all faults")
  func company() {
    var climate = Climate()
    climate.peers = 6
    climate.lineWriters = 3
    climate.hasOwner = true
    climate.barriers = 100
    climate.cuts = 20
    climate.peerCrashes = 10
    climate.hubCrashes = 6
    climate.leaseMilliseconds = 1_500
    var all = Counts()
    for seed in 0..<20 as Range<UInt64> { all.add(run(seed, climate)) }
    for situation in [
      Situation.notOwner, .keptInLine, .goneFromLine, .leftLine, .claimedAgain, .allowedByOwner, .refusedByOwner,
      .ownerGone, .barrierMet, .barrierMissed,
    ] {
      #expect(all[situation] > 0, "\(situation.rawValue)")
    }
  }

  @Test("eight peers that write the same fields end with one value everywhere")
  func eightPeersAgree() {
    var climate = Climate()
    climate.peers = 8
    climate.pace = 3
    climate.publishDelay = 40
    for seed in 0..<10 as Range<UInt64> { _ = run(seed, climate) }
  }
}
