import BindingModel
import Testing

/// From the suites of signal libraries: effects, batches and edge cases of computed values.
@Suite("effects and batches")
struct EffectTests {
  @Test("several writes of one value in a batch are one notification")
  func oneNotification() {
    let value = Observable(0)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    Turn.run { for next in 1...5 { value.value = next } }
    #expect(seen.all == [0, 5])
    token.cancel()
  }

  @Test("a batch returns its body's value, and its writes can be read inside it")
  func batchResult() {
    let value = Observable(1)
    let inside = Turn.run {
      value.value = 2
      return value.value
    }
    #expect(inside == 2)
  }

  @Test("nested batches notify when the outermost ends, at any depth", arguments: [1, 2, 10])
  func nested(depth: Int) {
    let value = Observable(0)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    func batch(_ depth: Int) {
      Turn.run {
        value.value += 1
        if depth > 1 { batch(depth - 1) }
        value.value += 1
      }
    }
    batch(depth)
    #expect(seen.all == [0, depth * 2])
    token.cancel()
  }

  @Test("an effect triggered and disposed of inside a batch does not run")
  func disposedInside() {
    let value = Observable(0)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    Turn.run {
      value.value = 1
      token.cancel()
      value.value = 2
    }
    #expect(seen.all == [0])
  }

  @Test("effects run in registration order, also after one of them was removed")
  func inOrder() {
    let value = Observable(0)
    let seen = Recorder<String>()
    var tokens = ["a", "b", "c"].map { name in value.observe { if $0 > 0 { seen.record(name) } } }
    value.value = 1
    tokens.remove(at: 1).cancel()
    tokens.append(value.observe { if $0 > 1 { seen.record("d") } })
    value.value = 2
    #expect(seen.all == ["a", "b", "c", "a", "c", "d"])
  }

  @Test("an effect that disposes of the next one during a round prevents it from running in that round")
  func disposesTheNext() {
    let value = Observable(0)
    let seen = Recorder<String>()
    let second = Protected<ObserverToken?>(nil)
    let first = value.observe { if $0 == 1 { second.withLock { $0 }?.cancel() } }
    let token = value.observe { if $0 > 0 { seen.record("second") } }
    second.withLock { $0 = token }
    let third = value.observe { if $0 > 0 { seen.record("third") } }
    value.value = 1
    #expect(seen.all == ["third"])
    first.cancel()
    third.cancel()
  }

  @Test("an effect that limits its own value settles, and all observers end on the limit", arguments: [11, 50, 1_000])
  func clamp(entered: Int) {
    let value = Observable(0)
    let seen = Recorder<Int>()
    let tokens = [value.observe { if $0 > 10 { value.value = 10 } }, value.observe { seen.record($0) }]
    value.value = entered
    #expect(value.value == 10)
    #expect(seen.all == [0, entered, 10])
    withExtendedLifetime(tokens) {}
  }

  @Test("every write notifies where values are not compared, even an equal one")
  func noEquality() {
    let value = Observable(1, filter: .everyWrite)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    value.value = 1
    value.value = 1
    #expect(seen.all == [1, 1, 1])
    token.cancel()
  }

  @Test("a silently written value is not notified before the next different write")
  func silent() {
    let value = Observable(1)
    let seen = Recorder<Int>()
    let token = value.observe { seen.record($0) }
    value.setSilently(2)
    value.value = 2
    value.value = 3
    #expect(seen.all == [1, 3])
    token.cancel()
  }

  @Test("the end of an owner ends all its observations on all values")
  func scope() {
    let values = (0..<3).map { Observable($0) }
    let seen = Recorder<Int>()
    var owner: Owner? = Owner()
    if let owner { for value in values { value.observe(on: owner) { seen.record($0) } } }
    seen.clear()
    owner = nil
    for value in values { value.value += 10 }
    #expect(seen.all.isEmpty)
  }

  @Test("a reaction runs only when the result of its expression changes")
  func reaction() {
    let count = Observable(0)
    let seen = Recorder<Bool>()
    let token = count.derived { $0 > 2 }.observe { seen.record($0) }
    for next in 1...6 { count.value = next }
    count.value = 0
    #expect(seen.all == [false, true, false])
    token.cancel()
  }

  @Test("a turn that ends with the original value does not notify its dependents")
  func backAgain() {
    let value = Observable(1)
    let (plain, derived) = (Recorder<Int>(), Recorder<Int>())
    let tokens = [value.observe { plain.record($0) }, value.derived { $0 }.observe { derived.record($0) }]
    Turn.run {
      value.value = 2
      value.value = 1
    }
    #expect(derived.all == [1])
    #expect(plain.all.allSatisfy { $0 == 1 }, "told what it was not at the end of the turn")
    withExtendedLifetime(tokens) {}
  }
}
