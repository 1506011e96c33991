import BindingModel
import Testing

/// What those who come from relays and subjects of stream libraries take for granted.
@Suite("a value used as a relay or subject")
struct RelayTests {
  @Test("gives a late subscriber the latest value, then the later ones")
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

  @Test("goes on for two of three subscribers when one is disposed of")
  func oneOfThree() {
    let relay = Observable(0)
    let seen = (0..<3).map { _ in Recorder<Int>() }
    let tokens = seen.map { recorder in relay.observe { recorder.record($0) } }
    relay.value = 1
    tokens[1].cancel()
    relay.value = 2
    #expect(seen.map(\.all) == [[0, 1, 2], [0, 1], [0, 1, 2]])
  }

  @Test("accepts inside a subscription, and all subscribers see one order")
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

  @Test("feeds a second one way, and that a third")
  func oneWay() {
    let (first, second, third) = (Observable(1), Observable(0), Observable(0))
    let tokens = [first.observe { second.value = $0 }, second.observe { third.value = $0 * 10 }]
    first.value = 2
    #expect(third.value == 20)
    third.value = 7
    #expect(first.value == 2)
    withExtendedLifetime(tokens) {}
  }

  @Test("is let go of by a bag of tokens")
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

  @Test("says that a token was cancelled, and bears a second time")
  func cancelledTwice() {
    let token = Observable(0).observe { _ in }
    #expect(!token.isCancelled)
    token.cancel()
    token.cancel()
    #expect(token.isCancelled)
  }

  @Test("tells nothing more after disposal inside a callback, not even what is queued")
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

  @Test("holds no lock in callbacks: another thread may read, write and subscribe meanwhile")
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

  @Test("counts as changed by a key of one's own")
  func byKey() {
    let relay = Observable(["id": 1, "other": 1], filter: .unless { $0["id"] == $1["id"] })
    let seen = Recorder<Int>()
    let token = relay.observe { seen.record($0["id"] ?? 0) }
    relay.value = ["id": 1, "other": 2]
    relay.value = ["id": 2, "other": 2]
    #expect(seen.all == [1, 2])
    token.cancel()
  }

  @Test("ends for all on the same value, in the same order, when many accept at once")
  func concurrentAccepts() {
    let relay = Observable(0)
    let recorders = (0..<3).map { _ in Recorder<Int>() }
    let tokens = recorders.map { recorder in relay.observe { recorder.record($0) } }
    onThreads(4) { thread in for number in 1...200 { relay.value = thread * 1_000 + number } }
    #expect(Set(recorders.map(\.all)).count == 1)
    #expect(recorders[0].all.last == relay.value)
    withExtendedLifetime(tokens) {}
  }

  @Test("subscribed inside a subscription tells the inner one the present value, and each later one once")
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

  @Test("lets go of the former inner one when another is chosen")
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

  @Test("chosen again tells each change once, not twice")
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

  @Test("bears that many subscribe and dispose inside callbacks: the counts stay right")
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
    // The 6th cleared all; 6, 7 and 8 stayed.
    right.value = 1
    #expect(calls.withLock { $0 } == 3)
    driver.cancel()
  }

  @Test("runs a subscriber on the thread that sends, before sending returns")
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

  @Test("takes no write through a binding and calls nobody once it is gone")
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

  @Test("computes a derived value once for many subscribers")
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

  @Test("removes another value's token inside a callback and under a lock of one's own without deadlock")
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

  @Test("of a plain type feeds one of an optional type")
  func plainToOptional() {
    let (plain, optional) = (Observable("a"), Observable<String?>(nil))
    let token = plain.observe { optional.value = $0 }
    plain.value = "b"
    #expect(optional.value == "b")
    token.cancel()
  }
}
