import BindingModel
import Testing

/// Expectations of users of relays and subjects in stream libraries.
@Suite("values used as relays or subjects")
struct RelayTests {
  @Test("a late subscriber gets the latest value, then the later ones")
  func lateSubscriber() {
    let relay = Observable(1)
    let (early, late) = (Recorder<Int>(), Recorder<Int>())
    var tokens = [relay.observe { early.record($0) }]
    relay.value = 2
    tokens.append(relay.observe { late.record($0) })
    relay.value = 3
    #expect(early.all == [1, 2, 3])
    #expect(late.all == [2, 3])
  }

  @Test("disposing of one of three subscribers leaves the other two notified")
  func oneOfThree() {
    let relay = Observable(0)
    let seen = (0..<3).map { _ in Recorder<Int>() }
    let tokens = seen.map { recorder in relay.observe { recorder.record($0) } }
    relay.value = 1
    tokens[1].cancel()
    relay.value = 2
    #expect(seen.map(\.all) == [[0, 1, 2], [0, 1], [0, 1, 2]])
  }

  @Test("a write inside a subscription reaches all subscribers in one order")
  func acceptInside() {
    let relay = Observable(0)
    let (first, second) = (Recorder<Int>(), Recorder<Int>())
    let tokens = [
      relay.observe {
        first.record($0)
        if $0 == 1 { relay.value = 10 }
      },
      relay.observe { second.record($0) },
    ]
    relay.value = 1
    #expect(first.all == [0, 1, 10])
    #expect(second.all == first.all)
    withExtendedLifetime(tokens) {}
  }

  @Test("a one-way chain of three values carries changes forward only")
  func oneWay() {
    let (first, second, third) = (Observable(1), Observable(0), Observable(0))
    let tokens = [first.observe { second.value = $0 }, second.observe { third.value = $0 * 10 }]
    first.value = 2
    #expect(third.value == 20)
    third.value = 7
    #expect(first.value == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("releasing a bag of tokens ends its subscriptions")
  func bag() {
    let relay = Observable(0)
    let seen = Recorder<Int>()
    var tokens = (0..<3).map { _ in relay.observe { seen.record($0) } }
    seen.clear()
    tokens = []
    relay.value = 1
    #expect(seen.all.isEmpty)
    #expect(tokens.isEmpty)
  }

  @Test("a token reports that it was cancelled, and a second cancel is harmless")
  func cancelledTwice() {
    let token = Observable(0).observe { _ in }
    #expect(!token.isCancelled)
    token.cancel()
    token.cancel()
    #expect(token.isCancelled)
  }

  @Test("disposal inside a callback drops even queued values")
  func disposedInside() {
    let relay = Observable(0)
    let seen = Recorder<Int>()
    let own = Protected<ObserverToken?>(nil)
    let token = relay.observe { value in
      seen.record(value)
      guard value == 1 else { return }
      for next in 2...5 { relay.value = next }
      own.withLock { $0 }?.cancel()
    }
    own.withLock { $0 = token }
    relay.value = 1
    #expect(seen.all == [0, 1])
  }

  @Test("callbacks hold no lock: another thread can read, write and subscribe meanwhile")
  func noLockInCallbacks() {
    let relay = Observable(0)
    let seen = Recorder<Int>()
    let token = relay.observe { value in
      guard value == 1 else { return }
      onThreads(1) { _ in
        seen.record(relay.value)
        relay.value = 2
        relay.observe { seen.record($0) }.cancel()
      }
    }
    relay.value = 1
    #expect(seen.all == [1, 2])
    #expect(relay.value == 2)
    token.cancel()
  }

  @Test("a custom key decides what counts as a change")
  func byKey() {
    let relay = Observable(["id": 1, "other": 1], filter: .unless { $0["id"] == $1["id"] })
    let seen = Recorder<Int>()
    let token = relay.observe { seen.record($0["id"] ?? 0) }
    relay.value = ["id": 1, "other": 2]
    relay.value = ["id": 2, "other": 2]
    #expect(seen.all == [1, 2])
    token.cancel()
  }

  @Test("concurrent writes reach all subscribers in the same order and end on the same value")
  func concurrentAccepts() {
    let relay = Observable(0)
    let recorders = (0..<3).map { _ in Recorder<Int>() }
    let tokens = recorders.map { recorder in relay.observe { recorder.record($0) } }
    onThreads(4) { thread in for number in 1...200 { relay.value = thread * 1_000 + number } }
    #expect(Set(recorders.map(\.all)).count == 1)
    #expect(recorders[0].all.last == relay.value)
    withExtendedLifetime(tokens) {}
  }

  @Test("a subscription made inside another gets the present value and each later one once")
  func subscribeInside() {
    let relay = Observable(0)
    let inner = Recorder<Int>()
    let tokens = Recorder<ObserverToken>()
    let outer = relay.observe { value in
      if value == 1 { tokens.record(relay.observe { inner.record($0) }) }
    }
    relay.value = 1
    relay.value = 2
    #expect(inner.all == [1, 2])
    outer.cancel()
  }

  @Test("choosing another inner value drops the former one")
  func switchLatest() {
    let (first, second) = (Observable("a"), Observable("b"))
    let chosen = Observable(first.binding)
    let seen = Recorder<String>()
    let token = chosen.flattened().observe { seen.record($0) }
    chosen.value = second.binding
    first.value = "unheard"
    second.value = "c"
    #expect(seen.all == ["a", "b", "c"])
    token.cancel()
  }

  @Test("choosing the same inner value again does not duplicate its notifications")
  func sameInnerAgain() {
    let inner = Observable(0)
    let chosen = Observable(inner.binding)
    let seen = Recorder<Int>()
    let token = chosen.flattened().observe { seen.record($0) }
    chosen.value = inner.binding
    chosen.value = inner.binding
    seen.clear()
    inner.value = 1
    #expect(seen.all == [1])
    token.cancel()
  }

  @Test("subscribing and disposing inside callbacks keeps the number of observers right")
  func churnInside() {
    let (left, right) = (Observable(0), Observable(0))
    let calls = Protected(0)
    let tokens = Protected<[ObserverToken]>([])
    let driver = left.observe { value in
      guard value > 0 else { return }
      if value.isMultiple(of: 3) {
        for token in tokens.withLock({ $0 }) { token.cancel() }
        tokens.withLock { $0 = [] }
      }
      let token = right.observe { if $0 > 0 { calls.withLock { $0 += 1 } } }
      tokens.withLock { $0.append(token) }
    }
    for value in 1...8 { left.value = value }
    // The 6th write cleared all tokens; those of 6, 7 and 8 remain.
    right.value = 1
    #expect(calls.withLock { $0 } == 3)
    driver.cancel()
  }

  @Test("a subscriber runs on the sending thread before sending returns")
  func synchronous() {
    let relay = Observable(0)
    let seen = Recorder<Int>()
    let token = relay.observe { seen.record($0) }
    onThreads(1) { _ in
      relay.value = 1
      #expect(seen.all.last == 1)
    }
    token.cancel()
  }

  @Test("a binding to a released value refuses writes and notifies nobody")
  func afterTheEnd() {
    var relay: Observable<Int>? = Observable(1)
    let seen = Recorder<Int>()
    let binding = relay?.binding
    let token = relay?.observe { seen.record($0) }
    relay = nil
    binding?.value = 2
    #expect(binding?.value == 1)
    #expect(seen.all == [1])
    #expect(binding?.observe { seen.record($0) }.isCancelled == false)
    #expect(seen.all == [1])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value is computed once for many subscribers")
  func multicast() {
    let relay = Observable(1)
    let computed = Recorder<Int>()
    let double = relay.derived { value -> Int in
      computed.record(value)
      return value * 2
    }
    let tokens = (0..<5).map { _ in double.observe { _ in } }
    relay.value = 2
    #expect(computed.all == [1, 2])
    withExtendedLifetime(tokens) {}
  }

  @Test("releasing another value's token inside a callback and under a custom lock does not deadlock")
  func tokenUnderLock() {
    let (left, right) = (Observable(0), Observable(0))
    let kept = Protected<ObserverToken?>(right.observe { _ in })
    let token = left.observe { value in
      if value == 1 { kept.withLock { $0 = nil } }
    }
    left.value = 1
    #expect(kept.withLock { $0 == nil })
    token.cancel()
  }

  @Test("a value of a plain type feeds one of an optional type")
  func plainToOptional() {
    let (plain, optional) = (Observable("a"), Observable<String?>(nil))
    let token = plain.observe { optional.value = $0 }
    plain.value = "b"
    #expect(optional.value == "b")
    token.cancel()
  }
}
