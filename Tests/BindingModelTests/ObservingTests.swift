import BindingModel
import Testing

@Suite("observations")
struct ObservationTests {
  @Test("behaviour 6: an observation ends when its token is cancelled or released; a second cancel is harmless")
  func tokens() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let cancelled = level.observe { seen.record($0) }
    var released: ObserverToken? = level.observe { seen.record($0 + 100) }
    #expect(!cancelled.isCancelled)
    cancelled.cancel()
    cancelled.cancel()
    #expect(cancelled.isCancelled)
    level.value = 1
    #expect(released != nil)
    released = nil
    level.value = 2
    #expect(seen.all == [0, 100, 101])
  }

  @Test("behaviour 9: an observer cancelled inside a callback is not called again, even in the current turn")
  func cancelInsideCallback() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let later = Protected<ObserverToken?>(nil)
    let first = level.observe { value in
      seen.record("first \(value)")
      if value == 1 { later.withLock { $0 }?.cancel() }
    }
    later.withLock { $0 = level.observe { seen.record("second \($0)") } }
    level.value = 1
    level.value = 2
    #expect(seen.all == ["first 0", "second 0", "first 1", "first 2"])
    withExtendedLifetime(first) {}
  }

  @Test("an observer can cancel itself while values wait for it")
  func cancelItself() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let own = Protected<ObserverToken?>(nil)
    let writer = level.observe { value in
      guard value == 1 else { return }
      level.value = 2
      level.value = 3
    }
    own.withLock {
      $0 = level.observe { value in
        seen.record(value)
        if value == 2 { own.withLock { $0 }?.cancel() }
      }
    }
    level.value = 1
    #expect(seen.all == [0, 1, 2])
    own.withLock { $0 = nil }
    withExtendedLifetime(writer) {}
  }

  @Test("behaviour 9: an observer registered inside a callback gets the present value first and no earlier ones")
  func observeInsideCallback() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let inner = Protected<ObserverToken?>(nil)
    let outer = level.observe { value in
      guard value == 1 else { return }
      level.value = 2
      let token = level.observe { seen.record($0) }
      inner.withLock { $0 = token }
    }
    level.value = 1
    #expect(seen.all == [2])
    level.value = 3
    #expect(seen.all == [2, 3])
    inner.withLock { $0 = nil }
    withExtendedLifetime(outer) {}
  }

  @Test("a write made by an observer's first callback reaches it and all others once")
  func writeInsideFirstCallback() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let old = level.observe { seen.record("old \($0)") }
    let new = level.observe { value in
      seen.record("new \(value)")
      if value == 0 { level.value = 1 }
    }
    #expect(seen.all == ["old 0", "new 0", "new 1", "old 1"])
    level.value = 2
    #expect(seen.all.suffix(2) == ["old 2", "new 2"])
    withExtendedLifetime((old, new)) {}
  }

  @Test("an observer removed in its own first callback is not called again")
  func endedByFirstCallback() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let owner = Owner()
    level.observe(on: owner) { value in
      seen.record(value)
      level.value = 1
      level.remove(observer: owner)
    }
    level.value = 2
    #expect(seen.all == [0])
  }

  @Test("behaviour 6: an owned observation needs no token and ends when its owner dies")
  func ownerDies() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    var owner: Owner? = Owner()
    weak let gone = owner
    if let owner { level.observe(on: owner) { seen.record($0) } }
    level.value = 1
    owner = nil
    #expect(gone == nil)
    level.value = 2
    #expect(seen.all == [0, 1])
  }

  @Test("remove(observer:) drops every registration of that owner and no other")
  func removeByOwner() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let first = Owner()
    let second = Owner()
    level.observe(on: first) { seen.record("a\($0)") }
    level.observe(on: first) { seen.record("b\($0)") }
    level.observe(on: second) { seen.record("c\($0)") }
    level.remove(observer: first)
    level.remove(observer: first)
    level.value = 1
    #expect(seen.all == ["a0", "b0", "c0", "c1"])
    withExtendedLifetime((first, second)) {}
  }

  @Test("an owner removed inside a callback is not called again in that turn")
  func removeByOwnerInsideCallback() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let owner = Owner()
    let token = level.observe { value in
      seen.record("token \(value)")
      if value == 1 { level.remove(observer: owner) }
    }
    level.observe(on: owner) { seen.record("owner \($0)") }
    level.value = 1
    #expect(seen.all == ["token 0", "owner 0", "token 1"])
    withExtendedLifetime((token, owner)) {}
  }

  @Test("a body that takes its owner as an argument does not keep it alive")
  func ownerAsArgument() {
    final class Label: Sendable {
      let texts = Recorder<String>()
    }
    let name = Observable("a")
    var label: Label? = Label()
    weak let gone = label
    if let label { name.observe(on: label) { label, value in label.texts.record(value) } }
    name.value = "b"
    #expect(label?.texts.all == ["a", "b"])
    label = nil
    #expect(gone == nil)
    name.value = "c"
  }

  @Test("observations of dead owners are released even if nothing is ever written")
  func deadOwnersArePruned() {
    let level = Observable(0)
    let captured = Recorder<WeakBox>()
    for _ in 0..<100 {
      let payload = Owner()
      captured.record(WeakBox(payload))
      level.observe(on: Owner()) { _ in withExtendedLifetime(payload) {} }
    }
    let alive = captured.all.filter { $0.isAlive }.count
    #expect(alive <= 16, "\(alive) of 100 closures are still held")
  }

  @Test("behaviour 5: a released observable releases its observers, and its tokens keep nothing alive")
  func observableDies() {
    var level: Observable<Int>? = Observable(0)
    weak let goneLevel = level
    var payload: Owner? = Owner()
    weak let gonePayload = payload
    let token = level?.observe { [payload] _ in withExtendedLifetime(payload) {} }
    payload = nil
    #expect(gonePayload != nil)
    level = nil
    #expect(goneLevel == nil)
    #expect(gonePayload == nil)
    token?.cancel()
  }

  @Test("cancelling a token releases what the body captured immediately")
  func cancelReleases() {
    let level = Observable(0)
    var payload: Owner? = Owner()
    weak let gone = payload
    let token = level.observe { [payload] _ in withExtendedLifetime(payload) {} }
    payload = nil
    level.value = 1
    token.cancel()
    #expect(gone == nil)
  }

  @Test("an observable released inside a callback notifies nobody further")
  func releasedInsideCallback() {
    let seen = Recorder<String>()
    let level = Protected<Observable<Int>?>(Observable<Int>(0))
    let tokens = Protected<[ObserverToken]>([])
    func observe(_ body: @escaping @Sendable (Int) -> Void) {
      guard let observable = level.withLock({ $0 }) else { return }
      let token = observable.observe(body)
      tokens.withLock { $0.append(token) }
    }
    observe { value in
      seen.record("first \(value)")
      if value == 1 { level.withLock { $0 = nil } }
    }
    observe { seen.record("second \($0)") }
    let binding = level.withLock { $0 }?.binding
    binding?.value = 1
    binding?.value = 2
    #expect(seen.all == ["first 0", "second 0", "first 1"])
    #expect(binding?.value == 1)
  }
}

/// Reports whether an object is alive, without keeping it alive.
// SAFETY: set once, before it is shared; reading a weak reference is safe on any thread.
final class WeakBox: @unchecked Sendable {
  private weak var object: Owner?

  init(_ object: Owner) { self.object = object }

  var isAlive: Bool { object !== nil }
}
