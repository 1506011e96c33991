import BindingModel
import Dispatch
import Testing

@Suite("lanes")
struct LaneTests {
  @Test("the main lane is current on the main actor, also after a suspension, and nowhere else")
  @MainActor
  func main() async {
    #expect(Lane.main.isCurrent)
    await Task.yield()
    #expect(Lane.main.isCurrent)
    await Task { @MainActor in #expect(Lane.main.isCurrent) }.value
    let elsewhere = await Task.detached { Lane.main.isCurrent }.value
    #expect(!elsewhere)
  }

  @Test("work submitted on its lane runs before `run` returns; from elsewhere it runs later, in order")
  @MainActor
  func inlineAndLater() async {
    let seen = Recorder<Int>()
    Lane.main.run { seen.record(0) }
    #expect(seen.all == [0])
    await Task.detached { for number in 1...100 { Lane.main.run { seen.record(number) } } }.value
    #expect(await eventually { seen.all.count == 101 })
    #expect(seen.all == Array(0...100))
  }

  @Test("work that runs inline runs earlier submitted work first")
  func orderOfInlineWork() {
    let queue = DispatchQueue(label: "bindbus.test.lane")
    let lane = Lane.queue(queue)
    let seen = Recorder<Int>()
    queue.sync {
      onThreads(1) { _ in for number in 1...3 { lane.run { seen.record(number) } } }
      #expect(lane.isCurrent)
      #expect(seen.all.isEmpty)
      lane.run { seen.record(4) }
      #expect(seen.all == [1, 2, 3, 4])
    }
    queue.sync {}
    #expect(seen.all == [1, 2, 3, 4])
    #expect(!lane.isCurrent)
  }

  @Test("work submitted from within the lane runs inline, and work of other threads runs afterwards")
  func nested() {
    let queue = DispatchQueue(label: "bindbus.test.lane")
    let lane = Lane.queue(queue)
    let seen = Recorder<String>()
    let finished = DispatchSemaphore(value: 0)
    lane.run {
      seen.record("outer begins")
      lane.run { seen.record("inner") }
      onThreads(1) { _ in
        lane.run {
          seen.record("later")
          finished.signal()
        }
      }
      seen.record("outer ends")
    }
    finished.wait()
    #expect(seen.all == ["outer begins", "inner", "outer ends", "later"])
  }

  @Test("behaviour 7: a lane loses no work of ten threads and keeps each thread's order")
  func manyThreads() {
    let queue = DispatchQueue(label: "bindbus.test.lane")
    let lane = Lane.queue(queue)
    let seen = Recorder<[Int]>()
    onThreads(10) { thread in
      for number in 0..<1_000 { lane.run { seen.record([thread, number]) } }
    }
    let finished = DispatchSemaphore(value: 0)
    lane.run { finished.signal() }
    finished.wait()
    #expect(seen.all.count == 10_000)
    for thread in 0..<10 {
      #expect(seen.all.filter { $0[0] == thread }.map { $0[1] } == Array(0..<1_000))
    }
  }

  @Test("the direct lane is always current and runs work immediately")
  func direct() {
    let seen = Recorder<Int>()
    #expect(Lane.direct.isCurrent)
    Lane.direct.run { seen.record(1) }
    #expect(seen.all == [1])
  }
}

@Suite("protected values")
struct ProtectedTests {
  @Test("copies of a protected value share one value, changes are exclusive, and the body's error is rethrown")
  func exclusive() {
    struct RefusalError: Error {}
    let count = Protected(0)
    let copy = count
    onThreads(8) { _ in for _ in 0..<10_000 { copy.withLock { $0 += 1 } } }
    #expect(count.withLock { $0 } == 80_000)
    #expect(throws: RefusalError.self) {
      try count.withLock { (_: inout Int) throws(RefusalError) in throw RefusalError() }
    }
    #expect(count.withLock { $0 } == 80_000)
  }
}
