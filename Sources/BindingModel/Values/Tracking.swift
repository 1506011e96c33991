import Observation

/// Reports reads and writes of an observable to `withObservationTracking`, and through it to SwiftUI.
///
/// A registrar costs memory, and time at every write. So a cell gets one when it is first read *inside* a tracking
/// closure, and an ordinary observer notifies the registrar of writes. A cell that was never tracked pays nothing.
///
/// A class: a registrar's size is known to its library alone, and a `Traffic` that held one would be copied as a
/// whole at every access to any of its fields.
final class Tracker: Observation.Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private var value: Void { () }

  func access() { registrar.access(self, keyPath: \.value) }

  /// Notifies the tracking closures. Observation does so before a change; here it happens once the change is stored,
  /// and once per turn, so that an immediate read returns the new value.
  func notify() {
    registrar.willSet(self, keyPath: \.value)
    registrar.didSet(self, keyPath: \.value)
  }
}

/// Whether the calling thread is inside `withObservationTracking`, which Observation does not expose.
///
/// A tracked access puts its key path into a set, and a set asks its element for a hash; an untracked access returns
/// immediately. So a key path with a hash of our own detects tracking.
///
/// One object holds both, so that a read fetches one global and copies neither.
final class TrackingProbe: Sendable {
  private let keyPath: any KeyPath<Subject, Void> & Sendable = \Subject[Sensor()]
  private let registrar = ObservationRegistrar()

  static let shared = TrackingProbe()

  @inline(__always)
  static var isTracking: Bool { isTracking(ThreadTurn.current) }

  @inline(__always)
  static func isTracking(_ turn: UnsafeMutablePointer<ThreadTurn>) -> Bool {
    turn.pointee.probe._withUnsafeGuaranteedRef { $0.isTracking(turn) }
  }

  private func isTracking(_ turn: UnsafeMutablePointer<ThreadTurn>) -> Bool {
    // Installing or ending another tracking may have hashed the element again since.
    turn.pointee.isTracking = false
    registrar.access(Subject(), keyPath: keyPath)
    return turn.pointee.isTracking
  }

  private struct Subject: Observation.Observable {
    subscript(sensor: Sensor) -> Void { () }
  }

  private struct Sensor: Hashable, Sendable {
    func hash(into hasher: inout Hasher) { ThreadTurn.current.pointee.isTracking = true }
  }
}

extension Cell {
  @usableFromInline
  func track() {
    let turn = ThreadTurn.current
    if turn.pointee.collector == nil, !TrackingProbe.isTracking(turn) { return }
    add(to: turn)
  }

  @inline(never)
  private func add(to turn: UnsafeMutablePointer<ThreadTurn>) {
    if let collector = turn.pointee.collector {
      collector._withUnsafeGuaranteedRef { $0.add(self, version: stamp) }
    } else {
      tracker().access()
    }
  }

  /// Reads value and version atomically, for the current computation.
  func read(for collector: Unmanaged<DependencyCollector>) -> Value {
    lock()
    let version = openTraffic().pointee.version
    let value = self.value
    unlock()
    collector._withUnsafeGuaranteedRef { $0.add(self, version: version) }
    return value
  }

  private func tracker() -> Tracker {
    lock()
    let traffic = openTraffic()
    if let tracker = traffic.pointee.tracker {
      unlock()
      return tracker
    }
    let tracker = Tracker()
    traffic.pointee.tracker = tracker
    unlock()
    _ = add(Observer(owner: nil) { _ in tracker.notify() }, cancelsWhenReleased: false)
    return tracker
  }
}
