import BindingModel
import Testing

@Suite("observables")
struct ObservableTests {
  @Test("behaviour 1: a new observer gets the present value first, exactly once, before observe returns")
  func presentValueFirst() {
    let level = Observable(3)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    #expect(seen.all == [3])
    level.value = 4
    #expect(seen.all == [3, 4])
    token.cancel()
  }

  @Test("behaviour 2: all observers get values in the order of assignment")
  func orderOfAssignment() {
    let level = Observable(0)
    let first = Recorder<Int>()
    let second = Recorder<Int>()
    let tokens = [level.observe { first.record($0) }, level.observe { second.record($0) }]
    level.value = 5
    level.value = 10
    level.update { $0 += 10 }
    level.set(30, by: Writer())
    level.value = 40
    #expect(first.all == [0, 5, 10, 20, 30, 40])
    #expect(second.all == first.all)
    withExtendedLifetime(tokens) {}
  }

  @Test("behaviour 10: an equal write is no change")
  func equalWrites() {
    let name = Observable("desk")
    let seen = Recorder<String>()
    let token = name.observe { seen.record($0) }
    name.value = "desk"
    name.update { $0 = "desk" }
    name.value = "lamp"
    #expect(seen.all == ["desk", "lamp"])
    withExtendedLifetime(token) {}
  }

  /// Equal to every other tag of its name, whatever the note.
  private struct Tag: Equatable, Sendable {
    var name: String
    var note: Int
    static func == (left: Tag, right: Tag) -> Bool { left.name == right.name }
  }

  /// Equal to every other step of its number, whatever the note. Unlike `Tag`, it is trivially copyable.
  private struct Step: Equatable, Sendable {
    var number: Int
    var note: Int
    static func == (left: Step, right: Step) -> Bool { left.number == right.number }
  }

  @Test("an equal write leaves the stored value unchanged, observed or not", arguments: [false, true])
  func equalWritesAreNotStored(isObserved: Bool) {
    let (tag, step) = (Observable(Tag(name: "a", note: 1)), Observable(Step(number: 1, note: 1)))
    let tokens = isObserved ? [tag.observe { _ in }, step.observe { _ in }] : []
    tag.value = Tag(name: "a", note: 2)
    step.value = Step(number: 1, note: 2)
    #expect(tag.value.note == 1)
    #expect(step.value.note == 1)
    tag.value = Tag(name: "b", note: 3)
    step.value = Step(number: 2, note: 3)
    #expect(tag.value.note == 3)
    #expect(step.value.note == 3)
    withExtendedLifetime(tokens) {}
  }

  @Test("NaN after NaN is no change, also in a member and behind a mapping")
  func notANumber() {
    struct Point: Equatable, Sendable { var x = 0.0, y = 0.0 }
    let point = Observable(Point())
    let seen = Recorder<Double>()
    let tokens = [
      point.binding.x.observe { seen.record($0) },
      point.binding.x.map(Scaled(0...1, to: 0...2)).observe { seen.record($0) },
    ]
    seen.clear()
    point.value.x = .nan
    point.value.x = .nan
    point.value.y = 1
    #expect(seen.all.count == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("every write notifies with the filter `everyWrite`, and where values are not comparable")
  func everyWrite() {
    struct Opaque: Sendable {}
    let count = Observable(1, filter: .everyWrite)
    let opaque = Observable(Opaque())
    let counts = Recorder<Int>()
    let opaques = Recorder<Opaque>()
    let tokens = [count.observe { counts.record($0) }, opaque.observe { opaques.record($0) }]
    count.value = 1
    opaque.value = Opaque()
    #expect(counts.all == [1, 1])
    #expect(opaques.all.count == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("behaviour 10: a custom predicate decides what is a change, and other writes are not stored")
  func ownPredicate() {
    let level = Observable(0.0, filter: .unless { abs($0 - $1) < 0.5 })
    let seen = Recorder<Double>()
    let token = level.observe { seen.record($0) }
    level.value = 0.4
    #expect(level.value == 0)
    level.value = 0.6
    #expect(seen.all == [0, 0.6])
    withExtendedLifetime(token) {}
  }

  @Test("a filter predicate can read its own observable")
  func predicateWithoutLock() {
    let box = Protected<Observable<Int>?>(nil)
    let level = Observable(0, filter: .unless { _, new in (box.withLock { $0 }?.value ?? 0) >= new })
    box.withLock { $0 = level }
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    level.value = 2
    level.value = 1
    level.update { $0 += 1 }
    #expect(seen.all == [0, 2, 3])
    token.cancel()
    box.withLock { $0 = nil }
  }

  @Test("behaviour 11: a silent write changes the value and notifies nobody")
  func silentWrite() {
    let level = Observable(1)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    level.setSilently(2)
    #expect(level.value == 2)
    #expect(seen.all == [1])
    level.value = 2
    #expect(seen.all == [1])
    level.value = 3
    #expect(seen.all == [1, 3])
    withExtendedLifetime(token) {}
  }

  @Test("update returns its body's result, and a body that throws changes nothing")
  func updateResult() {
    struct RefusalError: Error {}
    let level = Observable(1)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    let old = level.update { value in
      defer { value += 1 }
      return value
    }
    #expect(old == 1)
    #expect(throws: RefusalError.self) {
      try level.update { (value: inout Int) throws(RefusalError) in
        value = 99
        throw RefusalError()
      }
    }
    #expect(level.value == 2)
    #expect(seen.all == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("an observer that skips its own writer is notified of all other writes")
  func ownEcho() {
    let level = Observable(0)
    let me = Writer()
    let seen = Recorder<Int>()
    let token = level.observe(from: .others(than: me)) { seen.record($0) }
    level.set(1, by: me)
    level.set(2, by: Writer())
    level.update(by: me) { $0 = 3 }
    level.value = 4
    #expect(seen.all == [0, 2, 4])
    withExtendedLifetime(token) {}
  }

  @Test("a writer that overtakes another write ends with the present value although its echo is skipped")
  func echoAfterOvertaking() {
    let level = Observable(0)
    let me = Writer()
    let shown = Recorder<Int>()
    let meddler = level.observe { value in
      if value == 1 { level.set(2, by: me) }
    }
    let token = level.observe(from: .others(than: me)) { shown.record($0) }
    level.value = 1
    #expect(shown.all.last == 2)
    #expect(level.value == 2)
    withExtendedLifetime((meddler, token)) {}
  }

  @Test("an equality that reads its own observable does not deadlock")
  func userCodeWithoutLock() {
    struct Nosy: Equatable, Sendable {
      let name: String
      let look: @Sendable () -> Void

      static func == (left: Nosy, right: Nosy) -> Bool {
        left.look()
        return left.name == right.name
      }
    }
    let looks = Recorder<Void>()
    let box = Protected<Observable<Nosy>?>(nil)
    let nosy = Observable(
      Nosy(name: "a") {
        looks.record(())
        _ = box.withLock { $0 }?.value
      })
    box.withLock { $0 = nosy }
    let seen = Recorder<String>()
    let token = nosy.observe { seen.record($0.name) }
    nosy.update { $0 = Nosy(name: "b", look: $0.look) }
    nosy.value = Nosy(name: "c") {}
    #expect(seen.all == ["a", "b", "c"])
    #expect(looks.all.count == 2)
    token.cancel()
    box.withLock { $0 = nil }
  }

  @Test("a released old value can use its observable in its deinit")
  func oldValueReleasedWithoutLock() {
    final class Noisy: Sendable {
      let farewell: @Sendable () -> Void
      init(_ farewell: @escaping @Sendable () -> Void) { self.farewell = farewell }
      deinit { farewell() }
    }
    let farewells = Observable(0)
    let current = Observable<Noisy?>(nil)
    let token = current.observe { _ in }
    current.value = Noisy { [weak current] in
      farewells.update { $0 += 1 }
      _ = current?.value
    }
    current.value = nil
    #expect(farewells.value == 1)
    withExtendedLifetime(token) {}
  }
}
