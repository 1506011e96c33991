import Testing

@testable import BindingPeer

@Suite("A map with sorted keys")
struct SortedArrayMapTests {
  /// The map beside a dictionary with the same content, compared after each step.
  private struct Both {
    var ordered = SortedArrayMap<Int, String>()
    var plain: [Int: String] = [:]

    mutating func put(_ key: Int, _ value: String) {
      ordered[key] = value
      plain[key] = value
    }

    mutating func remove(_ key: Int) {
      #expect(ordered.removeValue(forKey: key) == plain.removeValue(forKey: key))
    }

    func check() {
      let keys = plain.keys.sorted()
      #expect(Array(ordered.keys) == keys && Array(ordered.elements) == keys.map { plain[$0] })
      #expect(ordered.count == keys.count && ordered.isEmpty == keys.isEmpty)
      #expect(ordered.firstKey == keys.first && ordered.lastKey == keys.last)
      for (index, key) in keys.enumerated() {
        #expect(ordered[key] == plain[key])
        #expect(ordered.lastKey(before: key) == (index > 0 ? keys[index - 1] : nil))
      }
      #expect(ordered[-1] == nil && ordered[1_000_000] == nil)
    }
  }

  @Test("a map contains what a dictionary does after random insertions and removals", arguments: 0..<20)
  func random(seed: UInt64) {
    var (both, generator) = (Both(), SeededGenerator(seed: seed))
    // Ascending as writes are, with late ones between; removed from the front as they are decided, and from
    // anywhere.
    for step in 0..<600 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<4: both.put(step * 2, "\(step)")
      case 4: both.put(Int.random(in: 0...step * 2, using: &generator), "late \(step)")
      case 5..<8: if let key = both.ordered.firstKey { both.remove(key) }
      case 8: if let key = both.plain.keys.sorted().randomElement(using: &generator) { both.remove(key) }
      default: both.remove(Int.random(in: 0...step * 2, using: &generator))
      }
      if step % 20 == 0 { both.check() }
    }
    both.check()
  }

  @Test("the first element stays while many come and go after it, without accumulating gaps")
  func gaps() {
    var both = Both()
    both.put(0, "oldest")
    for key in 1...2_000 {
      both.put(key, "\(key)")
      if key > 2 { both.remove(key - 1) }
    }
    both.check()
    both.remove(0)
    both.check()
    both.ordered.removeAll()
    #expect(both.ordered.isEmpty && both.ordered.firstKey == nil)
  }

  @Test("an element can be changed in place")
  func inPlace() {
    var ordered = SortedArrayMap<Int, [Int]>()
    for key in 0..<4 { ordered[key] = [key] }
    ordered[1] = nil
    for key in [0, 2, 3] {
      guard let index = ordered.index(of: key) else {
        Issue.record("\(key) is missing")
        continue
      }
      ordered[at: index].append(10)
    }
    #expect(Array(ordered.elements) == [[0, 10], [2, 10], [3, 10]])
  }
}

@Suite("A map for a few fields")
struct ByFieldTests {
  @Test("one and many fields are kept in name order, and the first of two values for a field counts")
  func all() {
    var fields = ByField<Int>()
    #expect(fields["a"] == nil && fields.sorted.isEmpty)
    for (field, value) in [("b", 1), ("c", 2), ("a", 3), ("b", 4)] { fields[field] = value }
    #expect(fields.sorted.map { "\($0.field)\($0.value)" } == ["a3", "b4", "c2"])
    fields["b"] = nil
    fields["c"] = 5
    fields["d"] = 6
    #expect(fields["b"] == nil && fields.sorted.map { "\($0.field)\($0.value)" } == ["a3", "c5", "d6"])
    fields["b"] = 7
    #expect(fields["b"] == 7 && fields.sorted.count == 4)
    #expect(ByField([("x", 1), ("x", 2)])["x"] == 1)
  }
}
