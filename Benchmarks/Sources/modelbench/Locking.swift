import BindingModel
import Foundation

/// An unobserved write or read, against a store or load under a lock.
enum Locking: Group {
  static let title = "a value that nobody observes, against one uncontended lock of the platform around a plain one"

  static var races: [Race] {
    [
      // 10 % is left for noise: the aim is 1.
      race("set, no observer", write: true, aim: 1.1),
      // Asks Observation whether the read is tracked.
      race("read, no observer", write: false, aim: 1.5),
      Race("set, after the only observer has gone", .atMost(nil)) { ours, theirs in
        let observable = Observable(0.0)
        observable.observe { _ in }.cancel()
        let locked = LockedValue()
        return ({ set(observable, ours, $0) }, { set(locked, theirs, $0) })
      },
    ]
  }

  private static func race(_ name: String, write: Bool, aim: Double) -> Race {
    Race(name, .atMost(aim)) { ours, theirs in
      let observable = Observable(1.0)
      let locked = LockedValue()
      if write { return ({ set(observable, ours, $0) }, { set(locked, theirs, $0) }) }
      return ({ read(observable, ours, $0) }, { read(locked, theirs, $0) })
    }
  }

  /// A value and a lock, with nothing else around them.
  private final class LockedValue {
    #if canImport(Darwin)
      private let lock = UnsafeMutablePointer<os_unfair_lock>.allocate(capacity: 1)
    #else
      private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    #endif
    private let storage = UnsafeMutablePointer<Double>.allocate(capacity: 1)

    init() {
      storage.initialize(to: 1)
      #if canImport(Darwin)
        lock.initialize(to: os_unfair_lock())
      #else
        lock.initialize(to: pthread_mutex_t())
        _ = pthread_mutex_init(lock, nil)
      #endif
    }

    @inline(__always)
    var value: Double {
      get { locked { $0.pointee } }
      set { locked { $0.pointee = newValue } }
    }

    @inline(__always)
    private func locked<Result>(_ body: (UnsafeMutablePointer<Double>) -> Result) -> Result {
      #if canImport(Darwin)
        os_unfair_lock_lock(lock)
        defer { os_unfair_lock_unlock(lock) }
      #else
        _ = pthread_mutex_lock(lock)
        defer { _ = pthread_mutex_unlock(lock) }
      #endif
      return body(storage)
    }
  }

  @inline(never)
  private static func set(_ observable: Observable<Double>, _ tally: Tally, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      observable.value = value
    }
    tally.add(observable.value)
  }

  @inline(never)
  private static func set(_ locked: LockedValue, _ tally: Tally, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      locked.value = value
    }
    tally.add(locked.value)
  }

  @inline(never)
  private static func read(_ observable: Observable<Double>, _ tally: Tally, _ count: Int) {
    var sum = 0.0
    for _ in 0..<count { sum += observable.value }
    tally.add(sum)
  }

  @inline(never)
  private static func read(_ locked: LockedValue, _ tally: Tally, _ count: Int) {
    var sum = 0.0
    for _ in 0..<count { sum += locked.value }
    tally.add(sum)
  }
}
