import BindingModel
import Dispatch
import Testing

@Suite("observing on the main actor")
@MainActor
struct ObserveOnMainTests {
  final class Screen {
    var shown: [Int] = []
  }

  @Test("observeOnMain delivers the present value immediately, and later ones before a write made there returns")
  func onMain() {
    let level = Observable(1)
    let screen = Screen()
    level.observeOnMain(on: screen) { $0.shown.append($1) }
    level.value = 2
    #expect(screen.shown == [1, 2])
  }

  @Test("observeOnMain delivers on the main actor in order and ends with the last value, whichever thread writes")
  func fromElsewhere() async {
    let level = Observable(0)
    let screen = Screen()
    level.observeOnMain(on: screen) { screen, value in
      #expect(Lane.main.isCurrent)
      screen.shown.append(value)
    }
    await Task.detached { for value in 1...1_000 { level.value = value } }.value
    while screen.shown.last != 1_000 { await Task.yield() }
    #expect(screen.shown == screen.shown.sorted())
  }

  @Test("observeOnMain delivers an observer's own writes afterwards, in order")
  func writingInside() {
    let level = Observable(0)
    let screen = Screen()
    level.observeOnMain(on: screen) { screen, value in
      if value == 1 { level.value = 2 }
      screen.shown.append(value)
    }
    level.value = 1
    #expect(screen.shown == [0, 1, 2])
  }

  @Test("observeOnMain delivers a write made while a value from elsewhere is shown afterwards, in order")
  func writingInsideFromElsewhere() async {
    let level = Observable(0)
    let screen = Screen()
    level.observeOnMain(on: screen) { screen, value in
      if value == 1 { level.value = 2 }
      screen.shown.append(value)
    }
    await Task.detached { level.value = 1 }.value
    while screen.shown.count < 3 { await Task.yield() }
    #expect(screen.shown == [0, 1, 2])
  }

  @Test("observeOnMain ends with its owner and does not keep it alive")
  func owners() {
    let level = Observable(0)
    weak var weakly: Screen?
    var calls = 0
    do {
      let screen = Screen()
      weakly = screen
      level.observeOnMain(on: screen) { _, _ in calls += 1 }
    }
    level.value = 1
    #expect(weakly == nil)
    #expect(calls == 1)
  }

  @Test("observeOnMain delivers nothing after cancel, not even a value already in transit")
  func cancelling() async {
    let level = Observable(0)
    var shown: [Int] = []
    let token = level.observeOnMain { shown.append($0) }
    let writer = Task.detached { level.value = 1 }
    token.cancel()
    await writer.value
    for _ in 0..<100 { await Task.yield() }
    #expect(shown == [0])
  }

  @Test("observing on a custom lane delivers there, in order, and always the newest value")
  func lanes() async {
    let level = Observable(0)
    let owner = Owner()
    let seen = Recorder<Int>()
    level.observe(on: owner, lane: .queue(DispatchQueue(label: "bindbus.test.lane"))) { seen.record($0) }
    for value in 1...100 { level.value = value }
    #expect(await eventually { seen.all.last == 100 })
    #expect(seen.all == seen.all.sorted())
  }
}
