public import BindingModel

/// How something stands, as a value that can be read, observed, shown in a control and awaited:
/// ```swift
/// let token = lamp.$level.statuses.observe { print($0) }
/// lamp.$level.statuses.show(\.description, in: label, \.text) { $0 }
/// for await status in lamp.statuses.values where status.unconfirmed == 0 { break }
/// ```
/// The status of a field or model is told on the model's lane, once a turn at most and after the turn's values, that of
/// a peer on the thread that brings the news, which may be the link's: do not wait there, or say
/// `observe(on:lane:)`. Only the newest is told, and no two equal ones follow each other. A status that nobody observes
/// is computed when it is read and costs nothing else.
public struct Statuses<Status: Sendable & Equatable>: ValueSource, Sendable {
  let broadcaster: StatusBroadcaster<Status>
  /// What the status is about, kept alive.
  let subject: any AnyObject & Sendable

  /// The present status. Read inside `withObservationTracking`, `Observations` or a SwiftUI view it is tracked, inside
  /// a `Derived` it is one of its sources; so is `status` itself, of a field, model or peer.
  public var value: Status { broadcaster.read() }

  public var location: any BindingLocation<Status> {
    StatusLocation(published: broadcaster.location, broadcaster: broadcaster)
  }

  /// Hears the present status now, and each other one, until the token is cancelled or released.
  public func observe(_ body: @escaping @Sendable (Status) -> Void) -> ObserverToken {
    broadcaster.observe(owner: nil) { status, _ in body(status) }
  }

  /// The same for as long as `owner` lives, which is held weakly.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Status) -> Void) -> ObserverToken {
    broadcaster.observe(owner: owner) { status, _ in body(status) }
  }
}

/// What may have observers that want to be told of another status.
protocol StatusReporter: AnyObject, Sendable {
  /// Whether anybody observes. Not to be asked under a lock: what looks whether an owner lives may be the last to hold
  /// it.
  var isObserved: Bool { get }
  /// The status may be another from now on: what was computed from it is computed anew where it is read.
  func invalidate()
  /// Tells the status, if it is another than the one told last.
  func report()
}

/// Where one status is told. Who makes it, keeps it.
final class StatusBroadcaster<Status: Sendable & Equatable>: StatusReporter {
  private struct Observers: Sendable {
    var tokens = 0
    /// Whether each is still there.
    var owners: [UInt64: @Sendable () -> Bool] = [:]
    var lastOwner: UInt64 = 0
  }
  private let published: Observable<Status>
  let present: @Sendable () -> Status
  /// Has it told from now on, whenever the status may be another one.
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

  /// Whether anybody observed when that was looked at last.
  var wasObserved: Bool { observers.withLock { $0.tokens > 0 || !$0.owners.isEmpty } || tracked.isTracked }

  func invalidate() { if tracked.isTracked { tracked.invalidate() } }

  /// Computed within the write: of two threads the later one has the last word.
  func report() {
    published.update { $0 = present() }
    if tracked.isTracked { tracked.notify(present()) }
  }

  /// The present status; who tracks what this thread reads hears when it is another.
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

/// The place of a status: it takes no writes. It keeps nothing alive.
private struct StatusLocation<Status: Sendable & Equatable>: UnwritableLocation {
  let published: any BindingLocation<Status>
  weak var broadcaster: StatusBroadcaster<Status>?

  func read() -> Status { broadcaster?.read() ?? published.read() }

  func track() { _ = broadcaster?.read() }

  var refusal: BindingError { BindingError(.refused, "a status is told, not written") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Status, Writer) -> Void) -> ObserverToken {
    broadcaster?.observe(owner: owner, body) ?? published.observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { published.remove(observer: owner) }
}

/// The session's milliseconds as instants of a clock that people can use. Both stand still while the machine sleeps.
enum PeerClock {
  /// Milliseconds are cut off: with one more no instant lies in the future.
  private static let origin = (instant: SuspendingClock.now, milliseconds: PeerRuntime.now + 1)

  /// Equal milliseconds are equal instants, a millisecond early at most.
  static func instant(_ milliseconds: UInt64) -> SuspendingClock.Instant {
    origin.instant.advanced(by: .milliseconds(Int64(clamping: milliseconds) - Int64(clamping: origin.milliseconds)))
  }
}
