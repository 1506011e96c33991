import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Note: Model {
  @Field(policy: .text) var body = ""
  @Field(policy: .compareAndSet) var owner = "nobody"
  @Field(policy: .add) var count = 0
  @Field(policy: .max) var best = 0
  @Field(policy: .min) var least = 100
  @Field(policy: .union) var tags: Set<String> = []
  @Field(policy: .union) var steps: [Int] = []
  @Field(policy: .merge { _, mine, theirs in mine.hasPrefix(theirs) ? mine : theirs + "+" + mine }) var log = ""
}

private struct Storm: Model {
  @Field var level = 0
}

private struct GivingUp: Error {}

@Suite("A conflict policy")
@MainActor
struct PolicyTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  private func notes() async throws -> (Note, Note) {
    (
      try await left.share(Note.self, id: "note", timeout: .seconds(20)),
      try await right.share(Note.self, id: "note", timeout: .seconds(20))
    )
  }

  @Test("text: the words of two peers that write concurrently all stand")
  func text() async throws {
    let (mine, theirs) = try await notes()
    mine.body = "the cat sat"
    #expect(await eventually { theirs.body == "the cat sat" })
    for round in 0..<50 {
      mine.body = "L\(round) " + mine.body
      theirs.body = theirs.body + " R\(round)"
      if round % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
    #expect(await eventually { mine.body == theirs.body && left.status.unconfirmed + right.status.unconfirmed == 0 })
    let words = mine.body.split(separator: " ").map(String.init)
    for round in 0..<50 {
      #expect(words.filter { $0 == "L\(round)" }.count == 1, "\(mine.body)")
      #expect(words.filter { $0 == "R\(round)" }.count == 1, "\(mine.body)")
    }
    #expect(words.filter { ["the", "cat", "sat"].contains($0) } == ["the", "cat", "sat"])
  }

  @Test("text: what a peer types while its last edit is in flight is not lost either")
  func typing() async throws {
    let (mine, theirs) = try await notes()
    for letter in 0..<200 {
      mine.body += " m\(letter)"
      if letter % 10 == 0 { theirs.body += " t\(letter)" }
      if letter % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
    #expect(await eventually { mine.body == theirs.body && left.status.unconfirmed + right.status.unconfirmed == 0 })
    let words = mine.body.split(separator: " ").map(String.init)
    #expect(words.filter { $0.hasPrefix("m") } == (0..<200).map { "m\($0)" })
    #expect(words.filter { $0.hasPrefix("t") }.count == 20)
  }

  @Test("text: both texts written without a hub are in the result")
  func offline() async throws {
    let (mine, theirs) = try await notes()
    mine.body = "base"
    #expect(await eventually { theirs.body == "base" })
    theirs.body = "base theirs"
    mine.body = "mine base"
    #expect(await eventually { mine.body == "mine base theirs" && theirs.body == "mine base theirs" })
  }

  @Test("compareAndSet: of two writes on the same value one gets a conflict with the current value")
  func compareAndSet() async throws {
    let (mine, theirs) = try await notes()
    // Nothing is delivered to this actor between the two writes.
    let writes = [try mine.$owner.write("left"), try theirs.$owner.write("right")]
    let outcomes = [await writes[0].outcome, await writes[1].outcome]
    let conflicts = outcomes.compactMap { if case .conflict(let conflict) = $0 { conflict } else { nil } }
    #expect(outcomes.filter { if case .committed = $0 { true } else { false } }.count == 1)
    #expect(conflicts.count == 1)
    #expect(await eventually { mine.owner == theirs.owner })
    #expect(conflicts.first?.value == FieldValue(json: .string(mine.owner)))
  }

  @Test("compareAndSet: successive writes of one peer do not conflict")
  func ownWrites() async throws {
    let (mine, theirs) = try await notes()
    var writes: [PendingWrite] = []
    for number in 0..<20 { writes.append(try mine.$owner.write("left \(number)")) }
    for write in writes {
      let outcome = await write.outcome
      switch outcome {
      case .committed, .superseded: break
      default: Issue.record("\(outcome)")
      }
    }
    #expect(await eventually { theirs.owner == "left 19" })
  }

  @Test("add, max, min: assignments of many peers are merged at the hub")
  func merges() async throws {
    let (mine, theirs) = try await notes()
    for number in 1...100 {
      mine.count += 1
      theirs.count += 2
      mine.best = number
      theirs.best = 101 - number
      mine.least = 101 - number
      theirs.least = number + 50
    }
    #expect(await eventually { mine.count == 300 && theirs.count == 300 })
    #expect(await eventually { mine.best == 100 && theirs.best == 100 && mine.least == 1 && theirs.least == 1 })
  }

  @Test("union: every inserted element is present once, and assigning removes nothing")
  func unions() async throws {
    let (mine, theirs) = try await notes()
    for number in 0..<50 {
      mine.tags.insert("left \(number)")
      mine.tags.insert("both")
      theirs.tags.insert("right \(number)")
      mine.steps.append(number * 2)
      theirs.steps.append(number * 2 + 1)
    }
    #expect(await eventually { mine.tags.count == 101 && theirs.tags == mine.tags })
    #expect(await eventually { mine.steps.count == 100 && theirs.steps == mine.steps })
    #expect(Set(mine.steps) == Set(0..<100))
    mine.tags = ["alone"]
    #expect(mine.tags.count == 102)
    #expect(await eventually { theirs.tags.count == 102 })
  }

  @Test("merge: a closure combines two values, and is asked again until its result is committed")
  func closures() async throws {
    let (mine, theirs) = try await notes()
    let writes = [try mine.$log.write("a"), try theirs.$log.write("b")]
    for write in writes { _ = try await write.committed }
    #expect(await eventually { mine.log == theirs.log })
    #expect(["a+b", "b+a"].contains(mine.log))
  }

  @Test("merge: a closure that throws ends the write as a conflict, and the next write proceeds")
  func closuresThatThrow() async throws {
    struct Strict: Model {
      @Field(policy: .merge { _, _, _ in throw GivingUp() }) var log = ""
      @Field var other = 0
    }
    let mine = try await left.share(Strict.self, id: "strict", timeout: .seconds(20))
    let theirs = try await right.share(Strict.self, id: "strict", timeout: .seconds(20))
    let outcomes = [await (try mine.$log.write("a")).outcome, await (try theirs.$log.write("b")).outcome]
    #expect(outcomes.contains { if case .committed = $0 { true } else { false } })
    #expect(await eventually { mine.log == theirs.log && left.status.unconfirmed + right.status.unconfirmed == 0 })
    theirs.other = 1
    mine.log = mine.log + "!"
    #expect(await eventually { mine.other == 1 && theirs.log.hasSuffix("!") })
  }

  @Test("merge: two closures that never agree are given up")
  func closuresThatNeverSettle() async throws {
    struct Wild: Model {
      @Field(policy: .merge { _, mine, theirs in theirs + mine }) var number = 0
    }
    let mine = try await left.share(Wild.self, id: "wild", timeout: .seconds(20))
    let theirs = try await right.share(Wild.self, id: "wild", timeout: .seconds(20))
    var writes: [PendingWrite] = []
    for number in 1...50 {
      writes.append(try mine.$number.write(number * 1_000))
      writes.append(try theirs.$number.write(number))
    }
    for write in writes { _ = await write.outcome }
    #expect(await eventually { mine.number == theirs.number })
  }

  @Test("merge: a closure slower than other writers is asked at most 64 times, then the write is a conflict")
  func closuresThatAreSlow() async throws {
    struct Slow: Model {
      static let askings = Protected(0)
      @Field(
        policy: .merge { _, mine, theirs in
          Slow.askings.withLock { $0 += 1 }
          // Slow enough for others to be first.
          let end = ContinuousClock.now + .milliseconds(10)
          while ContinuousClock.now < end {}
          return mine + theirs
        }) var number = 0
    }
    struct Quick: Model {
      @Field var number = 0
    }
    let queue = DispatchQueue(label: "slow")
    let mine = try await left.share(Slow.self, id: "slow", on: .queue(queue), timeout: .seconds(20))
    let theirs = try await right.share(Quick.self, id: "slow", on: .direct, timeout: .seconds(20))
    let writer = Task.detached {
      var number = 0
      while !Task.isCancelled {
        number += 1
        theirs.number = number
        try? await Task.sleep(for: .milliseconds(1))
      }
    }
    #expect(await eventually { mine.number > 3 })
    let write = try mine.$number.write(-1)
    let outcome = await write.outcome(timeout: .seconds(30))
    writer.cancel()
    #expect(Slow.askings.withLock { $0 } <= 64)
    switch outcome {
    case .committed, .conflict: break
    default: Issue.record("\(String(describing: outcome))")
    }
    #expect(await eventually { mine.number == theirs.number && left.status.unconfirmed == 0 })
  }

  @Test("a storm: of fifty peers that add to one field by comparison every addition counts once")
  func storm() async throws {
    let hub = hub
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask {
          let note = try await Peer(name: "p\(number)", hub: .inProcess(hub)).share(
            Storm.self, id: "storm", on: .direct, timeout: .seconds(20))
          for _ in 0..<4 { try await note.$level.update { $0 + 1 } }
        }
      }
      try await group.waitForAll()
    }
    let seen = try await left.share(Storm.self, id: "storm", on: .direct, timeout: .seconds(20))
    #expect(await eventually { seen.level == 200 })
  }

  @Test("several fields of one change keep their policies and are one commit")
  func changes() async throws {
    let (mine, theirs) = try await notes()
    let write = try mine.change {
      $0.body = "one"
      $0.count += 5
    }
    theirs.body = "two"
    _ = try await write.committed
    #expect(await eventually { mine.body == theirs.body && mine.count == 5 && theirs.count == 5 })
    #expect(Set(mine.body.split(separator: " ")) == ["one", "two"])
  }
}
