import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct Counted: Model {
  @Field var count = 0
}

/// A later release, which means something else by the same name.
private struct Named: Model {
  @Field var count = "one"
}

/// What a field falls back to where what stands cannot be shown.
@Suite("What was refused shows no longer")
struct FallbackTests {
  private let left: Peer
  private let right: Peer

  init() throws {
    let hub = try Hub.embedded()
    left = Peer(name: "left", hub: hub)
    right = Peer(name: "right", hub: hub)
  }

  private func share<Shared: Model>(_ type: Shared.Type, by peer: Peer) async throws -> Shared {
    try await peer.share(type, id: "lamp", on: .direct, patience: .seconds(20))
  }

  /// The earlier program, once the other peer sees its description.
  private func described() async throws -> Counted {
    let counted = try await share(Counted.self, by: left)
    _ = try await counted.$count.write(7).committed
    let seen = try right.model("lamp")
    #expect(await eventually { seen["@description"] != nil })
    return counted
  }

  /// Both programs, and the later one again at the other's peer, in a model whose description leaves all free: each may
  /// write what the other cannot read.
  private func undescribed() async throws -> (counted: Counted, named: Named, other: Named) {
    let raw = try left.model("lamp")
    let free = FieldOperation(.set, "@description", try FieldValue(text: #"{"fields":{}}"#))
    _ = try await raw.write(Proposal(operations: [free])).committed
    let counted = try await share(Counted.self, by: left)
    _ = try await counted.$count.write(7).committed
    return (counted, try await share(Named.self, by: right), try await share(Named.self, by: left))
  }

  @Test("a refused write goes, also where what stands is of another type: the default shows")
  func refusedOverAnotherType() async throws {
    let counted = try await described()
    let named = try await share(Named.self, by: right)
    #expect(named.count == "one")
    let told = Protected<[String]>([])
    let token = named.$count.observe { value in told.withLock { $0.append(value) } }
    let write = try named.$count.write("two")
    let outcome = await write.outcome
    guard case .refused = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(await eventually { named.count == "one" })
    #expect(await eventually { told.withLock { $0.last } == "one" })
    #expect(counted.count == 7)
    token.cancel()
  }

  @Test("every place of the field in the program falls back, also one that was tied to it meanwhile")
  func refusedInEachPlace() async throws {
    _ = try await described()
    let (first, second) = (try await share(Named.self, by: right), try await share(Named.self, by: right))
    let write = try first.$count.write("two")
    let third = try await share(Named.self, by: right)
    _ = await write.outcome
    #expect(await eventually { [first, second, third].allSatisfy { $0.count == "one" } })
  }

  @Test("what was committed here stays, where another type comes after it")
  func committedStays() async throws {
    let (counted, named, _) = try await undescribed()
    _ = try await named.$count.write("two").committed
    _ = try await counted.$count.write(8).committed
    #expect(await eventually { if case .problem(.mismatch) = named.$count.status { true } else { false } })
    #expect(named.count == "two")
  }

  @Test("the last good value that came from another stays, and nothing that was refused after it")
  func lastGoodStays() async throws {
    let (counted, named, other) = try await undescribed()
    _ = try await other.$count.write("good").committed
    #expect(await eventually { named.count == "good" })
    _ = try await counted.$count.write(8).committed
    #expect(await eventually { if case .problem(.mismatch) = named.$count.status { true } else { false } })
    // Its condition holds for nothing that stands.
    let raw = try right.model("lamp")
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
