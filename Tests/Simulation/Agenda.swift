/// The events to come in a simulated world, by time; events of the same time in the order in which they were added.
struct Agenda<Entry> {
  /// The heap moves these nodes, not the entries themselves.
  private struct Node {
    /// The time, and below it the entry's number: one integer, as it is compared more often than anything else.
    let moment: UInt64
    let slot: Int

    init(time: UInt64, number: UInt32, slot: Int) {
      moment = time << 32 | UInt64(number)
      self.slot = slot
    }

    var time: UInt64 { moment >> 32 }
  }
  private var heap: [Node] = []
  private var slots: [Entry] = []
  private var free: [Int] = []
  private var entered: UInt32 = 0
  /// Fills a free slot: with an optional the compiler copies where it could move.
  private let blank: Entry
  /// The time of the last popped entry.
  private(set) var time: UInt64 = 0

  /// - Parameter blank: any entry without payload.
  init(blank: Entry) { self.blank = blank }

  mutating func add(_ entry: Entry, at time: UInt64) {
    entered += 1
    let slot: Int
    if let last = free.popLast() {
      slot = last
      slots[slot] = entry
    } else {
      slot = slots.count
      slots.append(entry)
    }
    let node = Node(time: time, number: entered, slot: slot)
    heap.append(node)
    heap.withUnsafeMutableBufferPointer { heap in
      var child = heap.count - 1
      while child > 0, case let parent = (child - 1) / 2, node.moment < heap[parent].moment {
        heap[child] = heap[parent]
        child = parent
      }
      heap[child] = node
    }
  }

  /// The next entry; nil if there is none up to that time.
  mutating func pop(upTo end: UInt64) -> Entry? {
    guard let first = heap.first, first.time <= end else { return nil }
    time = first.time
    let last = heap.removeLast()
    heap.withUnsafeMutableBufferPointer { heap in
      guard !heap.isEmpty else { return }
      var parent = 0
      while case var child = 2 * parent + 1, child < heap.count {
        if child + 1 < heap.count, heap[child + 1].moment < heap[child].moment { child += 1 }
        guard heap[child].moment < last.moment else { break }
        heap[parent] = heap[child]
        parent = child
      }
      heap[parent] = last
    }
    free.append(first.slot)
    var entry = blank
    swap(&entry, &slots[first.slot])
    return entry
  }
}
