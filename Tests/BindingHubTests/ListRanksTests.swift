import BindingProtocol
import Foundation
import Testing

@testable import BindingHub

/// Ranks and the order of lists, against a plain array.
@Suite struct ListRanksTests {
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  @Test(
    "any sequence of operations gives what it makes of an array, whatever room there is between ranks",
    arguments: [1, 2, 5, 1 << 24] as [Int64], 0..<3)
  mutating func arrays(_ gap: Int64, _ seed: Int) {
    var bench = ListBench(gap: gap)
    var numbers = Numbers(state: UInt64(seed) &+ UInt64(gap))
    var expected: [String] = []
    func put(_ id: String, _ after: String?, _ before: String?) {
      expected.removeAll { $0 == id }
      if let after, let index = expected.firstIndex(of: after) { return expected.insert(id, at: index + 1) }
      expected.insert(id, at: before.flatMap { expected.firstIndex(of: $0) } ?? expected.count)
    }
    for step in 0..<150 {
      var operations: [WireOperation] = []
      for part in 0..<Int.random(in: 1...12, using: &numbers) {
        let (after, before) = (expected.randomElement(using: &numbers), expected.randomElement(using: &numbers))
        let id = expected.randomElement(using: &numbers)
        switch Int.random(in: 0..<10, using: &numbers) {
        case 0..<6:
          let fresh = "e\(step)-\(part)"
          operations.append(.insert(fresh, after: after, before: before))
          put(fresh, after, before)
        case 6..<8:
          guard let id, after != id, before != id else { continue }
          operations.append(.move(id, after: after, before: before))
          put(id, after, before)
        default:
          guard let id else { continue }
          operations.append(.remove(id))
          expected.removeAll { $0 == id }
        }
      }
      let outcome = bench.write(operations)
      if case .refused(let refusal)? = outcome { Issue.record("step \(step): \(refusal)") }
      if step % 10 == 0 { #expect(bench.ids() == expected, "step \(step)") }
    }
    #expect(bench.ids() == expected)
  }

  @Test("an element that moves is written also where its neighbours' new ranks leave it the same one")
  mutating func sameRank() throws {
    var bench = ListBench(gap: 1)
    let ids = ["a", "b", "c", "d", "e"]
    bench.write(ids.map { .insert($0) })
    var numbers = Numbers(state: 7)
    var kept = 0
    for _ in 0..<300 {
      let id = try #require(ids.randomElement(using: &numbers))
      let anchor = try #require(ids.randomElement(using: &numbers))
      guard id != anchor else { continue }
      let before = bench.hub.read().values["cues@\(id)"]
      guard case .committed(_, let version) = bench.write(.move(id, after: anchor)) else { continue }
      let now = bench.hub.read()
      #expect(now.fields["cues@\(id)"]?.version == version)
      if now.values["cues@\(id)"] == before { kept += 1 }
    }
    #expect(kept > 0, "some moves change the neighbours' ranks alone")
  }

  @Test("a used-up gap changes the ranks of at most 500 neighbours, written in the same commit")
  mutating func neighbours() {
    var bench = ListBench(gap: 1 << 24)
    bench.write(.insert("first"))
    var most = 0
    for batch in 0..<20 {
      bench.write((0..<100).map { .insert("t\(batch)-\($0)") })
    }
    for index in 0..<600 {
      let operations: [WireOperation] = [.insert("m\(index)", after: "first")]
      let received = bench.hub.send(.ben, .propose([.of(ProposalNumber(index + 1), operations)]))
      most = max(most, received.commits().flatMap(\.commits).map(\.changes.count).max() ?? 0)
    }
    #expect(most > 3 && most <= 502, "\(most) fields changed")
    let ids = bench.ids()
    #expect(ids.prefix(601) == (["first"] + (0..<600).reversed().map { "m\($0)" })[...])
  }

  @Test("elements find room at one place for as long as a model has fields")
  func onePlace() {
    let spacing = RankSpacing(gap: 1 << 24)
    var fields = FieldSlots()
    func entry(_ rank: Int64) -> ListOrder.Entry { .init(rank: rank, field: fields.add("l@\(fields.count)")) }
    let (first, last) = (entry(1 << 40), entry(1 << 40 + 1 << 24))
    var order = ListOrder([first, last], fields)
    var (most, moved) = (0, 0)
    for _ in 0..<20_000 {
      let field = fields.add("l@\(fields.count)")
      if let rank = spacing.rank(at: 1, in: order) {
        order.set(field, to: rank, fields)
        continue
      }
      guard let found = spacing.renumbering(around: 1, in: order, bytes: { _ in 60 }) else {
        Issue.record("no room after \(order.count) elements")
        return
      }
      order.renumber(found.window) { found.rank($0) }
      order.set(field, to: found.newRank, fields)
      (most, moved) = (max(most, found.window.count), moved + found.window.count)
    }
    #expect(zip(order.entries, order.entries.dropFirst()).allSatisfy { $0.rank < $1.rank })
    #expect(most <= 4_096, "\(most) neighbours at once, \(moved) in all")
  }

  @Test("big elements are spread a few at a time, so that a commit stays small")
  func bigElements() {
    let spacing = RankSpacing(gap: 4)
    var fields = FieldSlots()
    let entries = (0..<64).map { ListOrder.Entry(rank: Int64($0 * 4 + 1), field: fields.add("l@\($0)")) }
    let order = ListOrder(entries, fields)
    let found = spacing.renumbering(around: 10, in: order, bytes: { _ in 60_000 })
    #expect((found?.window.count ?? 99) <= 4)
    let full = ListOrder(entries.map { .init(rank: $0.rank / 4 + 1_000, field: $0.field) }, fields)
    #expect(spacing.renumbering(around: 30, in: full, bytes: { _ in 60_000 }) == nil, "none without moving too much")
  }

  @Test("a place without room and within the limits is refused, and changes nothing")
  mutating func refused() {
    var bench = ListBench(gap: 1)
    let big = "{\"a\":\"\(String(repeating: "x", count: 60_000))\"}"
    bench.write(.set("@description", #"{"fields":{"cues":{"policy":"list"}}}"#))
    for index in 0..<20 { bench.write(.insert("b\(index)", big)) }
    let outcome = bench.write(.insert("x", after: "b10"))
    #expect(outcome?.refusal == .modelFull)
    #expect(ListBench.text(outcome)?.contains("put elements elsewhere") == true)
    #expect(bench.ids() == (0..<20).map { "b\($0)" })
    #expect(bench.write(.insert("y")) == .committed(23))
  }

  /// How many elements are inserted and removed: BINDBUS_LIST_EDITS sets it, such as 1000000.
  private static let edits = ProcessInfo.processInfo.environment["BINDBUS_LIST_EDITS"].flatMap { Int($0) } ?? 20_000

  @Test("fresh ids for ever: names are given back, and neither fields nor order grow", arguments: [edits])
  mutating func fresh(_ count: Int) {
    var bench = ListBench { $0.limits.maxModelFields = 400 }
    bench.write(.insert("kept", "7"))
    for first in stride(from: 0, to: count, by: 50) {
      let ids = (0..<50).map { "f\(first + $0)" }
      for operations in [ids.map { WireOperation.insert($0, before: "kept") }, ids.map { WireOperation.remove($0) }] {
        bench.write(operations)
        if bench.hub.machine.hasOpenSession(Speaker.ann.session) { continue }
        // The fields have new numbers.
        bench.hub.hello(.ann)
        let number = bench.hub.machine.hub.models[0].writers.lastStored(of: Speaker.ann.identity.tag) + 1
        bench.hub.join(.ann, Join(request: 9, model: "lamp", unacknowledged: number), topic: bench.topic)
      }
    }
    #expect(bench.hub.counters.refusals.isEmpty)
    #expect(bench.hub.machine.hub.models[0].fields.count < 400)
    #expect(bench.hub.machine.hub.models[0].order(of: "cues").count == 1)
    #expect(bench.ids() == ["kept"])
    #expect(bench.hub.counters.renumberedModels > count / 500)
  }
}
