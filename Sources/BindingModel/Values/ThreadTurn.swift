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
  /// Names the outermost `Turn.run` in progress; 0 outside.
  @usableFromInline var hold: UInt64 = 0
  /// See `Hops`.
  @usableFromInline var hops: UInt8 = 0
  /// Retained, except `staleRound`.
  @usableFromInline var queue = Deque<Unmanaged<AnyCell>>()
  /// The round of derived values comes before the queue.
  @usableFromInline var isStaleNext = false
  /// Set by `TrackingProbe` alone.
  var isTracking = false
  /// The probe of the process, cached: on Linux fetching a global costs as much as the rest of a read.
  let probe = Unmanaged.passUnretained(TrackingProbe.shared)
  /// Records what this thread reads while a derived value is being computed.
  var collector: Unmanaged<DependencyCollector>?
  /// Detects values that answer each other endlessly; created when a turn gets long.
  var watch: LoopWatch?
  /// Names the drain in progress.
  private(set) var drain: UInt64 = 0
  /// Names the pass in progress, in which each derived value is refreshed once; 0 outside.
  var pass: UInt64 = 0
  private var passCount: UInt64 = 0
  /// The pool of collectors, a linked list.
  private var collectors: Unmanaged<DependencyCollector>?
  /// Observed derived values whose roots were written, to be checked in a round.
  private var stale = PlainList<StaleNode>()
  private var spareStale = PlainList<StaleNode>()
  /// Stands in the queue for the round of derived values.
  private let staleRound = Unmanaged.passRetained(AnyCell())
  /// What is being released, one after the other.
  private var released: [Remains]?
  private var held = Deque<AnyCell>()
  private var depth = 0
  private var holdCount: UInt64 = 0

  private init(id: UInt64) { self.id = id }

  @inlinable
  var isEmpty: Bool { !isStaleNext && queue.isEmpty }

  @inlinable
  var isIdle: Bool { !isDelivering && hold == 0 }

  /// This thread's turn, created on first use and freed when the thread ends.
  @inlinable @inline(__always)
  static var current: UnsafeMutablePointer<ThreadTurn> {
    if let known = bindbus_thread_pointer() { return known.assumingMemoryBound(to: ThreadTurn.self) }
    return makeCurrent()
  }

  static func open(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.depth += 1
    guard turn.pointee.depth == 1 else { return }
    turn.pointee.holdCount += 1
    // Unique in the process for 2^24 threads of 2^40 turns each; 0 stays free.
    turn.pointee.hold = turn.pointee.id << 40 | (turn.pointee.holdCount & 0xFF_FFFF_FFFF)
  }

  static func close(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.depth -= 1
    guard turn.pointee.depth == 0 else { return }
    let hold = turn.pointee.hold
    turn.pointee.hold = 0
    while let member = turn.pointee.held.popFirst() { member.release(hold: hold, in: turn) }
    drainIfIdle(turn)
  }

  /// Remembers an observable whose newest value is held until the end of the current turn.
  static func keep(_ member: AnyCell, in turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.held.append(member)
  }

  /// Queues an observable for its round, in order of arrival.
  @usableFromInline
  static func schedule(_ member: AnyCell, in turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.queue.append(Unmanaged.passRetained(member))
  }

  /// Queues an observed derived value. Those of one round are checked together, each once, lowest first.
  static func schedule(_ node: DerivedNode) {
    let turn = current
    turn.pointee.stale.append(
      StaleNode(
        node: Unmanaged.passRetained(node), cause: turn.pointee.watch?.cause ?? 0, hops: turn.pointee.hops))
    guard turn.pointee.stale.count == 1 else { return }
    if turn.pointee.queue.isEmpty {
      turn.pointee.isStaleNext = true
    } else {
      turn.pointee.queue.append(turn.pointee.staleRound)
    }
    drainIfIdle(turn)
  }

  /// Publishes the derived values whose roots were written.
  private static func publishStale(in turn: UnsafeMutablePointer<ThreadTurn>) {
    if turn.pointee.stale.count == 1 {
      let stale = turn.pointee.stale[0]
      turn.pointee.stale.removeAll()
      return publish(stale, in: turn)
    }
    var nodes = turn.pointee.stale
    turn.pointee.stale = turn.pointee.spareStale
    turn.pointee.spareStale = PlainList()
    StaleNode.order(&nodes)
    for stale in nodes.elements { publish(stale, in: turn) }
    nodes.removeAll()
    turn.pointee.spareStale.free()
    turn.pointee.spareStale = nodes
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
    guard turn.pointee.pass == 0 else { return body() }
    renewPass(turn)
    defer { turn.pointee.pass = 0 }
    return body()
  }

  /// Starts a new pass, in which everything is checked again.
  static func renewPass(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    turn.pointee.passCount += 1
    turn.pointee.pass = turn.pointee.id << 40 | (turn.pointee.passCount & 0xFF_FFFF_FFFF)
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
    turn.pointee.drain &+= 1
    let hops = turn.pointee.hops
    var rounds = 0
    while !turn.pointee.isEmpty {
      rounds += 1
      if rounds == LoopWatch.start { turn.pointee.watch = LoopWatch() }
      if turn.pointee.isStaleNext {
        turn.pointee.isStaleNext = false
        publishStale(in: turn)
      } else if let member = turn.pointee.queue.popFirst() {
        if member.toOpaque() == turn.pointee.staleRound.toOpaque() {
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
    staleRound.release()
    stale.free()
    spareStale.free()
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

/// An observed derived value whose root was written, retained, with the cause of that write.
private struct StaleNode: BitwiseCopyable {
  let node: Unmanaged<DerivedNode>
  let cause: UInt64
  var hops: UInt8
  var height = 0

  /// Sorts by height, lowest first, and removes duplicates.
  static func order(_ nodes: inout PlainList<StaleNode>) {
    var indices: [UnsafeMutableRawPointer: Int] = [:]
    var ordered = PlainList<StaleNode>()
    for var stale in nodes.elements {
      if let index = indices[stale.node.toOpaque()] {
        ordered[index].hops = max(ordered[index].hops, stale.hops)
        stale.node.release()
      } else {
        indices[stale.node.toOpaque()] = ordered.count
        stale.height = stale.node._withUnsafeGuaranteedRef { $0.height }
        ordered.append(stale)
      }
    }
    var elements = ordered.elements
    elements.sort { $0.height < $1.height }
    nodes.free()
    nodes = ordered
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
