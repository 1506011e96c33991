import Foundation
import Simulation
import Testing

/// Histories of a build that checks more: few, for `scripts/test` runs thousands of the optimised one beside them.
@Suite("Simulated histories")
struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// Runs one history; a broken invariant is reported in one line with the command to replay it.
  private func run(_ seed: UInt64, _ profile: FaultProfile? = nil, isCell: Bool = false) -> Counts {
    let world = World(seed: seed, profile: profile, isCell: isCell)
    do {
      try world.run()
    } catch {
      let cell = isCell ? "--cell " : ""
      Issue.record("\(error). Replay: SWIFT_DETERMINISTIC_HASHING=1 swift run bindsim \(cell)--replay \(seed)")
    }
    return world.counts
  }

  @Test("every seed keeps every invariant")
  func manySeeds() {
    let count = Self.environment["BINDBUS_SEEDS"].flatMap(Int.init) ?? 60
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    print("fresh seeds begin with \(fresh)")
    var all = Counts()
    for number in 0..<count {
      // Every second seed is fresh.
      all.add(run((number % 2 == 0 ? 0 : fresh) + UInt64(number / 2)))
    }
    print("\(count) histories:\n\(all.table)")
    guard count >= 1_000 else { return }
    #expect(all.never(inCells: false).isEmpty)
  }

  @Test("several hubs over one log keep every invariant")
  func cells() {
    var all = Counts()
    for seed in 0..<30 as Range<UInt64> { all.add(run(seed, isCell: true)) }
    for situation in [.followed, .movedToOtherHub, .movedBatch, .unknownAppend, .cellRemoval] as [Situation] {
      #expect(all[situation] > 0, "\(situation.rawValue) never happened")
    }
  }

  @Test("in every history with an edge each write counts once, and every replica is the upstream hub's")
  func edges() {
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    var committed = 0
    for number in 0..<40 as Range<UInt64> {
      let seed = number % 2 == 0 ? number : fresh + number
      let world = EdgeWorld(seed: seed)
      do {
        try world.run()
      } catch {
        Issue.record("\(error). Replay: SWIFT_DETERMINISTIC_HASHING=1 swift run bindsim --replay \(seed)")
      }
      committed += world.committed
    }
    #expect(committed > 340)
  }

  @Test("in every history of ephemeral models over several hubs all see what living peers have, and nothing else")
  func siblings() {
    let fresh = UInt64.random(in: 1_000_000 ... .max / 2)
    for number in 0..<20 as Range<UInt64> {
      let seed = number % 2 == 0 ? number : fresh + number
      do {
        try SiblingWorld(seed: seed).run()
      } catch {
        Issue.record("\(error). Replay: SWIFT_DETERMINISTIC_HASHING=1 swift run bindsim --siblings --replay \(seed)")
      }
    }
  }

  @Test("any one lost message about a model is found and healed")
  func eachMessageLostInTurn() {
    var profile = FaultProfile()
    profile.peers = 2
    profile.steps = 6
    profile.chaosMilliseconds = 2_000
    for dropped in 0..<40 {
      profile.droppedFrame = dropped
      _ = run(7, profile)
    }
  }

  @Test("in every history with undo a peer takes back only what it wrote last, and redoes it")
  func undo() {
    var all = Counts()
    for seed in 0..<60 as Range<UInt64> {
      var profile = FaultProfile()
      profile.hasUndo = true
      profile.steps = 40
      profile.pace = [5, 40, 200][Int(seed % 3)]
      if seed % 2 == 0 { (profile.cuts, profile.lostFrames) = (40, 50) }
      if seed % 4 == 1 { (profile.hubCrashes, profile.isDurable) = (20, seed % 8 == 1) }
      if seed % 5 == 0 { (profile.peerCrashes, profile.hasOutboxes) = (20, true) }
      all.add(run(seed, profile))
    }
    for situation in [.undo, .redo, .undoDecided, .undoConflict, .undoOvertaken, .redone] as [Situation] {
      #expect(all[situation] > 0, "\(situation)")
    }
  }

  @Test("a peer alone that undoes everything is back at the beginning, and redoes it")
  func undoAlone() {
    var all = Counts()
    for seed in 0..<20 as Range<UInt64> {
      var profile = FaultProfile()
      (profile.hasUndo, profile.peers, profile.steps, profile.pace) = (true, 1, 40, 200)
      all.add(run(seed, profile))
    }
    #expect(all[.undoDecided] > 0 && all[.redone] > 0)
  }

  @Test("the same seed makes the same history")
  func sameSeed() throws {
    for seed in [3, 11, 20] as [UInt64] {
      let (first, second) = (World(seed: seed), World(seed: seed))
      try first.run()
      try second.run()
      #expect(first.digest == second.digest, "\(seed)")
      #expect(first.counts.table == second.counts.table, "\(seed)")
    }
  }

  @Test("a history counts its situations")
  func counted() {
    let first = run(3)
    #expect(first[.delivered] > 0 && first[.decided] > 0)
    #expect(first[.tailHealed] + first[.tailAsked] == 1)
    #expect(Set(Counts().never(inCells: false) + Counts().never(inCells: true)) == Set(Situation.allCases))
    #expect(!first.never(inCells: false).contains(.written))
  }

  @Test("impostors, deep chains of answers and lost tails break no invariant")
  func unusualProfiles() {
    var profile = FaultProfile()
    profile.impostors = 100
    profile.answers = 500
    profile.writesTooDeep = true
    profile.isDurable = true
    profile.unnoticedLosses = 100
    var all = Counts()
    for seed in 0..<20 as Range<UInt64> { all.add(run(seed, profile)) }
    for situation in [Situation.impostor, .answered, .refusedAsLoop, .provenLoss] {
      #expect(all[situation] > 0, "\(situation.rawValue)")
    }
  }

  @Test("ephemeral fields, owners and barriers keep their invariants through all faults")
  func features() {
    var profile = FaultProfile()
    profile.peers = 6
    profile.ephemeralWriters = 3
    profile.hasOwner = true
    profile.barriers = 100
    profile.cuts = 20
    profile.peerCrashes = 10
    profile.hubCrashes = 6
    profile.leaseMilliseconds = 1_500
    var all = Counts()
    for seed in 0..<20 as Range<UInt64> { all.add(run(seed, profile)) }
    for situation in [
      Situation.notOwner, .keptInEphemeralModel, .goneFromEphemeralModel, .leftEphemeralModel, .claimedAgain,
      .allowedByOwner, .refusedByOwner,
      .ownerGone, .barrierMet, .barrierMissed,
    ] {
      #expect(all[situation] > 0, "\(situation.rawValue)")
    }
  }

  @Test("eight peers that write the same fields end with one value everywhere")
  func eightPeersAgree() {
    var profile = FaultProfile()
    profile.peers = 8
    profile.pace = 3
    profile.publishDelay = 40
    for seed in 0..<10 as Range<UInt64> { _ = run(seed, profile) }
  }
}
