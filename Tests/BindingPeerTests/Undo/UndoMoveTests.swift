import BindingProtocol
import Testing

@testable import BindingPeer

/// Undo of moves where the gap between ranks is used up: the hub gives the neighbours other ranks.
@Suite("Undo of moves")
struct UndoMoveTests {
  /// A session that records a list of three elements: `cues@1` to `cues@3` have the ids 2 to 4.
  private var bench = PeerBench()
  private static let names = NamesRun(first: 5)

  init() {
    bench.capabilities = [Capability.lists]
    let values = [
      ("@description", #"{"fields":{"cues":{"policy":"list"}}}"#), ("cues", #"{"$list":3}"#),
      ("cues@1", Self.element(1)), ("cues@2", Self.element(2)), ("cues@3", Self.element(3)),
    ]
    bench.live(version: 5, values.map { Entry(name: $0.0, value: $0.1, version: 5) })
    bench.session.recordUndo(of: "lamp", now: bench.now)
  }

  private static func element(_ rank: Int) -> String { #"{"at":\#(rank),"is":"cue"}"# }

  private static func move(_ id: Int, after: Int) -> FieldOperation {
    FieldOperation(.move, "cues@\(id)", ListOperand(after: "\(after)").value)
  }

  /// Moves the second element behind the third, which gets another rank in its stead.
  private mutating func moveSecond() throws {
    let number = try #require(try bench.make(Proposal(operations: [Self.move(2, after: 3)])).numbers.first)
    commit(number, as: 6, ranks: [3: 2, 4: 1])
  }

  private mutating func commit(_ number: ProposalNumber, as version: Version, ranks: [FieldID: Int]) {
    var changes = ranks.mapValues { Optional(Self.element($0)) }
    changes[1] = #"{"$list":3}"#
    bench.hub(bench.commits(after: version - 1, [changes], own: [0: number], names: Self.names))
  }

  @Test("a move that left the element its rank is taken back and done again")
  mutating func sameRank() throws {
    try moveSecond()
    let (start, undo) = try bench.restore()
    guard case .written(_, ["cues@2"], _) = start else { return #expect(Bool(false), "\(start)") }
    #expect(undo.proposals.map(\.operations) == [[Self.sent(.move, Self.between(1, 3))]])
    commit(try #require(undo.numbers.first), as: 7, ranks: [3: 2, 4: 3])
    #expect(bench.undoes == nil && bench.redoes == ["cues@2"])
    let (_, redo) = try bench.restore(redoes: true)
    #expect(redo.proposals.map(\.operations) == [[Self.sent(.move, Self.between(3, nil))]])
    commit(try #require(redo.numbers.first), as: 8, ranks: [3: 2, 4: 1])
    #expect(bench.undoes == ["cues@2"] && bench.redoes == nil)
  }

  @Test("an element that a folded commit left where it stood is not taken to be changed since")
  mutating func folded() throws {
    let operations = [FieldOperation(.delete, "cues@1"), Self.move(3, after: 2)]
    let number = try #require(try bench.make(Proposal(operations: operations)).numbers.first)
    bench.lose()
    bench.open()
    let request = bench.welcome(knew: true).request
    let caught = bench.hub(
      bench.assigned(request), bench.joined(request, version: 7, lastDecided: number, follows: .delta),
      bench.chunk(
        request, from: 5, version: 7,
        [
          Entry(name: "cues@1", value: nil, version: 6, origin: PeerBench.me, number: number),
          Entry(name: "cues", value: #"{"$list":2}"#, version: 6, origin: PeerBench.me, number: number),
          Entry(name: "level", value: "1", version: 7),
        ], lastDecided: number))
    for question in caught.past {
      bench.session.answer(question, in: "lamp", with: .value(json(Self.element(1)), version: 5))
    }
    let (start, undo) = try bench.restore()
    guard case .written(_, ["cues@1", "cues@3"], _) = start else { return #expect(Bool(false), "\(start)") }
    #expect(undo.proposals.map { $0.operations.map(\.verb) } == [[.insert]])
  }

  private static func sent(_ verb: Verb, _ operand: FieldValue) -> WireOperation {
    WireOperation(verb: verb, field: .id(3), value: operand)
  }

  private static func between(_ after: Int, _ before: Int?) -> FieldValue {
    ListOperand(after: "\(after)", before: before.map { "\($0)" }).value
  }

  @Test("an element that was replaced only is not moved when that is taken back")
  mutating func replaced() throws {
    let replace = FieldOperation(.replace, "cues@2", json("\"other\""))
    let number = try #require(try bench.make(Proposal(operations: [replace])).numbers.first)
    bench.hub(bench.commits(after: 5, [[3: #"{"at":2,"is":"other"}"#]], own: [0: number], names: Self.names))
    // Another peer moves the third element in front of it.
    bench.hub(bench.commits(after: 6, [[4: #"{"at":1,"is":"cue"}"#]], names: Self.names))
    let (_, undo) = try bench.restore()
    #expect(undo.proposals.map(\.operations) == [[Self.sent(.replace, json("\"cue\""))]])
  }
}
