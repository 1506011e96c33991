public import Dispatch

/// Where observers run: the main actor, a queue, or the writing thread. Other libraries call it *scheduler* or
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
  /// The lane checks the queue, not the thread: on Linux the main actor leaves the main thread at its first
  /// suspension.
  public static let main = Lane.queue(.main)

  /// The calling thread, whichever it is: no hop, no order between threads. For tools and tests.
  public static let direct = Lane(executor: nil)

  /// A dispatch queue, which must be serial: a concurrent one would run work items side by side. All lanes of one
  /// queue are the same lane.
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

  /// Creates a lane for another serial executor, such as that of an actor.
  ///
  /// - Parameters:
  ///   - isCurrent: whether the calling code runs there now.
  ///   - enqueue: runs the work there later; work items must run one at a time and in order.
  public init(
    isCurrent: @escaping @Sendable () -> Bool, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    executor = Executor(workQueue: WorkQueue(), isCurrent: isCurrent, enqueue: enqueue)
  }

  /// Whether the calling code runs on this lane. Always true for `.direct`.
  public var isCurrent: Bool { executor?.isCurrent() ?? true }

  /// Runs `work` on this lane: before returning if the caller is on it already, else later. Work items run in the
  /// order in which they were submitted: one that runs immediately first runs those still waiting.
  public func run(_ work: @escaping @Sendable () -> Void) {
    guard let executor else { return work() }
    if executor.isCurrent() {
      executor.workQueue.runWaiting(atMost: .max)
      work()
    } else if executor.workQueue.add(work) {
      Self.request(executor)
    }
  }

  /// Asks the executor to run the waiting items, no more than there are by then, so that a busy submitter does not
  /// keep it from other work.
  private static func request(_ executor: Executor) {
    executor.enqueue {
      executor.workQueue.runWaiting(atMost: executor.workQueue.count)
      if executor.workQueue.needsAnotherRequest() { request(executor) }
    }
  }

  /// Guards the creation of work queues, so that a dispatch queue has only one.
  private static let workQueueKey = Protected(DispatchSpecificKey<WorkQueue>())
}

/// The work items that wait for a lane. At most one request to its executor is pending.
private final class WorkQueue: Sendable {
  private struct Waiting {
    var works = Deque<@Sendable () -> Void>()
    var isRequested = false
  }

  private let waiting = Protected(Waiting())

  var count: Int { waiting.withLock { $0.works.count } }

  /// True if the executor must be asked to run it.
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

  /// Called at the end of a request: whether more items arrived meanwhile, which then need another request.
  func needsAnotherRequest() -> Bool {
    waiting.withLock { waiting in
      waiting.isRequested = !waiting.works.isEmpty
      return waiting.isRequested
    }
  }
}
