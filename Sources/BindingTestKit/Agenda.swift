/// What is to happen in a simulated world, by time; of two things at one time the one that was entered first.
struct Agenda<Entry> {
  /// The heap moves these, not the entries themselves.
  private struct Place {
    let time: UInt64
    let number: UInt32
    let slot: Int32

    func isBefore(_ other: Place) -> Bool { time == other.time ? number < other.number : time < other.time }
  }
  private var heap: [Place] = []
  private var slots: [Entry?] = []
  private var free: [Int32] = []
  private var entered: UInt32 = 0

  var nextTime: UInt64? { heap.first?.time }

  mutating func add(_ entry: Entry, at time: UInt64) {
    entered += 1
    let slot: Int32
    if let last = free.popLast() {
      slot = last
      slots[Int(slot)] = entry
    } else {
      slot = Int32(slots.count)
      slots.append(entry)
    }
    let place = Place(time: time, number: entered, slot: slot)
    heap.append(place)
    var child = heap.count - 1
    while child > 0, case let parent = (child - 1) / 2, place.isBefore(heap[parent]) {
      heap[child] = heap[parent]
      child = parent
    }
    heap[child] = place
  }

  mutating func take() -> (time: UInt64, entry: Entry)? {
    guard let first = heap.first, let entry = slots[Int(first.slot)].take() else { return nil }
    free.append(first.slot)
    let last = heap.removeLast()
    guard !heap.isEmpty else { return (first.time, entry) }
    var parent = 0
    while case var child = 2 * parent + 1, child < heap.count {
      if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
      guard heap[child].isBefore(last) else { break }
      heap[parent] = heap[child]
      parent = child
    }
    heap[parent] = last
    return (first.time, entry)
  }
}
