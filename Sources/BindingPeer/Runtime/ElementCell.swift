import BindingModel

/// The observers of one element of a list, whether it is there or not. It lives while somebody uses it: a handle holds
/// it, and so does each observation.
final class ElementCell<Element: Sendable & Equatable>: Sendable {
  private struct Held: Sendable {
    var element: Element?
    var isBegun = false
    /// Why the last write was not applied; the next other value clears it.
    var problem: String?
    /// The stamp of that refusal.
    var refusedAt: UInt64 = 0
    /// nil: the list is gone, and with it the observers.
    var published: Observable<Element?>?
    /// Created when the status is first observed.
    var broadcaster: StatusBroadcaster<FieldStatus>?
  }
  let id: String
  private let held: Protected<Held>
  private let tracked = TrackedReads<Element?>()

  init(id: String) {
    self.id = id
    held = Protected(Held(published: Observable(nil)))
  }

  /// The element, without tracking; nil: it is not there.
  var element: Element? { held.withLock { $0.element } }

  var problem: String? { held.withLock { $0.problem } }

  /// Reads the element for the trackers of this thread.
  func read() -> Element? { ReadTracking.current == .nobody ? element : tracked.read { element } }

  /// The first value, unless another was received meanwhile.
  func begin(with element: Element?) {
    held.withLock { held in
      guard !held.isBegun else { return }
      held.isBegun = true
      held.element = element
      held.published?.setSilently(element)
    }
  }

  /// Shows another value; `publish` notifies of it.
  func hold(_ element: Element?, stamp: UInt64) {
    // The old value is released outside the lock: its deinit may run any code.
    let former: Element? = held.withLock { held in
      defer {
        held.element = element
        held.isBegun = true
        if stamp > held.refusedAt { held.problem = nil }
      }
      return held.element
    }
    tracked.invalidate()
    withExtendedLifetime(former) {}
  }

  func publish() {
    let (published, element) = held.withLock { ($0.published, $0.element) }
    published?.value = element
    tracked.notify(element)
  }

  func reject(_ reason: String, stamp: UInt64) {
    held.withLock {
      $0.problem = reason
      $0.refusedAt = stamp
    }
  }

  /// The list is gone: releases the observers, which hold this cell.
  func close() {
    let published = held.withLock { held in
      defer { held.published = nil }
      return held.published
    }
    withExtendedLifetime(published) {}
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Element?, Writer) -> Void) -> ObserverToken {
    guard let published = held.withLock({ $0.published }) else { return ObserverToken {} }
    return published.binding.location.observe(owner: owner) { [self] element, writer in
      withExtendedLifetime(self) { body(element, writer) }
    }
  }

  func remove(observer owner: AnyObject) { held.withLock { $0.published }?.remove(observer: owner) }

  /// The broadcaster of the element's status, which the first caller makes.
  func statusBroadcaster(
    present: @escaping @Sendable () -> FieldStatus, begin: @escaping @Sendable (any StatusReporter) -> Void
  ) -> StatusBroadcaster<FieldStatus> {
    if let broadcaster = held.withLock({ $0.broadcaster }) { return broadcaster }
    let fresh = StatusBroadcaster<FieldStatus>(present: present, begin: begin)
    return held.withLock { held in
      let broadcaster = held.broadcaster ?? fresh
      held.broadcaster = broadcaster
      return broadcaster
    }
  }
}

/// An object of its own: copying a weak reference is expensive, and the table of them grows.
// SAFETY: a weak reference may be read on any thread, and this one is never set again.
final class WeakElementCell<Element: Sendable & Equatable>: @unchecked Sendable {
  private(set) weak var cell: ElementCell<Element>?

  init(cell: ElementCell<Element>) { self.cell = cell }
}
