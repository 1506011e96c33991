import BindingProtocol

/// The order of one list's elements: fields by rank. Inserting and removing move the entries behind, 16 bytes each.
struct ListOrder {
  struct Entry {
    var rank: Int64
    var field: FieldID
  }
  /// Ascending by rank; entries of one rank by the bytes of their ids.
  private(set) var entries: [Entry] = []
  private var ranks: [FieldID: Int64] = [:]

  var count: Int { entries.count }

  func contains(_ field: FieldID) -> Bool { ranks[field] != nil }

  func rank(of field: FieldID) -> Int64? { ranks[field] }

  /// Makes the order of elements in any sequence.
  init(_ elements: [Entry], _ fields: FieldSlots) {
    entries = elements.sorted { ListOrder.precedes($0, $1, fields) }
    ranks.reserveCapacity(elements.count)
    for entry in elements { ranks[entry.field] = entry.rank }
  }

  private static func precedes(_ left: Entry, _ right: Entry, _ fields: FieldSlots) -> Bool {
    guard left.rank == right.rank else { return left.rank < right.rank }
    // Names of one list: they differ in the ids alone.
    return ListElements.precedes(fields[left.field].name, fields[right.field].name)
  }

  /// The index of the first entry that does not precede another one.
  private func lowerBound(_ entry: Entry, _ fields: FieldSlots) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if ListOrder.precedes(entries[middle], entry, fields) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func index(of field: FieldID, _ fields: FieldSlots) -> Int? {
    ranks[field].map { lowerBound(Entry(rank: $0, field: field), fields) }
  }

  /// Gives an element a rank, or takes it out.
  /// - Returns: the rank before.
  @discardableResult
  mutating func set(_ field: FieldID, to rank: Int64?, _ fields: FieldSlots) -> Int64? {
    let before = ranks[field]
    guard before != rank else { return before }
    if let index = index(of: field, fields) { entries.remove(at: index) }
    ranks[field] = rank
    if let rank {
      let entry = Entry(rank: rank, field: field)
      entries.insert(entry, at: lowerBound(entry, fields))
    }
    return before
  }

  /// Gives neighbours, which keep their order, other ranks.
  mutating func renumber(_ window: Range<Int>, _ rank: (Int) -> Int64) {
    for index in window {
      entries[index].rank = rank(index)
      ranks[entries[index].field] = entries[index].rank
    }
  }
}

/// How ranks are assigned: with gaps, in which later elements find room.
struct RankSpacing: Sendable {
  /// The distance of elements that are added at an end.
  var gap: Int64
  /// The most neighbours that get other ranks where that makes enough room; past it as many as it takes.
  static let mostNeighbours = 500
  /// The most bytes of elements that are written again for other ranks in one commit.
  static let mostBytes = 262_144
  /// The distance that makes enough room among that many neighbours.
  private static let enough: Int64 = 32

  private static let low = ListElements.ranks.lowerBound - 1
  private static let high = ListElements.ranks.upperBound + 1

  /// A rank between the elements at `index - 1` and `index`; nil: there is none.
  func rank(at index: Int, in order: ListOrder) -> Int64? {
    let left = index > 0 ? order.entries[index - 1].rank : Self.low
    let right = index < order.count ? order.entries[index].rank : Self.high
    guard right - left > 1 else { return nil }
    let middle = left + (right - left) / 2
    if index < order.count { return index > 0 ? middle : max(right - gap, middle) }
    return index > 0 ? min(left + gap, middle) : middle
  }

  /// New ranks for a window of neighbours and an element between them.
  struct Renumbering {
    let window: Range<Int>
    let first: Int64
    let step: Int64
    /// The index of the element.
    let index: Int

    /// The new rank of the element that is there already.
    func rank(_ neighbour: Int) -> Int64 {
      first + Int64(neighbour - window.lowerBound + (neighbour < index ? 0 : 1)) * step
    }
    var newRank: Int64 { first + Int64(index - window.lowerBound) * step }
  }

  /// Finds the fewest neighbours that make enough room; nil: there is none within the limits.
  /// - Parameter bytes: the bytes of an element's value.
  func renumbering(around index: Int, in order: ListOrder, bytes: (FieldID) -> Int) -> Renumbering? {
    func size(of window: Range<Int>) -> Int { order.entries[window].reduce(0) { $0 + bytes($1.field) } }
    var (most, window) = (16, bounds(index, 16, order.count))
    // Big elements: few of them.
    while most > 1, size(of: window) > Self.mostBytes {
      most /= 2
      window = bounds(index, most, order.count)
    }
    var best: Renumbering?
    while size(of: window) <= Self.mostBytes {
      if let found = spread(window, index, order) {
        best = found
        let width = Int64(window.count)
        let least = window.count < Self.mostNeighbours ? 2 + width * width / 64 : Self.enough
        if found.step >= min(least, max(gap / 2, 1)) { break }
      }
      if window.count == order.count { break }
      most = most == 256 ? Self.mostNeighbours : 2 * most
      window = bounds(index, most, order.count)
    }
    return best
  }

  /// A window of N elements around an index, shifted to fit.
  private func bounds(_ index: Int, _ size: Int, _ count: Int) -> Range<Int> {
    let start = max(0, min(index - size / 2, count - size))
    return start..<min(count, start + size)
  }

  /// Spreads a window, with one element more, over the room up to its neighbours; nil: there is too little.
  private func spread(_ window: Range<Int>, _ index: Int, _ order: ListOrder) -> Renumbering? {
    let left = window.lowerBound > 0 ? order.entries[window.lowerBound - 1].rank : Self.low
    let right = window.upperBound < order.count ? order.entries[window.upperBound].rank : Self.high
    let count = Int64(window.count + 1)
    let widest = (right - left) / (count + 1)
    guard widest > 0 else { return nil }
    let (isFirst, isLast) = (window.lowerBound == 0, window.upperBound == order.count)
    // At an end there is room beyond: it is left for what comes.
    let step = isFirst || isLast ? min(widest, gap) : widest
    let first =
      switch (isFirst, isLast) {
      case (true, true): left + (right - left) / 2 - step * (count / 2)
      case (true, false): right - step * count
      case (false, _): left + step
      }
    return Renumbering(window: window, first: first, step: step, index: index)
  }
}
