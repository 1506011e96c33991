import BindingHub
import BindingProtocol
import Testing

/// A proposal that fails midway changes nothing that was decided before it.
@Suite struct RollbackTests {
  static let bad = WireOperation.set("z", "{")
  var bench = HubBench()

  init() { bench.live(.ann) }

  @Test("a proposal that fails midway changes none of its fields and takes no version")
  mutating func midway() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ann, 2, .set("a", "2"), .set("b", "2"), Self.bad)?.refusal == .malformedValue)
    #expect(bench.read().values == ["a": "1"])
    #expect(bench.write(.ann, 3, .set("c", "3")) == .committed(2))
  }

  @Test("names introduced by a failed proposal are unknown afterwards")
  mutating func names() throws {
    bench.propose(.ann, .of(1, [.set("a", "1"), Self.bad]), .of(2, [.set("b", "2")]))
    let received = bench.send(.ann, .propose([.of(3, [.set("a", "3")])]))
    #expect(received.commits().map(\.names) == [NamesRun(first: 1, names: ["a"])])
    #expect(bench.read().values == ["a": "3", "b": "2"])
  }

  @Test("a failed proposal keeps what an earlier proposal of the batch decided of a field")
  mutating func earlierInBatch() {
    bench.write(.ann, 1, .set("n", "1"))
    let outcomes = bench.propose(
      .ann, .of(2, [.set("n", "10")]), .of(3, [.set("n", "20"), Self.bad]), .of(4, [.of(.add, "n", "1")]))
    #expect(outcomes[2] == .committed(2))
    #expect(outcomes[3]?.refusal == .malformedValue)
    #expect(outcomes[4] == .committed(3))
    #expect(bench.read().values == ["n": "11"])
  }

  @Test("a failed proposal keeps a field that an earlier proposal of the batch made")
  mutating func madeInBatch() {
    let outcomes = bench.propose(
      .ann, .of(1, [.set("n", "10")]), .of(2, [.delete("n"), Self.bad]), .of(3, [.of(.add, "n", "1")]))
    #expect(outcomes[3] == .committed(2))
    #expect(bench.read().values == ["n": "11"])
  }

  @Test("a failed proposal keeps a deletion by an earlier proposal of the batch")
  mutating func deletedInBatch() {
    bench.write(.ann, 1, .set("n", "1"))
    let outcomes = bench.propose(
      .ann, .of(2, [.delete("n")]), .of(3, [.set("n", "20"), Self.bad]), .of(4, [.delete("n")]))
    #expect(outcomes[4] == .unchanged)
    #expect(bench.read().values.isEmpty)
  }

  @Test("a failed proposal leaves the versions of its fields: a condition on them still holds")
  mutating func versions() {
    bench.write(.ann, 1, .set("a", "1"))
    let outcomes = bench.propose(
      .ann, .of(2, [.set("a", "2"), Self.bad]),
      .of(3, [.set("a", "3")], conditions: [.unchanged("a", since: 1)]))
    #expect(outcomes[3] == .committed(2))
  }

  @Test("a field that was set and cleared by a failed proposal can be set afterwards")
  mutating func setAndCleared() {
    bench.write(.ann, 1, .set("a", "1"))
    let clear = WireOperation(verb: .clear, field: .id(0), value: nil)
    let outcomes = bench.propose(
      .ann, .of(2, [.set("a", "2"), clear, Self.bad]), .of(3, [.set("a", "3")]))
    #expect(outcomes[2]?.refusal != nil)
    #expect(outcomes[3] == .committed(2))
    #expect(bench.read().values == ["a": "3"])
  }

  @Test("a failed proposal does not count against the room for fields")
  mutating func room() {
    bench = HubBench { $0.limits.maxModelFields = 2 }
    bench.live(.ann)
    let outcomes = bench.propose(
      .ann, .of(1, [.set("a", "1"), .set("b", "1"), Self.bad]), .of(2, [.set("c", "1"), .set("d", "1")]))
    #expect(outcomes[1]?.refusal == .modelFull)
    #expect(outcomes[2] == .committed(1))
  }
}
