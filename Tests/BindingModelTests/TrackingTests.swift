import Observation
import Testing

@testable import BindingModel

@Suite("withObservationTracking")
struct TrackingTests {
  /// Reads inside a tracking closure, and records the notification of a change.
  func track(_ recorder: Recorder<String>, _ read: () -> Void) {
    withObservationTracking(read) { recorder.record("changed") }
  }

  @Test("withObservationTracking reports the next change of a read observable, once")
  func observables() {
    let level = Observable(1)
    let recorder = Recorder<String>()
    track(recorder) { _ = level.value }
    level.value = 2
    level.value = 3
    #expect(recorder.all == ["changed"])
    track(recorder) { _ = level.value }
    level.value = 4
    #expect(recorder.all == ["changed", "changed"])
  }

  @Test("withObservationTracking reports changes only of values that were read, and no equal write")
  func onlyWhatWasRead() {
    let (read, other) = (Observable(1), Observable(1))
    let recorder = Recorder<String>()
    track(recorder) { _ = read.value }
    other.value = 2
    read.value = 1
    #expect(recorder.all.isEmpty)
  }

  @Test("withObservationTracking sees states, bindings, members, mappings, parts and derived values")
  func everySource() {
    struct Story: Equatable, Sendable {
      var text = ""
      var notes: [String: String] = [:]
    }
    @State var story = Story()
    let length = Derived($story) { $0.text.count }
    let reads: [() -> Void] = [
      { _ = story }, { _ = $story.value }, { _ = $story.text.value }, { _ = length.value },
      { _ = $story.text.map(Trimmed()).value }, { _ = $story.notes["x"].value },
    ]
    for read in reads {
      let recorder = Recorder<String>()
      track(recorder, read)
      story.text += "x"
      #expect(recorder.all == ["changed"])
    }
  }

  @Test("withObservationTracking finds the new value when notified, and is notified once per turn")
  func turns() {
    let (first, last) = (Observable("Ada"), Observable("Lovelace"))
    let received = Recorder<String>()
    withObservationTracking {
      _ = first.value + last.value
    } onChange: {
      received.record("\(first.value) \(last.value)")
    }
    Turn.run {
      first.value = "Grace"
      last.value = "Hopper"
    }
    #expect(received.all == ["Grace Hopper"])
  }

  @Test("nested withObservationTracking notifies the outer one too")
  func nesting() {
    let level = Observable(1)
    let recorder = Recorder<String>()
    withObservationTracking {
      withObservationTracking({ _ = level.value }, onChange: { recorder.record("inner") })
    } onChange: {
      recorder.record("outer")
    }
    level.value = 2
    #expect(recorder.all.sorted() == ["inner", "outer"])
  }

  @Test("withObservationTracking reports writes from other threads")
  func otherThreads() {
    let level = Observable(0)
    let recorder = Recorder<String>()
    track(recorder) { _ = level.value }
    onThreads(4) { index in level.value = index + 1 }
    #expect(recorder.all == ["changed"])
  }

  @Test("untracked reads cost nothing, even after tracked ones on the same thread")
  func untracked() {
    let (tracked, other) = (Observable(1), Observable(1))
    track(Recorder()) { _ = tracked.value }
    #expect(other.value == 1)
    tracked.value = 2
    #expect(other.value == 1)
    #expect(other.cell.traffic == nil)
    #expect(tracked.cell.traffic?.pointee.tracker != nil)
  }

  @Test("withObservationTracking keeps no observable alive")
  func lifetimes() {
    let recorder = Recorder<String>()
    weak var weakly: Observable<Int>?
    do {
      let level = Observable(1)
      weakly = level
      track(recorder) { _ = level.value }
    }
    #expect(weakly == nil)
    #expect(recorder.all.isEmpty)
  }
}
