import Testing

@testable import BindingPeer

@Suite("The difference between two lists")
struct ListDifferenceTests {
  private func steps(
    _ old: String, _ new: String, changed: Set<String> = []
  ) throws(ListError) -> [ListDifference.Step] {
    let (old, new) = (old.map(String.init), new.map(String.init))
    return try ListDifference.steps(from: old, to: new) { _, index in changed.contains(new[index]) }
  }

  private func apply(_ steps: [ListDifference.Step], _ old: [String], _ new: [String]) -> [String] {
    var list = PlainList(old)
    for step in steps { if let placement = step.placement(in: new) { list.apply(placement) } }
    return list.ids
  }

  @Test("an equal list takes no step")
  func equal() throws {
    #expect(try steps("abc", "abc").isEmpty)
    #expect(try steps("", "").isEmpty)
  }

  @Test("an appended element names its predecessor alone")
  func append() throws {
    #expect(try steps("ab", "abc") == [.insert(index: 2, after: "b", before: nil)])
    #expect(try steps("", "a") == [.insert(index: 0, after: nil, before: nil)])
  }

  @Test("an element that is inserted names both neighbours, at the front its successor")
  func insert() throws {
    #expect(try steps("ac", "abc") == [.insert(index: 1, after: "a", before: "c")])
    #expect(try steps("bc", "abc") == [.insert(index: 0, after: nil, before: "b")])
  }

  @Test("an element dragged to the other end is one move, whichever end")
  func drag() throws {
    #expect(try steps("abcde", "bcdea") == [.move(index: 4, after: "e", before: nil)])
    #expect(try steps("abcde", "eabcd") == [.move(index: 0, after: nil, before: "a")])
  }

  @Test("two neighbours that change places are one move")
  func swap() throws { #expect(try steps("abcd", "acbd").count == 1) }

  @Test("a reversed list keeps one element where it stands")
  func reverse() throws {
    let steps = try steps("abcdef", "fedcba")
    #expect(steps.count == 5 && steps.allSatisfy(\.isMove))
  }

  @Test("removals name no place, and an emptied list is removals alone")
  func removals() throws {
    #expect(try steps("abc", "b") == [.remove(id: "a"), .remove(id: "c")])
    #expect(try steps("abc", "").allSatisfy(\.isRemoval))
  }

  @Test("a changed element is replaced where it stands, one that moves too is moved and replaced")
  func replace() throws {
    #expect(try steps("abc", "abc", changed: ["b"]) == [.replace(index: 1)])
    #expect(
      try steps("abc", "bca", changed: ["a", "c"])
        == [.replace(index: 1), .move(index: 2, after: "c", before: nil), .replace(index: 2)])
  }

  @Test("an element with another id in the same place is a removal and an insertion, no replacement")
  func exchange() throws {
    #expect(try steps("abc", "axc") == [.remove(id: "b"), .insert(index: 1, after: "a", before: "c")])
  }

  @Test(
    "an id that stands twice is refused, wherever the two stand",
    arguments: [
      ("abc", "abcb", "b"), ("abc", "aabc", "a"), ("", "xx", "x"), ("abc", "abxcx", "x"), ("abcd", "bab", "b"),
    ])
  func duplicates(_ old: String, _ new: String, _ id: String) {
    #expect(throws: ListError.duplicateID(id)) { try steps(old, new) }
  }

  @Test("many new ids beside a long list are found to be twice in it")
  func manyFresh() {
    let old = (0..<100).map(String.init)
    let new = old + (200..<300).map(String.init) + ["50"]
    #expect(throws: ListError.duplicateID("50")) {
      _ = try ListDifference.steps(from: old, to: new) { _, _ in false }
    }
  }

  @Test("applied to the old list the steps give the new one, with the least of each kind", arguments: 0..<40)
  func property(_ seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let pool = (0..<Int.random(in: 1...24, using: &chance)).map { "n\($0)" }
      let old = Array(pool.shuffled(using: &chance).prefix(Int.random(in: 0...pool.count, using: &chance)))
      var new = old
      if Bool.random(using: &chance) { new = Array(pool.shuffled(using: &chance).prefix(old.count)) }
      for _ in 0..<Int.random(in: 0...4, using: &chance) where !new.isEmpty {
        let element = new.remove(at: Int.random(in: 0..<new.count, using: &chance))
        if Bool.random(using: &chance) { new.insert(element, at: Int.random(in: 0...new.count, using: &chance)) }
      }
      let changed = Set(pool.filter { _ in Int.random(in: 0..<3, using: &chance) == 0 })
      let target = new
      let steps = try ListDifference.steps(from: old, to: new) { _, index in changed.contains(target[index]) }
      #expect(apply(steps, old, new) == new, "\(old) → \(new): \(steps)")
      let kept = new.compactMap { old.firstIndex(of: $0) }
      #expect(steps.count(where: \.isMove) == kept.count - PlainList.longestRun(kept), "\(old) → \(new): \(steps)")
      #expect(steps.count(where: \.isInsertion) == new.count - kept.count)
      #expect(steps.count(where: \.isRemoval) == old.count - kept.count)
      let replaced = steps.compactMap { if case .replace(let index) = $0 { new[index] } else { nil } }
      #expect(replaced.sorted() == new.filter { old.contains($0) && changed.contains($0) }.sorted())
    }
  }

  @Test("10,000 elements in another order are compared, and their longest run stays")
  func long() throws {
    var chance = SeededGenerator(seed: 7)
    let old = (0..<10_000).map(String.init)
    let new = Array(old[5_000...] + old[..<5_000])
    #expect(try ListDifference.steps(from: old, to: new) { _, _ in false }.count == 5_000)
    let shuffled = old.shuffled(using: &chance)
    let steps = try ListDifference.steps(from: old, to: shuffled) { _, _ in false }
    var order = ListOverlay.order(of: old, after: steps.compactMap { $0.placement(in: shuffled) })
    #expect(order == shuffled)
    order = ListOverlay.order(of: old, after: [])
    #expect(order == old)
  }
}
