import BindbusTesting
import BindingModel
import BindingPeer
import Testing

@Suite("Undo of lists")
struct UndoListTests {
  private let desks: TwoDesks

  init() async throws {
    desks = try await TwoDesks()
    try await desks.begin(with: [1, 2, 3, 4])
    _ = desks.left.undoing
    _ = desks.right.undoing
  }

  private var ids: [Int] { desks.left.cues.map(\.id) }

  /// Changes the list, and lets the other program see it.
  private func change(_ body: (inout [Cue]) -> Void, by desk: Show? = nil) async {
    body(&(desk ?? desks.left).cues)
    #expect(await eventually { desks.isSettled })
  }

  private func undo(_ desk: Show? = nil, redoes: Bool = false) async -> SharedModel.Undoing.Outcome {
    let desk = desk ?? desks.left
    let result = redoes ? await desk.redo() : await desk.undo()
    #expect(await eventually { desks.isSettled })
    return result
  }

  @Test("an inserted element goes, and returns to its place")
  func inserted() async {
    await change { $0.insert(Cue(9, "new"), at: 2) }
    #expect(await undo() == .done(fields: ["cues@9"], inexact: []))
    #expect(ids == [1, 2, 3, 4])
    #expect(await undo(redoes: true) == .done(fields: ["cues@9"], inexact: []))
    #expect(ids == [1, 2, 9, 3, 4] && desks.left.cues[2].name == "new")
  }

  @Test("a removed element returns to its place with all it had, wherever that is")
  func removed() async {
    for index in 0..<4 {
      await change { $0.remove(at: index) }
      #expect(await undo() == .done(fields: ["cues@\(index + 1)"], inexact: []))
      #expect(desks.right.cues == (1...4).map { Cue($0, "n\($0)") })
    }
  }

  @Test("several removed neighbours return in their order")
  func neighbours() async {
    await change { $0.removeSubrange(1...3) }
    _ = await undo()
    #expect(ids == [1, 2, 3, 4])
    await change { $0.removeAll() }
    _ = await undo()
    #expect(ids == [1, 2, 3, 4])
  }

  @Test(
    "elements removed one by one return to their places, whatever ranks they get",
    arguments: [[0, 0, 0, 0], [3, 2, 1, 0], [1, 1, 0, 0], [2, 0, 1, 0]])
  func emptied(indices: [Int]) async {
    for index in indices { await change { $0.remove(at: index) } }
    for _ in indices { _ = await undo() }
    #expect(desks.right.cues == (1...4).map { Cue($0, "n\($0)") })
    for _ in indices { _ = await undo(redoes: true) }
    #expect(desks.right.cues.isEmpty)
  }

  @Test("a removed element whose neighbours are gone returns where its rank is")
  func alone() async {
    await change { $0.remove(at: 1) }
    await change({ $0.removeAll { $0.id != 4 } }, by: desks.right)
    _ = await undo()
    #expect(ids == [2, 4])
  }

  @Test("a moved element returns, between what has come meanwhile")
  func moved() async {
    await change { $0.swapAt(0, 3) }
    await change({ $0.insert(Cue(7), at: 0) }, by: desks.right)
    _ = await undo()
    #expect(ids.filter { $0 != 7 } == [1, 2, 3, 4])
    _ = await undo(redoes: true)
    #expect(ids.filter { $0 != 7 } == [4, 2, 3, 1])
  }

  @Test("a changed element has its former value, and stays where others moved its neighbours")
  func changed() async {
    await change { $0[1].name = "storm" }
    await change({ $0.move(from: 3, to: 0) }, by: desks.right)
    #expect(await undo() == .done(fields: ["cues@2"], inexact: []))
    #expect(desks.left.cues.first { $0.id == 2 }?.name == "n2" && ids == [4, 1, 2, 3])
  }

  @Test("an element that was moved and changed in one step returns in both")
  func both() async {
    await change { cues in
      cues[0].name = "storm"
      cues.append(cues.removeFirst())
    }
    #expect(ids == [2, 3, 4, 1])
    _ = await undo()
    #expect(desks.right.cues == (1...4).map { Cue($0, "n\($0)") })
    _ = await undo(redoes: true)
    #expect(ids == [2, 3, 4, 1] && desks.right.cues[3].name == "storm")
  }

  @Test("an element that another program has changed since stays, and its name is told")
  func foreign() async {
    await change { $0[1].name = "storm" }
    await change({ $0[1].seconds = 3 }, by: desks.right)
    guard case .failed(let reason) = await undo() else { return #expect(Bool(false)) }
    #expect(reason.hasPrefix("cues[id=2] was changed by right-"))
    #expect(desks.left.cues[1] == Cue(2, "storm", seconds: 3))
  }

  @Test("steps one above the other are taken back one by one, and done again")
  func chain() async {
    await change { $0.append(Cue(5, "five")) }
    await change { $0.move(from: 4, to: 0) }
    await change { $0[0].name = "FIVE" }
    await change { $0.removeFirst() }
    for expected in [[5, 1, 2, 3, 4], [5, 1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2, 3, 4]] {
      #expect(await undo() == .done(fields: ["cues@5"], inexact: []))
      #expect(ids == expected)
    }
    for expected in [[1, 2, 3, 4, 5], [5, 1, 2, 3, 4], [5, 1, 2, 3, 4], [1, 2, 3, 4]] {
      #expect(await undo(redoes: true) == .done(fields: ["cues@5"], inexact: []))
      #expect(ids == expected)
    }
  }

  @Test("a step that ends where it began does not stand in the way of those before it")
  func nothing() async {
    await change { $0.append(Cue(9)) }
    desks.left.undoing.group {
      desks.left.cues.move(from: 4, to: 0)
      desks.left.cues.move(from: 0, to: 4)
    }
    #expect(await eventually { desks.isSettled })
    _ = await undo()
    #expect(ids == [1, 2, 3, 4, 9])
    #expect(await undo() == .done(fields: ["cues@9"], inexact: []))
    #expect(ids == [1, 2, 3, 4])
  }

  @Test("elements that moved all at once return, and move again, whatever anchors move with them")
  func reversed() async {
    for step in 0..<3 {
      await change { cues in
        switch step {
        case 0: cues.reverse()
        case 1: cues.swapAt(0, 1)
        default: cues = cues[2...] + cues[..<2].reversed()
        }
      }
      let expected = ids
      for _ in 0..<2 {
        _ = await undo()
        #expect(desks.right.cues.map(\.id) == [1, 2, 3, 4])
        _ = await undo(redoes: true)
        #expect(desks.right.cues.map(\.id) == expected)
      }
      _ = await undo()
    }
  }

  @Test("steps that were taken back and done again without a hub keep their places, which build on each other")
  func offlineChain() async {
    for link in desks.links { link.cut() }
    #expect(await eventually { desks.peers.allSatisfy { !$0.status.isLive } })
    desks.left.cues.append(Cue(9))
    desks.left.cues.move(from: 0, to: 4)
    #expect(ids == [2, 3, 4, 9, 1])
    for expected in [[1, 2, 3, 4, 9], [1, 2, 3, 4]] {
      #expect(await desks.left.undo() == .done(fields: [expected.count == 5 ? "cues@1" : "cues@9"], inexact: []))
      #expect(ids == expected)
    }
    let redos = Task {
      let first = Task { await desks.left.redo() }
      _ = await eventually { ids == [1, 2, 3, 4, 9] }
      return (await desks.left.redo(), await first.value)
    }
    #expect(await eventually { ids == [2, 3, 4, 9, 1] })
    for link in desks.links { link.heal() }
    let (second, first) = await redos.value
    #expect(first == .done(fields: ["cues@9"], inexact: []) && second == .done(fields: ["cues@1"], inexact: []))
    #expect(await eventually { desks.isSettled })
    #expect(desks.right.cues.map(\.id) == [2, 3, 4, 9, 1])
  }

  @Test("what was never sent is taken back and done again without a hub")
  func offline() async {
    for link in desks.links { link.cut() }
    #expect(await eventually { desks.peers.allSatisfy { !$0.status.isLive } })
    desks.left.cues.insert(Cue(9), at: 2)
    #expect(await desks.left.undo() == .done(fields: ["cues@9"], inexact: []))
    #expect(ids == [1, 2, 3, 4])
    let redo = Task { await desks.left.redo() }
    #expect(await eventually { ids == [1, 2, 9, 3, 4] })
    for link in desks.links { link.heal() }
    #expect(await redo.value == .done(fields: ["cues@9"], inexact: []))
    #expect(await eventually { desks.isSettled })
    #expect(desks.right.cues.map(\.id) == [1, 2, 9, 3, 4])
  }
}

extension [Cue] {
  fileprivate mutating func move(from: Int, to: Int) {
    let element = remove(at: from)
    insert(element, at: to)
  }
}
