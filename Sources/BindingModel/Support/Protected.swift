#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  public import Glibc
#elseif canImport(Musl)
  public import Musl
#endif

#if canImport(Darwin)
  @usableFromInline typealias PlatformLock = os_unfair_lock
#else
  @usableFromInline typealias PlatformLock = pthread_mutex_t
#endif

/// A value that is accessed only under its own lock.
///
/// The lock is not recursive: `withLock` inside `withLock` of the same instance deadlocks, so never call a user's
/// closure there. Copies of a `Protected` share one value.
public struct Protected<Value>: Sendable {
  // SAFETY: `storage` never leaves this struct, and its state is reached only between `lock()` and `unlock()`.
  @usableFromInline nonisolated(unsafe) let storage: LockedStorage<Value>

  /// Protects a value with a new lock.
  @inlinable
  public init(_ value: sending Value) {
    storage = LockedStorage<Value>.holding(value)
  }

  /// Runs `body` with exclusive access to the value, on the calling thread.
  // Always inlined: where the value's type is not known, a separate call would look it up each time.
  @inlinable @inline(__always)
  public func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let state = storage.lock()
    defer { storage.unlock() }
    return try body(&state.pointee)
  }
}

/// State and the lock that guards it, in one allocation.
///
/// The lock is in tail-allocated memory because its address must never change while threads wait on it.
@usableFromInline
final class LockedStorage<State>: ManagedBuffer<State, PlatformLock> {
  @inlinable
  deinit { withUnsafeMutablePointerToElements { $0.destroyLock() } }

  @inlinable
  static func holding(_ state: State) -> LockedStorage {
    let buffer = LockedStorage.create(minimumCapacity: 1) { buffer in
      buffer.withUnsafeMutablePointerToElements { $0.makeLock() }
      return state
    }
    // SAFETY: `create` allocates an instance of the class it is called on.
    return unsafeDowncast(buffer, to: LockedStorage.self)
  }

  /// Takes the lock. The pointer is valid until `unlock()` on the same thread, and no longer.
  @inlinable @inline(__always)
  func lock() -> UnsafeMutablePointer<State> {
    withUnsafeMutablePointers { state, lock in
      lock.takeLock()
      return state
    }
  }

  @inlinable @inline(__always)
  func unlock() { withUnsafeMutablePointerToElements { $0.releaseLock() } }
}

/// A lock's memory, before `makeLock`.
func blankLock() -> PlatformLock { PlatformLock() }

extension UnsafeMutablePointer<PlatformLock> {
  @inlinable
  func makeLock() {
    initialize(to: PlatformLock())
    #if !canImport(Darwin)
      _ = pthread_mutex_init(self, nil)
    #endif
  }

  @inlinable
  func destroyLock() {
    #if !canImport(Darwin)
      _ = pthread_mutex_destroy(self)
    #endif
  }

  @inlinable @inline(__always)
  func takeLock() {
    #if canImport(Darwin)
      os_unfair_lock_lock(self)
    #else
      _ = pthread_mutex_lock(self)
    #endif
  }

  @inlinable @inline(__always)
  func releaseLock() {
    #if canImport(Darwin)
      os_unfair_lock_unlock(self)
    #else
      _ = pthread_mutex_unlock(self)
    #endif
  }
}
