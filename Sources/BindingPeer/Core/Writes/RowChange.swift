/// One difference between two sequences of letters or words: the range `old` became the range `new`.
struct RowChange: Equatable, Sendable {
  var old: Range<Int>
  var new: Range<Int>

  /// The most single insertions and deletions to search for. Above that, everything between the first and the last
  /// difference counts as replaced.
  static let most = 1_000

  /// The fewest changes that turn one sequence into the other (Myers, 1986), in order; between two changes something
  /// is kept. A page computes the same ones (`changes` in texts.js), so that both merge a text alike.
  static func between<Element: Equatable>(_ old: [Element], _ new: [Element]) -> [RowChange] {
    var head = 0
    var (rows, columns) = (old.count, new.count)
    while head < rows, head < columns, old[head] == new[head] { head += 1 }
    while rows > head, columns > head, old[rows - 1] == new[columns - 1] { (rows, columns) = (rows - 1, columns - 1) }
    if rows == head, columns == head { return [] }
    let whole = [RowChange(old: head..<rows, new: head..<columns)]
    guard rows > head, columns > head else { return whole }
    var walk = Walk(most: min(most, rows + columns - 2 * head), head: head)
    for count in 0...walk.most {
      for diagonal in stride(from: -count, through: count, by: 2) {
        var (x, y, change) = walk.step(count, diagonal)
        while x < rows, y < columns, old[x] == new[y] { (x, y) = (x + 1, y + 1) }
        walk.reach(x, diagonal, change)
        if x >= rows, y >= columns { return walk.changes(upTo: change) }
      }
    }
    return whole
  }
}

/// How far along `old` N changes lead on each diagonal: the index in `old` minus the index in `new`.
private struct Walk {
  let most: Int
  private var farthest: [(x: Int, change: Int?)]
  /// Each change with its predecessor on the path.
  private var found: [(change: RowChange, before: Int?)] = []

  init(most: Int, head: Int) {
    self.most = most
    farthest = Array(repeating: (head, nil), count: 2 * most + 3)
  }

  /// Extends the path of a neighbouring diagonal by one change. The first step has none.
  mutating func step(_ count: Int, _ diagonal: Int) -> (x: Int, y: Int, change: Int?) {
    let (lower, upper) = (farthest[most + diagonal], farthest[most + diagonal + 2])
    guard count > 0 else { return (upper.x, upper.x, nil) }
    let isPutIn = diagonal == -count || diagonal != count && lower.x < upper.x
    let (from, last) = isPutIn ? upper : lower
    let x = isPutIn ? from : from + 1
    let y = x - diagonal
    let start = isPutIn ? y - 1 : y
    if let last, found[last].change.old.upperBound == from, found[last].change.new.upperBound == start {
      let (earlier, before) = found[last]
      let whole = RowChange(old: earlier.old.lowerBound..<x, new: earlier.new.lowerBound..<y)
      found.append((whole, before))
    } else {
      found.append((RowChange(old: from..<x, new: start..<y), last))
    }
    return (x, y, found.count - 1)
  }

  mutating func reach(_ x: Int, _ diagonal: Int, _ change: Int?) { farthest[most + diagonal + 1] = (x, change) }

  func changes(upTo last: Int?) -> [RowChange] {
    var changes: [RowChange] = []
    var next = last
    while let index = next {
      changes.append(found[index].change)
      next = found[index].before
    }
    return changes.reversed()
  }
}
