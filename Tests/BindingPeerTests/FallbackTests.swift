import BindbusTesting
import BindingModel
import BindingPeer
import Testing

private struct Counted: Model {
  @Field var count = 0
}

/// A later release that gives the same name another type.
private struct Named: Model {
  @Field var count = "one"
}

/// What a field falls back to where the current value cannot be shown.
@Suite("A refused value no longer shows")
struct FallbackTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  /// The earlier program, once the other peer sees its description.
  private func described() async throws -> Counted {
    let counted = try await peers.share(Counted.self, by: peers.left)
    _ = try await counted.$count.write(7).committed
    let seen = try peers.right.model("lamp")
    #expect(await eventually { seen["@description"] != nil })
    return counted
  }

  /// Both programs, and the later one again at the other's peer, in a model whose description leaves all fields
  /// free: each may write what the other cannot read.
  private func undescribed() async throws -> (counted: Counted, named: Named, other: Named) {
    let counted = try await peers.share(Counted.self, by: peers.left)
    _ = try await counted.$count.write(7).committed
    let (named, other) = (
      try await peers.share(Named.self, by: peers.right), try await peers.share(Named.self, by: peers.left)
    )
    try await peers.narrow(to: #"{"fields":{}}"#, by: peers.left)
    return (counted, named, other)
  }

  @Test("a refused write is reverted to the default where the current value is of another type")
  func refusedOverAnotherType() async throws {
    let counted = try await described()
    let named = try await peers.share(Named.self, by: peers.right)
    #expect(named.count == "one")
    let received = Protected<[String]>([])
    let token = named.$count.observe { value in received.withLock { $0.append(value) } }
    let write = try named.$count.write("two")
    let outcome = await write.outcome
    guard case .refused = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(await eventually { named.count == "one" })
    #expect(await eventually { received.withLock { $0.last } == "one" })
    #expect(counted.count == 7)
    token.cancel()
  }

  @Test("every reference to the field falls back, also one created meanwhile")
  func refusedInEachPlace() async throws {
    _ = try await described()
    let (first, second) = (
      try await peers.share(Named.self, by: peers.right), try await peers.share(Named.self, by: peers.right)
    )
    let write = try first.$count.write("two")
    let third = try await peers.share(Named.self, by: peers.right)
    _ = await write.outcome
    #expect(await eventually { [first, second, third].allSatisfy { $0.count == "one" } })
  }

  @Test("a value committed here stays when one of another type follows it")
  func committedStays() async throws {
    let (counted, named, _) = try await undescribed()
    _ = try await named.$count.write("two").committed
    _ = try await counted.$count.write(8).committed
    #expect(await eventually { if case .problem(.cannotShow) = named.$count.status { true } else { false } })
    #expect(named.count == "two")
  }

  @Test("the last good value of another peer stays, and no refused value replaces it")
  func lastGoodStays() async throws {
    let (counted, named, other) = try await undescribed()
    _ = try await other.$count.write("good").committed
    #expect(await eventually { named.count == "good" })
    _ = try await counted.$count.write(8).committed
    #expect(await eventually { if case .problem(.cannotShow) = named.$count.status { true } else { false } })
    // Its condition holds for no present value.
    let raw = try peers.right.model("lamp")
    let late = Condition(field: "count", epoch: raw.version.epoch, version: 1)
    let bad = FieldOperation(.set, "count", try FieldValue(text: "\"bad\""))
    let write = try raw.write(Proposal(operations: [bad], conditions: [late]))
    let outcome = await write.outcome
    guard case .conflict = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(await eventually { named.count == "good" })
  }
}
