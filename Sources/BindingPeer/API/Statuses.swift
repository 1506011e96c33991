public import BindingModel

/// A status as a value that can be read, observed, shown in a control and awaited:
/// ```swift
/// let token = lamp.$level.statuses.observe { print($0) }
/// lamp.$level.statuses.show(\.description, in: label, \.text) { $0 }
/// for await status in lamp.statuses.values where status.unconfirmed == 0 { break }
/// ```
/// The status of a field or model is reported on the model's lane, at most once per turn and after the turn's values;
/// that of a peer on the thread that changes it, which may be the link's: do not block there, or use
/// `observe(on:lane:)`. Only the newest status is reported, and no two equal ones in a row. An unobserved status is
/// computed when it is read and costs nothing else.
public struct Statuses<Status: Sendable & Equatable>: ValueSource, Sendable {
  let broadcaster: StatusBroadcaster<Status>
  /// The object that the status describes, kept alive.
  let subject: any AnyObject & Sendable

  /// The present status. Reads inside `withObservationTracking`, `Observations` or a SwiftUI view are tracked; inside
  /// a `Derived` it is a source. The same holds for `status` of a field, model or peer.
  public var value: Status { broadcaster.read() }

  /// The location that bindings use; it cannot be written.
  public var location: any BindingLocation<Status> {
    StatusLocation(published: broadcaster.location, broadcaster: broadcaster)
  }

  /// Observes the status, now and at each change, until the token is cancelled or released.
  public func observe(_ body: @escaping @Sendable (Status) -> Void) -> ObserverToken {
    broadcaster.observe(owner: nil) { status, _ in body(status) }
  }

  /// Observes the status, now and at each change, while `owner` lives, which is held weakly.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Status) -> Void) -> ObserverToken {
    broadcaster.observe(owner: owner) { status, _ in body(status) }
  }
}

/// Reports a status that may have changed to its observers.
protocol StatusReporter: AnyObject, Sendable {
  /// Whether there are observers. Not to be called under a lock: the check whether an owner lives may release the
  /// last reference to it.
  var isObserved: Bool { get }
  /// The status may have changed: what was computed from it is recomputed when it is read.
  func invalidate()
  /// Reports the status if it differs from the one last reported.
  func report()
}

/// Broadcasts one status to its observers. Its creator keeps it alive.
final class StatusBroadcaster<Status: Sendable & Equatable>: StatusReporter {
  private struct Observers: Sendable {
    var tokens = 0
    /// For each owner, whether it still lives.
    var owners: [UInt64: @Sendable () -> Bool] = [:]
    var lastOwner: UInt64 = 0
  }
  private let published: Observable<Status>
  let present: @Sendable () -> Status
  /// Has `report` called from now on, whenever the status may have changed.
  private let begin: @Sendable (any StatusReporter) -> Void
  private let observers = Protected(Observers())
  private let tracked = TrackedReads<Status>()

  init(present: @escaping @Sendable () -> Status, begin: @escaping @Sendable (any StatusReporter) -> Void) {
    self.present = present
    self.begin = begin
    published = Observable(present())
  }

  var location: any BindingLocation<Status> { published.binding.location }

  var isObserved: Bool {
    let (tokens, owners) = observers.withLock { ($0.tokens, $0.owners) }
    if tokens > 0 || tracked.isTracked { return true }
    let gone = owners.filter { !$0.value() }
    if !gone.isEmpty { observers.withLock { for owner in gone.keys { $0.owners[owner] = nil } } }
    return wasObserved
  }

  /// Whether there were observers at the last check.
  var wasObserved: Bool { observers.withLock { $0.tokens > 0 || !$0.owners.isEmpty } || tracked.isTracked }

  func invalidate() { if tracked.isTracked { tracked.invalidate() } }

  /// Computed within the update: of two threads the later one has the last word.
  func report() {
    published.update { $0 = present() }
    if tracked.isTracked { tracked.notify(present()) }
  }

  /// The present status; trackers of this read are notified when it changes.
  func read() -> Status {
    guard ReadTracking.current != .nobody else { return present() }
    return tracked.read {
      begin(self)
      return present()
    }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Status, Writer) -> Void) -> ObserverToken {
    let isFirst = !isObserved
    // SAFETY: the reference is only compared with nil, and never read by two threads while it changes.
    nonisolated(unsafe) weak let weakOwner = owner
    observers.withLock { observers in
      guard owner != nil else {
        observers.tokens += 1
        return
      }
      observers.lastOwner += 1
      observers.owners[observers.lastOwner] = { weakOwner != nil }
    }
    if isFirst {
      begin(self)
      report()
    }
    let token = location.observe(owner: owner, body)
    guard owner == nil else { return token }
    return ObserverToken { [weak self] in
      token.cancel()
      self?.observers.withLock { $0.tokens -= 1 }
    }
  }
}

extension Protected {
  /// The object, which the first caller makes, outside the lock. Of two made at once, the one stored first counts.
  func object<Object: Sendable>(orNew make: () -> Object) -> Object where Value == Object? {
    if let present = withLock({ $0 }) { return present }
    let fresh = make()
    return withLock { stored in
      let object = stored ?? fresh
      stored = object
      return object
    }
  }
}

/// The location of a status: it takes no writes and keeps nothing alive.
private struct StatusLocation<Status: Sendable & Equatable>: UnwritableLocation {
  let published: any BindingLocation<Status>
  weak var broadcaster: StatusBroadcaster<Status>?

  func read() -> Status { broadcaster?.read() ?? published.read() }

  func track() { _ = broadcaster?.read() }

  var refusal: BindingError { BindingError(.refused, "a status is read-only") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Status, Writer) -> Void) -> ObserverToken {
    broadcaster?.observe(owner: owner, body) ?? published.observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { published.remove(observer: owner) }
}

/// Converts the session's milliseconds into instants that programs can use. Both clocks stop while the machine
/// sleeps.
enum PeerClock {
  /// Milliseconds are truncated: with one more no instant lies in the future.
  private static let origin = (instant: SuspendingClock.now, milliseconds: PeerRuntime.now + 1)

  /// Equal milliseconds give equal instants, a millisecond early at most.
  static func instant(_ milliseconds: UInt64) -> SuspendingClock.Instant {
    instant(signed: Int64(clamping: milliseconds))
  }

  /// The same for a time that may lie before the clock began: values from a file are that old.
  static func instant(signed milliseconds: Int64) -> SuspendingClock.Instant {
    origin.instant.advanced(by: .milliseconds(milliseconds - Int64(clamping: origin.milliseconds)))
  }
}
