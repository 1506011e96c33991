import BindingModel
import Testing

@Suite("async sequences of values")
struct ValuesTests {
  @Test("a sequence of values starts with the present value, then gives the newest, skipping what a slow loop missed")
  func newest() async {
    let level = Observable(1)
    var values = level.values.makeAsyncIterator()
    #expect(await values.next() == 1)
    level.value = 2
    level.value = 3
    level.value = 4
    #expect(await values.next() == 4)
    level.value = 5
    #expect(await values.next() == 5)
  }

  @Test("a waiting loop gets values of another task and never misses the last")
  func waiting() async {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let reader = Task {
      for await value in level.values {
        seen.record(value)
        if value == 1_000 { break }
      }
    }
    onThreads(1) { _ in for value in 1...1_000 { level.value = value } }
    await reader.value
    #expect(seen.all.last == 1_000)
    #expect(seen.all == seen.all.sorted())
    #expect(Set(seen.all).count == seen.all.count)
  }

  @Test("everyValue buffers values up to its limit, and the next one carries the number dropped")
  func everyValue() async {
    let level = Observable(0)
    var values = level.everyValue(limit: 3).makeAsyncIterator()
    for value in 1...2 { level.value = value }
    for expected in 0...2 {
      let element = await values.next()
      #expect(element?.value == expected)
      #expect(element?.dropped == 0)
    }
    for value in 3...10 { level.value = value }
    let first = await values.next()
    #expect(first?.value == 8)
    #expect(first?.dropped == 5)
    let rest = [await values.next(), await values.next()]
    #expect(rest.map { $0?.value } == [9, 10])
    #expect(rest.map { $0?.dropped } == [0, 0])
  }

  @Test("a buffer limit below one holds one value")
  func smallestBuffer() async {
    let level = Observable(0)
    var values = level.everyValue(limit: 0).makeAsyncIterator()
    level.value = 1
    let element = await values.next()
    #expect(element?.value == 1)
    #expect(element?.dropped == 1)
  }

  @Test("cancelling the reading task ends the loop and the observation")
  func cancellation() async {
    let level = Observable(0)
    var payload: Owner? = Owner()
    weak let gone = payload
    let started = Recorder<Int>()
    let reader = Task { [payload] in
      for await value in level.values { started.record(value) }
      withExtendedLifetime(payload) {}
    }
    payload = nil
    #expect(await eventually { started.all == [0] })
    reader.cancel()
    await reader.value
    level.value = 1
    #expect(started.all == [0])
    #expect(await eventually { gone == nil })
  }

  @Test("a task cancelled before it reads gets nothing")
  func cancelledBefore() async {
    let level = Observable(0)
    let seen = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var count = 0
      for await _ in level.values { count += 1 }
      return count
    }.value
    #expect(seen == 0)
  }

  @Test(
    "behaviours 5, 8: releasing the observable ends the sequence after its last value; a late reader gets nothing")
  func finishes() async {
    var level: Observable<Int>? = Observable(0)
    weak let gone = level
    guard let binding = level?.binding else { return }
    var values = binding.values.makeAsyncIterator()
    #expect(await values.next() == 0)
    level?.value = 1
    level = nil
    #expect(gone == nil)
    #expect(await values.next() == 1)
    #expect(await values.next() == nil)
    var late = binding.values.makeAsyncIterator()
    #expect(await late.next() == nil)
  }

  @Test("each loop over a member's sequence gets all changes of that member")
  func members() async {
    struct Pair: Equatable, Sendable {
      var left = 0
      var right = 0
    }
    let pair = Observable(Pair())
    var left = pair.binding.left.everyValue().makeAsyncIterator()
    var right = pair.binding.right.everyValue().makeAsyncIterator()
    pair.value.right = 1
    pair.value.left = 2
    pair.value.right = 3
    var lefts: [Int] = []
    var rights: [Int] = []
    for _ in 0..<2 { if let element = await left.next() { lefts.append(element.value) } }
    for _ in 0..<3 { if let element = await right.next() { rights.append(element.value) } }
    #expect(lefts == [0, 2])
    #expect(rights == [0, 1, 3])
  }
}
