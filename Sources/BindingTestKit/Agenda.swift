/// What is to happen in a simulated world, by time; of two things at one time the one that was entered first.
struct Agenda<Event> {
  private struct Entry {
    let time: UInt64
    let number: UInt64
    let event: Event
  }
  private var heap: [Entry] = []
  private var entered: UInt64 = 0

  var nextTime: UInt64? { heap.first?.time }

  mutating func add(_ event: Event, at time: UInt64) {
    entered += 1
    heap.append(Entry(time: time, number: entered, event: event))
    var child = heap.count - 1
    while child > 0, case let parent = (child - 1) / 2, isBefore(child, parent) {
      heap.swapAt(child, parent)
      child = parent
    }
  }

  mutating func take() -> (time: UInt64, event: Event)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, least) {
          least = child
        }
        if least == parent { break }
        heap.swapAt(parent, least)
        parent = least
      }
    }
    return (first.time, first.event)
  }

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
  }
}
