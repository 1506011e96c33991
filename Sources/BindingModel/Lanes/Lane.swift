public import Dispatch

/// Where observers run: the main actor, a queue, or wherever the write was made. Other libraries call it *scheduler* or
/// *executor*.
public struct Lane: Sendable {
  /// Nil for the direct lane.
  private let executor: Executor?

  private struct Executor: Sendable {
    let workQueue: WorkQueue
    let isCurrent: @Sendable () -> Bool
    let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  }

  /// The main actor. Programs must let the main queue run, as every app and every `async` main does.
  ///
  /// The queue is asked, not the thread: on Linux the main actor leaves the main thread at its first suspension.
  public static let main = Lane.queue(.main)

  /// The thread that is running, whichever it is: no hop, no order between threads. For tools and tests.
  public static let direct = Lane(executor: nil)

  /// A queue of your own, which must be serial: a concurrent one runs works side by side. All lanes of one queue are
  /// the same lane.
  public static func queue(_ queue: DispatchQueue) -> Lane {
    let workQueue = workQueueKey.withLock { key in
      if let workQueue = queue.getSpecific(key: key) { return workQueue }
      let workQueue = WorkQueue()
      queue.setSpecific(key: key, value: workQueue)
      return workQueue
    }
    let key = workQueueKey.withLock { $0 }
    return Lane(
      executor: Executor(
        workQueue: workQueue,
        isCurrent: { DispatchQueue.getSpecific(key: key) === workQueue },
        enqueue: { work in queue.async(execute: work) }))
  }

  private init(executor: Executor?) { self.executor = executor }

  /// Any other serial place, such as an actor's executor.
  ///
  /// - Parameters:
  ///   - isCurrent: whether the calling code runs there now.
  ///   - enqueue: runs the work there later; works must run one at a time and in order.
  public init(
    isCurrent: @escaping @Sendable () -> Bool, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    executor = Executor(workQueue: WorkQueue(), isCurrent: isCurrent, enqueue: enqueue)
  }

  /// Whether the calling code runs on this lane. Always true for `.direct`.
  public var isCurrent: Bool { executor?.isCurrent() ?? true }

  /// Runs `work` on this lane: before returning if the caller is on it already, else later. Works run in the order in
  /// which they were given: one that runs at once lets those go first that are still waiting.
  public func run(_ work: @escaping @Sendable () -> Void) {
    guard let executor else { return work() }
    if executor.isCurrent() {
      executor.workQueue.runWaiting(atMost: .max)
      work()
    } else if executor.workQueue.add(work) {
      Self.request(executor)
    }
  }

  /// Asks the place to run what waits, no more than there is by then, so that a busy giver cannot keep it from its
  /// other work.
  private static func request(_ executor: Executor) {
    executor.enqueue {
      executor.workQueue.runWaiting(atMost: executor.workQueue.count)
      if executor.workQueue.needsAnotherRequest() { request(executor) }
    }
  }

  /// Guards the making of lines, so that a queue has only one.
  private static let workQueueKey = Protected(DispatchSpecificKey<WorkQueue>())
}

/// The works that wait for a lane, of which at most one request to its place is on the way.
private final class WorkQueue: Sendable {
  private struct Waiting {
    var works = Deque<@Sendable () -> Void>()
    var isRequested = false
  }

  private let waiting = Protected(Waiting())

  var count: Int { waiting.withLock { $0.works.count } }

  /// True if the place must be asked to run it.
  func add(_ work: @escaping @Sendable () -> Void) -> Bool {
    waiting.withLock { waiting in
      waiting.works.append(work)
      defer { waiting.isRequested = true }
      return !waiting.isRequested
    }
  }

  func runWaiting(atMost limit: Int) {
    var left = limit
    while left > 0, let work = waiting.withLock({ $0.works.popFirst() }) {
      work()
      left -= 1
    }
  }

  /// Called at the end of a request: whether more came meanwhile, which then needs the next one.
  func needsAnotherRequest() -> Bool {
    waiting.withLock { waiting in
      waiting.isRequested = !waiting.works.isEmpty
      return waiting.isRequested
    }
  }
}
