#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// One reference per thread: the context of the closure that runs on this thread now. Used for `change {}` and for
/// deliveries, which both concern only the code that they call, on the thread that called it.
struct ThreadSlot<Occupant: AnyObject>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, nil)
    precondition(failure == 0, "no thread-specific keys left in this process")  // SAFETY: a handful per process
    self.key = key
  }

  /// The present occupant; nil outside of `occupy`.
  var occupant: Occupant? {
    pthread_getspecific(key).map { Unmanaged<Occupant>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Runs `body` with `occupant` in the slot, then restores the former one.
  func occupy<Result, Failure: Error>(by occupant: Occupant, _ body: () throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    let before = pthread_getspecific(key)
    // The slot does not retain: `withExtendedLifetime` below keeps the occupant alive for as long as it is in it.
    pthread_setspecific(key, Unmanaged.passUnretained(occupant).toOpaque())
    defer { withExtendedLifetime(occupant) { _ = pthread_setspecific(key, before) } }
    return try body()
  }
}
