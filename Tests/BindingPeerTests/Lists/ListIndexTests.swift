import BindingProtocol
import Testing

@testable import BindingPeer

/// A list as fields and as an index, changed together.
private struct Bench {
  var fields: [String: FieldValue] = [:]
  var index = ListIndex("cues")
  var pending: [FieldOperation] = []
  private var touched: Set<String> = []

  mutating func commit(_ id: String, at rank: Int64?, _ element: String = "0") {
    fields[id] = rank.map { ListElements.value(at: $0, FieldValue(bytes: Array(element.utf8))) }
    touched.insert(id)
  }

  mutating func write(_ operation: FieldOperation) {
    pending.append(operation)
    touched.insert(Bench.id(operation))
  }

  mutating func settle() {
    let operation = pending.removeFirst()
    touched.insert(Bench.id(operation))
  }

  static func id(_ operation: FieldOperation) -> String {
    ListElements.parts(of: operation.field).map { String($0.id) } ?? ""
  }

  func shown(_ id: String) -> FieldValue? {
    var value = fields[id]
    for operation in pending where Bench.id(operation) == id {
      switch operation.verb {
      case .insert: value = value ?? operation.value.flatMap(PendingElement.inserted)
      case .replace: value = value.map { PendingElement.replacing($0, by: operation.value ?? $0) }
      case .delete: value = nil
      default: break
      }
    }
    return value
  }

  mutating func update() {
    var elements = PendingElements()
    for operation in pending { elements.add(operation, id: Bench.id(operation)) }
    let state = self
    index.update(touched.map { ($0, fields[$0]) }, elements, hasHead: !fields.isEmpty) { state.shown($0) }
    touched = []
  }

  /// What must show, found without the index.
  var expected: [(id: String, value: String)] {
    let committed = ListElements.ordered("cues", in: fields.map { (name: "cues@\($0.key)", value: $0.value) })
    var elements = PendingElements()
    for operation in pending { elements.add(operation, id: Bench.id(operation)) }
    var list = PlainList(committed.map(\.id))
    for placement in elements.placements { list.apply(placement) }
    return list.ids.compactMap { id in
      shown(id).flatMap(PendingElement.element).map { (id, $0.description) }
    }
  }

  var isRight: Bool {
    index.shown.ids == expected.map(\.id) && index.shown.values.map(\.description) == expected.map(\.value)
  }
}

@Suite("What a list shows")
struct ListIndexTests {
  private func insert(
    _ id: String, after: String? = nil, before: String? = nil, _ element: String = "1"
  ) -> FieldOperation {
    let element = FieldValue(bytes: Array(element.utf8))
    return FieldOperation(.insert, "cues@\(id)", ListOperand(after: after, before: before, element: element).value)
  }

  private func move(_ id: String, after: String? = nil, before: String? = nil) -> FieldOperation {
    FieldOperation(.move, "cues@\(id)", ListOperand(after: after, before: before).value)
  }

  private func bench() -> Bench {
    var bench = Bench()
    for (rank, id) in ["a", "b", "c", "d"].enumerated() { bench.commit(id, at: Int64(rank + 1) * 1_000) }
    bench.update()
    return bench
  }

  @Test("elements stand by rank, of one rank by the bytes of their ids, however they were committed")
  func ranks() {
    var bench = bench()
    bench.commit("Z", at: 2_000)
    bench.commit("a", at: 9_000)
    bench.commit("c", at: nil)
    bench.update()
    #expect(bench.index.shown.ids == ["Z", "b", "d", "a"])
    #expect(bench.isRight)
  }

  @Test("a field whose value is no element is passed over")
  func malformed() {
    var bench = bench()
    for (id, text) in [("x", "5"), ("y", "{\"at\":0,\"is\":1}"), ("z", "{\"at\":1.5,\"is\":1}"), ("b", "{\"is\":2}")] {
      bench.fields[id] = FieldValue(bytes: Array(text.utf8))
      bench.commitTouched(id)
    }
    bench.update()
    #expect(bench.index.shown.ids == ["a", "c", "d"])
  }

  @Test("an own insertion shows after its first anchor, else before its second, else at the end")
  func anchors() {
    for (after, before, order) in [
      ("b", "c", "abxcd"), ("gone", "c", "abxcd"), ("gone", "gone", "abcdx"), (nil, "a", "xabcd"), (nil, nil, "abcdx"),
      ("b", "a", "abxcd"),
    ] as [(String?, String?, String)] {
      var bench = bench()
      bench.write(insert("x", after: after, before: before))
      bench.update()
      #expect(bench.index.shown.ids.joined() == order)
      #expect(bench.isRight && bench.index.shown.isOurs)
    }
  }

  @Test("own operations apply in their order: one may stand by another, and a removed element comes back by its id")
  func order() {
    var bench = bench()
    bench.write(insert("x", after: "a"))
    bench.write(insert("y", after: "x"))
    bench.write(move("a", after: "y"))
    bench.write(FieldOperation(.delete, "cues@d"))
    bench.write(insert("d", before: "x", "9"))
    bench.update()
    #expect(bench.index.shown.ids == ["d", "x", "y", "a", "b", "c"])
    #expect(bench.index.shown.values[0].description == "9")
  }

  @Test("what will be a conflict shows nothing: an insertion of a present id, a move or replacement of an absent one")
  func conflicts() {
    var bench = bench()
    bench.write(insert("b", after: "d", "9"))
    bench.write(move("x", after: "a"))
    bench.write(FieldOperation(.replace, "cues@x", FieldValue(json: 9)))
    bench.update()
    #expect(bench.index.shown.ids == ["a", "b", "c", "d"])
    #expect(bench.index.shown.values.allSatisfy { $0.description == "0" })
  }

  @Test("a pending move stays over what others commit, and goes with its outcome")
  func overOthers() {
    var bench = bench()
    bench.write(move("a", after: "c"))
    bench.update()
    bench.commit("c", at: 500)
    bench.update()
    #expect(bench.index.shown.ids == ["c", "a", "b", "d"])
    bench.settle()
    bench.update()
    #expect(bench.index.shown.ids == ["c", "a", "b", "d"] && !bench.index.shown.isOurs)
  }

  @Test("whatever is committed and pending, the index shows what assembling it anew would", arguments: 0..<30)
  func property(_ seed: UInt64) {
    var chance = SeededGenerator(seed: seed)
    var bench = Bench()
    let pool = (0..<20).map { "e\($0)" }
    for _ in 0..<120 {
      for _ in 0..<(Int.random(in: 0..<12, using: &chance) == 0 ? 60 : Int.random(in: 0...3, using: &chance)) {
        let id = pool.randomElement(using: &chance) ?? ""
        let isGone = Int.random(in: 0..<4, using: &chance) == 0
        let rank = Int64.random(in: 1...30, using: &chance)
        let keeps = bench.fields[id].flatMap(ListElements.stored)?.rank
        bench.commit(
          id, at: isGone ? nil : Bool.random(using: &chance) ? keeps ?? rank : rank,
          "\(Int.random(in: 0..<99, using: &chance))")
      }
      let (id, after) = (pool.randomElement(using: &chance) ?? "", pool.randomElement(using: &chance))
      switch Int.random(in: 0..<10, using: &chance) {
      case 0: bench.write(insert(id, after: after, before: pool.randomElement(using: &chance)))
      case 1: bench.write(move(id, after: after))
      case 2: bench.write(FieldOperation(.delete, "cues@\(id)"))
      case 3: bench.write(FieldOperation(.replace, "cues@\(id)", FieldValue(json: 7)))
      default: if !bench.pending.isEmpty { bench.settle() }
      }
      bench.update()
      #expect(bench.isRight, "seed \(seed): \(bench.index.shown.ids) instead of \(bench.expected.map(\.id))")
    }
  }
}

extension Bench {
  fileprivate mutating func commitTouched(_ id: String) {
    let value = fields[id]
    commit(id, at: nil)
    fields[id] = value
  }
}
