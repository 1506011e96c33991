/// Deadlines, the earliest first: a binary heap. An entry is inserted and removed in logarithmic time.
struct DeadlineQueue {
  struct Entry {
    let time: UInt64
    /// What the deadline is of.
    let place: Int
    let ticket: UInt64
  }
  private var entries: [Entry] = []

  var count: Int { entries.count }
  var first: Entry? { entries.first }

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var index = entries.count - 1
    while index > 0, entry.time < entries[(index - 1) / 2].time {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func removeFirst() {
    guard let last = entries.popLast(), !entries.isEmpty else { return }
    entries[0] = last
    sink(from: 0)
  }

  /// Removes all other entries.
  mutating func keep(_ isKept: (Entry) -> Bool) {
    entries.removeAll { !isKept($0) }
    for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
  }

  private mutating func sink(from start: Int) {
    var index = start
    while 2 * index + 1 < entries.count {
      var child = 2 * index + 1
      if child + 1 < entries.count, entries[child + 1].time < entries[child].time { child += 1 }
      guard entries[child].time < entries[index].time else { return }
      entries.swapAt(index, child)
      index = child
    }
  }
}
