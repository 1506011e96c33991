import BindingModel
import Observation
import Testing

/// Cases of the suites that people come from: Foundation's UndoManager, Yjs, Loro.
@Suite("a change history")
struct ChangeHistoryTests {
  private let clock = Hand()
  private let text = Observable("")
  private let size = Observable(12)
  private let history: ChangeHistory

  /// A clock that moves by hand.
  private final class Hand: Sendable {
    private let time = Protected(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }

  init() {
    let clock = clock
    history = ChangeHistory(limit: 5, now: { clock.now })
    history.track(text)
    history.track(size)
  }

  /// Writes a text as a step of its own.
  private func write(_ value: String) {
    clock.pass(.seconds(2))
    text.value = value
  }

  @Test("nothing can be undone or redone at first, and trying changes nothing")
  func empty() {
    #expect(!history.canUndo && !history.canRedo)
    #expect(!history.undo() && !history.redo())
    #expect(text.value.isEmpty && size.value == 12)
  }

  @Test("undo and redo walk through the steps in both directions")
  func walks() {
    write("hello")
    write("hello world!")
    #expect(history.canUndo && !history.canRedo)
    #expect(history.undo())
    #expect(text.value == "hello" && history.canUndo && history.canRedo)
    history.undo()
    #expect(text.value.isEmpty && !history.canUndo && history.canRedo)
    #expect(!history.undo())
    history.redo()
    #expect(text.value == "hello")
    history.redo()
    #expect(text.value == "hello world!" && !history.canRedo)
    history.undo()
    #expect(text.value == "hello")
  }

  @Test("a new change after an undo empties the redo stack")
  func clearsRedo() {
    write("a")
    history.undo()
    write("b")
    #expect(!history.canRedo && !history.redo())
    #expect(text.value == "b")
    history.undo()
    #expect(text.value.isEmpty)
  }

  @Test("a write of an equal value is no step, and leaves the redo stack")
  func equal() {
    write("a")
    history.undo()
    text.value = ""
    #expect(history.canRedo && !history.canUndo)
  }

  @Test("what a turn changes is one step, and its undo is one turn")
  func turns() {
    let calls = Protected(0)
    Turn.run {
      text.value = "a"
      size.value = 14
      text.value = "b"
    }
    let token = text.observe(initial: false) { [size] _ in
      calls.withLock { $0 += 1 }
      #expect(size.value == 12)
    }
    history.undo()
    #expect(text.value.isEmpty && size.value == 12)
    #expect(calls.withLock { $0 } == 1)
    #expect(!history.canUndo)
    token.cancel()
  }

  @Test("what observers write in answer to a change belongs to its step, and undoing it records nothing")
  func cascades() {
    let token = text.observe(initial: false) { [size] text in size.value = 12 + text.count }
    write("abc")
    #expect(size.value == 15)
    history.undo()
    #expect(text.value.isEmpty && size.value == 12)
    #expect(!history.canUndo && history.canRedo)
    history.redo()
    #expect(text.value == "abc" && size.value == 15)
    token.cancel()
  }

  @Test("changes of the same values within a second are one step; a pause or another value begins a new one")
  func merges() {
    for value in ["a", "ab", "abc"] {
      clock.pass(.milliseconds(900))
      text.value = value
    }
    clock.pass(.milliseconds(1_000))
    text.value = "abcd"
    clock.pass(.milliseconds(10))
    size.value = 13
    clock.pass(.milliseconds(10))
    text.value = "abcde"
    var seen: [String] = []
    while history.undo() { seen.append("\(text.value) \(size.value)") }
    #expect(seen == ["abcd 13", "abcd 12", "abc 12", " 12"])
  }

  @Test("with merging zero every change is a step")
  func neverMerges() {
    let history = ChangeHistory(merging: .zero)
    history.track(text)
    text.value = "a"
    text.value = "ab"
    history.undo()
    #expect(text.value == "a")
  }

  @Test("a group is one step, however long it takes; groups nest, and an empty one is none")
  func groups() {
    history.group {
      write("a")
      history.group { size.value = 13 }
      write("b")
    }
    history.group {}
    write("c")
    history.undo()
    #expect(text.value == "b")
    history.undo()
    #expect(text.value.isEmpty && size.value == 12)
    #expect(!history.canUndo)
  }

  @Test("two groups in a row are two steps, even of the same value at once")
  func twoGroups() {
    history.group { text.value = "a" }
    history.group { text.value = "b" }
    history.undo()
    #expect(text.value == "a")
  }

  @Test("at most the limit's number of steps is kept, the newest ones")
  func limit() {
    for number in 1...7 { write("\(number)") }
    var count = 0
    while history.undo() { count += 1 }
    #expect(count == 5)
    #expect(text.value == "2")
    while history.redo() {}
    #expect(text.value == "7")
  }

  @Test("what is written without recording is no step, and leaves the stacks")
  func unrecorded() {
    write("a")
    history.undo()
    history.withoutRecording { size.value = 20 }
    #expect(history.canRedo && !history.canUndo && size.value == 20)
    history.redo()
    #expect(text.value == "a" && size.value == 20)
  }

  @Test("after removeAll nothing can be undone")
  func removes() {
    write("a")
    write("b")
    history.undo()
    history.removeAll()
    #expect(!history.canUndo && !history.canRedo && !history.undo())
    #expect(text.value == "a")
  }

  @Test("a value tracked twice makes one step for each change; a cancelled token ends it")
  func trackedTwice() {
    let token = history.track(text)
    write("a")
    history.undo()
    #expect(!history.canUndo)
    token.cancel()
    write("b")
    #expect(!history.canUndo && history.canRedo)
    history.track(text)
    write("c")
    history.undo()
    #expect(text.value == "b")
  }

  @Test("the history keeps no value alive, and passes over steps whose values are gone")
  func weak() {
    weak var gone: Observable<Owner>?
    weak var owner: Owner?
    do {
      let held = Observable(Owner(), filter: .everyWrite)
      (gone, owner) = (held, held.value)
      history.track(held)
      write("a")
      clock.pass(.seconds(2))
      held.value = Owner()
    }
    #expect(gone == nil)
    #expect(history.undo())
    #expect(text.value.isEmpty)
    #expect(owner == nil)
  }

  @Test("values keep no history alive")
  func historyEnds() {
    weak var ended: ChangeHistory?
    do {
      let other = ChangeHistory()
      other.track(text)
      ended = other
      write("a")
    }
    #expect(ended == nil)
    write("b")
  }

  @Test("a state and a binding to a part of it are recorded like assignments")
  func states() {
    struct Story: Equatable { var title = "untitled", length = 0 }
    let story = State(wrappedValue: Story())
    history.track(story)
    let title = story.projectedValue.title
    title.value = "Once"
    history.undo()
    #expect(story.wrappedValue.title == "untitled")
    history.redo()
    #expect(title.value == "Once")
  }

  @Test("canUndo is tracked, and statuses are observed")
  func observed() {
    let changes = Protected(0)
    let seen = Recorder<ChangeHistory.Status>()
    let token = history.statuses.observe { seen.record($0) }
    withObservationTracking {
      _ = history.canUndo
    } onChange: {
      changes.withLock { $0 += 1 }
    }
    write("a")
    write("b")
    history.undo()
    #expect(changes.withLock { $0 } == 1)
    #expect(seen.all.map(\.canUndo) == [false, true, true])
    #expect(seen.all.map(\.canRedo) == [false, false, true])
    token.cancel()
  }

  @Test("threads that write at once lose no change: undoing everything restores the beginning")
  func threads() {
    let history = ChangeHistory(limit: 10_000, merging: .zero)
    let values = (0..<4).map { _ in Observable(0) }
    for value in values { history.track(value) }
    onThreads(4) { thread in
      for number in 1...200 { values[thread].value = number }
    }
    var count = 0
    while history.undo() { count += 1 }
    #expect(values.map(\.value) == [0, 0, 0, 0])
    #expect(count == 800)
    while history.redo() {}
    #expect(values.map(\.value) == [200, 200, 200, 200])
  }
}
