public import CBindingModel

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The drainer of one thread: every observable with something to deliver on this thread is queued here for its round.
///
/// Its functions take a pointer instead of `inout`, because a running observer calls them again.
@usableFromInline
struct ThreadTurn {
  /// Unique in the process, unlike an address, which a later thread may have again.
  @usableFromInline let id: UInt64
  /// An observer is running on this thread.
  @usableFromInline var isDelivering = false
  /// See `Hops`.
  @usableFromInline var hops: UInt8 = 0
  /// The round of derived values comes before the queue.
  @usableFromInline var isStaleNext = false
  /// Set by `TrackingProbe` alone.
  var isTracking = false
  /// Retained, except the mark of `stale`.
  @usableFromInline var queue = Deque<Unmanaged<AnyCell>>()
  /// The probe of the process, cached: on Linux fetching a global costs as much as the rest of a read.
  let probe = Unmanaged.passUnretained(TrackingProbe.shared)
  /// Records what this thread reads while a derived value is being computed.
  var collector: Unmanaged<DependencyCollector>?
  /// What `Turn.run` holds back on this thread.
  @usableFromInline var hold = Hold()
  /// Detects values that answer each other endlessly; created when a turn gets long.
  var watch: LoopWatch?
  @usableFromInline var progress = Progress()
  var pass = Pass()
  /// The pool of collectors, a linked list.
  private var collectors: Unmanaged<DependencyCollector>?
  private var stale = StaleRound()
  /// What is being released, one after the other.
  private var released: [Remains]?

  private init(id: UInt64) { self.id = id }

  @inlinable
  var isEmpty: Bool { !isStaleNext && queue.isEmpty }

  @inlinable
  var isIdle: Bool { !isDelivering && hold.name == 0 }

  /// This thread's turn, created on first use and freed when the thread ends.
  @inlinable @inline(__always)
  static var current: UnsafeMutablePointer<ThreadTurn> {
    if let known = bindbus_thread_pointer() { return known.assumingMemoryBound(to: ThreadTurn.self) }
    return makeCurrent()
  }

  static func open(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    if turn.pointee.isIdle { turn.pointee.progress.cascade &+= 1 }
    turn.pointee.hold.begin(on: turn.pointee.id)
  }

  static func close(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    guard let hold = turn.pointee.hold.end() else { return }
    while let member = turn.pointee.hold.members.popFirst() { member.release(hold: hold, in: turn) }
    drainIfIdle(turn)
  }

  /// Queues an observable for its round, in order of arrival.
  @usableFromInline
  static func schedule(_ member: AnyCell, in turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.queue.append(Unmanaged.passRetained(member))
  }

  /// Queues an observed derived value. Those of one round are checked together, each once, lowest first.
  static func schedule(_ node: DerivedNode) {
    let turn = current
    let isFirst = turn.pointee.stale.add(node, cause: turn.pointee.watch?.cause ?? 0, hops: turn.pointee.hops)
    guard isFirst else { return }
    if turn.pointee.queue.isEmpty {
      turn.pointee.isStaleNext = true
    } else {
      turn.pointee.queue.append(turn.pointee.stale.mark)
    }
    drainIfIdle(turn)
  }

  /// Publishes the derived values whose roots were written.
  private static func publishStale(in turn: UnsafeMutablePointer<ThreadTurn>) {
    if let stale = turn.pointee.stale.takeOnly() { return publish(stale, in: turn) }
    let nodes = turn.pointee.stale.takeAll()
    for stale in nodes.elements { publish(stale, in: turn) }
    turn.pointee.stale.reuse(nodes)
  }

  @inline(__always)
  private static func publish(_ stale: StaleNode, in turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.watch?.passOn(stale.cause)
    turn.pointee.hops = stale.hops
    stale.node._withUnsafeGuaranteedRef { $0.publish(in: turn, cause: stale.cause) }
    stale.node.release()
  }

  /// Runs `body` in the current pass, or in a new one.
  @inline(__always)
  static func inPass<Result>(_ turn: UnsafeMutablePointer<ThreadTurn>, _ body: () -> Result) -> Result {
    guard turn.pointee.pass.name == 0 else { return body() }
    turn.pointee.pass.begin(on: turn.pointee.id)
    defer { turn.pointee.pass.name = 0 }
    return body()
  }

  /// Runs `body` with an empty collector.
  @inline(__always)
  static func withCollector<Result>(
    _ turn: UnsafeMutablePointer<ThreadTurn>, _ body: (DependencyCollector) -> Result
  ) -> Result {
    let unmanaged = turn.pointee.collectors ?? Unmanaged.passRetained(DependencyCollector())
    return unmanaged._withUnsafeGuaranteedRef { collector in
      turn.pointee.collectors = collector.next
      let result = body(collector)
      collector.clear()
      collector.next = turn.pointee.collectors
      turn.pointee.collectors = unmanaged
      return result
    }
  }

  /// Releases what may hold a long chain link by link: releasing the first link alone would recurse as deep as the
  /// chain is long.
  static func release(_ remains: Remains) {
    let turn = current
    guard turn.pointee.released == nil else {
      turn.pointee.released?.append(remains)
      return
    }
    turn.pointee.released = [remains]
    while let next = turn.pointee.released?.popLast() { next.release() }
    turn.pointee.released = nil
  }

  /// Delivers round by round until nothing is left. While an observer is running, its drainer does so afterwards.
  @usableFromInline
  static func drainIfIdle(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    guard turn.pointee.isIdle, !turn.pointee.isEmpty else { return }
    turn.pointee.isDelivering = true
    turn.pointee.progress.drain &+= 1
    let hops = turn.pointee.hops
    var rounds = 0
    while !turn.pointee.isEmpty {
      rounds += 1
      if rounds == LoopWatch.start { turn.pointee.watch = LoopWatch() }
      if turn.pointee.isStaleNext {
        turn.pointee.isStaleNext = false
        publishStale(in: turn)
      } else if let member = turn.pointee.queue.popFirst() {
        if member.toOpaque() == turn.pointee.stale.mark.toOpaque() {
          publishStale(in: turn)
        } else {
          member._withUnsafeGuaranteedRef { $0.deliverNext(in: turn) }
          member.release()
        }
      }
    }
    turn.pointee.hops = hops
    let watch = turn.pointee.watch
    if watch != nil { turn.pointee.watch = nil }
    turn.pointee.isDelivering = false
    // The watch may hold the last reference to a user's object: released with no turn in progress.
    watch?.report()
  }

  /// Runs an observer that no cell calls by the same rules: what it writes is delivered afterwards.
  @inlinable
  static func runObserver(_ body: () -> Void) {
    let turn = current
    let wasDelivering = turn.pointee.isDelivering
    turn.pointee.isDelivering = true
    body()
    turn.pointee.isDelivering = wasDelivering
    drainIfIdle(turn)
  }

  fileprivate mutating func freeLists() {
    stale.free()
    while let collector = collectors {
      collectors = collector.takeUnretainedValue().next
      collector.release()
    }
  }

  @usableFromInline @inline(never)
  static func makeCurrent() -> UnsafeMutablePointer<ThreadTurn> {
    let turn = UnsafeMutablePointer<ThreadTurn>.allocate(capacity: 1)
    let id = count.withLock { count in
      count += 1
      return count
    }
    turn.initialize(to: ThreadTurn(id: id))
    bindbus_set_thread_pointer(turn)
    pthread_setspecific(freeingKey, turn)
    return turn
  }

  private static let count = Protected<UInt64>(0)

  /// Names the thread's value whose destructor frees its turn.
  private static let freeingKey: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { freeThreadTurn($0) }
    return key
  }()
}

/// What a thread is doing, by numbers.
@usableFromInline
struct Progress {
  /// Names the drain in progress.
  var drain: UInt64 = 0
  /// Counts the writes and turns that the thread began while it was idle: what one of them leads to, observers' answers
  /// included, is one step of a `ChangeHistory`.
  @usableFromInline var cascade: UInt64 = 0
  /// See `EditSession`.
  var edit: UInt64 = 0
}

/// A time in which each derived value is refreshed once.
struct Pass {
  /// Names the pass in progress; 0 outside.
  var name: UInt64 = 0
  private var count: UInt64 = 0

  /// Starts a new pass, in which everything is checked again.
  mutating func begin(on thread: UInt64) {
    count += 1
    name = thread << 40 | (count & 0xFF_FFFF_FFFF)
  }
}

/// A turn that a program opened with `Turn.run`, and the observables whose newest values are held until its end.
@usableFromInline
struct Hold {
  /// Names the outermost `Turn.run` in progress; 0 outside.
  @usableFromInline var name: UInt64 = 0
  var members = Deque<AnyCell>()
  private var depth = 0
  private var count: UInt64 = 0

  mutating func begin(on thread: UInt64) {
    depth += 1
    guard depth == 1 else { return }
    count += 1
    // Unique in the process for 2^24 threads of 2^40 turns each; 0 stays free.
    name = thread << 40 | (count & 0xFF_FFFF_FFFF)
  }

  /// - Returns: the name of the turn if it was the outermost.
  mutating func end() -> UInt64? {
    depth -= 1
    guard depth == 0 else { return nil }
    defer { name = 0 }
    return name
  }
}

/// Called by the thread library, on the ending thread, with the pointer that `makeCurrent` stored.
private func freeThreadTurn(_ turn: UnsafeMutableRawPointer?) {
  guard let turn = turn?.assumingMemoryBound(to: ThreadTurn.self) else { return }
  turn.pointee.freeLists()
  // Another destructor of this thread that comes later gets a new one.
  bindbus_set_thread_pointer(nil)
  turn.deinitialize(count: 1)
  turn.deallocate()
}
