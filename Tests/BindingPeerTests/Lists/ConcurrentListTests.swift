import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Testing

@Suite("A list that two programs write")
struct ConcurrentListTests {
  @Test("insertions of both stay, whichever place both chose")
  func insertions() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2])
    for round in 0..<50 {
      desks.left.cues.insert(Cue(100 + round), at: 1)
      desks.right.cues.insert(Cue(200 + round), at: 1)
    }
    #expect(await eventually { desks.isSettled })
    let ids = desks.left.cues.map(\.id)
    #expect(Set(ids) == Set([1, 2] + Array(100..<150) + Array(200..<250)) && ids.count == 102)
    #expect(ids.first == 1 && ids.last == 2)
    #expect(ids.filter { (100..<150).contains($0) } == (100..<150).reversed())
  }

  @Test("edits of different elements both count, of one element the later, and a removed one stays removed")
  func edits() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3])
    desks.left.cues[0].name = "left"
    desks.right.cues[1].name = "right"
    desks.right.cues.removeLast()
    #expect(await eventually { desks.isSettled })
    #expect(desks.left.cues == [Cue(1, "left"), Cue(2, "right")])
  }

  @Test("both move one element: it stands once, where the later put it")
  func moves() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3, 4])
    for link in desks.links { link.cut() }
    desks.left.cues.sort { $0.id != 2 && $1.id == 2 }
    desks.right.cues.sort { $0.id == 2 && $1.id != 2 }
    #expect(desks.left.cues.map(\.id) == [1, 3, 4, 2] && desks.right.cues.map(\.id) == [2, 1, 3, 4])
    desks.links[0].heal()
    #expect(await eventually { desks.peers[0].status.isLive && desks.peers[0].status.unconfirmed == 0 })
    desks.links[1].heal()
    #expect(await eventually { desks.isSettled })
    #expect(desks.left.cues.map(\.id) == [2, 1, 3, 4])
  }

  @Test("offline, insertions, moves and removals show at once, and meet those of the other on return")
  func offline() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3, 4])
    desks.links[0].cut()
    desks.left.cues.insert(Cue(10), at: 2)
    desks.left.cues.removeAll { $0.id == 4 }
    desks.left.cues.insert(desks.left.cues.removeLast(), at: 0)
    desks.left.cues[0].name = "moved"
    #expect(desks.left.cues.map(\.id) == [3, 1, 2, 10])
    #expect({ if case .pending = desks.left.$cues.status { true } else { false } }())
    desks.right.cues.removeAll { $0.id == 2 }
    desks.right.cues.append(Cue(20))
    #expect(await eventually { desks.peers[1].status.unconfirmed == 0 })
    desks.links[0].heal()
    #expect(await eventually { desks.isSettled && !desks.left.cues.isEmpty && desks.left.cues.count == 4 })
    // 2, after which 10 was inserted, is gone: 10 stands before its other neighbour, which was 3.
    #expect(Set(desks.left.cues.map(\.id)) == [1, 3, 10, 20])
    #expect(desks.left.cues.first?.name == "moved" || desks.left.cues.first?.id == 10)
  }

  @Test("an element that both change offline: the first on return counts, the other is told as a conflict after a wait")
  func replacedOffline() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2])
    desks.links[0].cut()
    desks.left.cues[0].name = "left"
    let write = try desks.left.$cues[id: 1].write(Cue(1, "left again"))
    desks.right.cues[0].name = "right"
    #expect(await eventually { desks.peers[1].status.unconfirmed == 0 })
    desks.links[0].heal()
    // The wait was short: it is a later write, which counts.
    guard case .committed = await write.outcome else {
      Issue.record("\(await write.outcome)")
      return
    }
    #expect(await eventually { desks.isSettled && desks.right.cues[0].name == "left again" })
  }

  @Test("a change in place that another's insertion meets does not remove what was inserted")
  func inPlace() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1])
    func change(_ cues: inout [Cue]) async {
      desks.right.cues.append(Cue(2))
      _ = await eventually { desks.left.$cues[id: 2].value != nil }
      cues.append(Cue(3))
    }
    await change(&desks.left.cues)
    #expect(await eventually { desks.isSettled })
    #expect(Set(desks.left.cues.map(\.id)) == [1, 2, 3])
  }

  @Test("an update of a list loses nothing, however many programs do it at once")
  func update() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, show) in [desks.left, desks.right].enumerated() {
        group.addTask {
          for round in 0..<10 {
            try await show.$cues.update { cues in
              var cues = cues
              cues[0].seconds += 1
              cues.append(Cue(100 * (index + 1) + round))
              return cues
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await eventually { desks.isSettled })
    #expect(desks.left.cues[0].seconds == 20 && desks.left.cues.count == 21)
  }

  @Test("a refused element falls back, in the list and its row, and both say why")
  func refused() async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: [1, 2])
    desks.links[0].cut()
    let row = desks.left.$cues[id: 2]
    row.name.value = "mine"
    #expect(desks.left.cues[1].name == "mine")
    desks.right.cues.removeLast()
    #expect(await eventually { desks.peers[1].status.unconfirmed == 0 })
    desks.links[0].heal()
    #expect(await eventually { desks.isSettled && desks.left.cues.map(\.id) == [1] })
    #expect(await eventually { row.status.description.contains("cues[id=2]") }, "\(row.status)")
    #expect(desks.left.$cues.status.description.contains("cues[id=2]"))
  }

  @Test(
    "two programs that edit at random, with and without a hub, end with the same list and lose nothing",
    arguments: 0..<6)
  func random(_ seed: UInt64) async throws {
    let desks = try await TwoDesks()
    try await desks.begin(with: Array(1...8))
    var chance = SeededGenerator(seed: seed)
    var (inserted, removed): (Set<Int>, Set<Int>) = (Set(1...8), [])
    for round in 0..<60 {
      let side = Int.random(in: 0...1, using: &chance)
      let show = side == 0 ? desks.left : desks.right
      if Int.random(in: 0..<8, using: &chance) == 0 { desks.links[side].cut() }
      if Int.random(in: 0..<6, using: &chance) == 0 { desks.links[side].heal() }
      switch Int.random(in: 0..<4, using: &chance) {
      case 0:
        inserted.insert(1_000 + round)
        insert(Cue(1_000 + round), into: &show.cues, &chance)
      case 1: if let cue = remove(from: &show.cues, leaving: 2, &chance) { removed.insert(cue.id) }
      case 2: if let cue = remove(from: &show.cues, leaving: 1, &chance) { insert(cue, into: &show.cues, &chance) }
      default: change(&show.cues, &chance)
      }
    }
    for link in desks.links { link.heal() }
    #expect(await eventually { desks.isSettled })
    let ids = desks.left.cues.map(\.id)
    #expect(Set(ids).count == ids.count && Set(ids).isSubset(of: inserted))
    #expect(Set(ids).isSuperset(of: inserted.subtracting(removed)))
  }

  // Each is one access to the list: what the other program does meanwhile comes before it or after it.

  private func insert(_ cue: Cue, into cues: inout [Cue], _ chance: inout SeededGenerator) {
    cues.insert(cue, at: Int.random(in: 0...cues.count, using: &chance))
  }

  private func remove(from cues: inout [Cue], leaving least: Int, _ chance: inout SeededGenerator) -> Cue? {
    cues.count > least ? cues.remove(at: Int.random(in: 0..<cues.count, using: &chance)) : nil
  }

  private func change(_ cues: inout [Cue], _ chance: inout SeededGenerator) {
    if !cues.isEmpty { cues[Int.random(in: 0..<cues.count, using: &chance)].seconds += 1 }
  }
}
