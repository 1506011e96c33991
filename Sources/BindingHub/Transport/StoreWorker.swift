import BindingProtocol
import Dispatch
import Logging
import ZeroMQ

/// Passes the hub's requests to the store, and the store's answers back.
///
/// An immediate store is called directly. Any other has a thread of its own: while that stores one batch the hub
/// continues, and the next batches gather to be appended together. History is read on a queue beside it, so that no
/// append waits for a page.
final class StoreWorker: LogWorker {
  /// The result of a request.
  private enum Answer: Sendable {
    case appended([Appended], of: [Batch])
    case loaded(StoredModel)
    case history(HistoryQuery, Result<HistoryAnswer, StoreError>)
  }
  private enum Request: Sendable {
    case append([Batch])
    case load([String])
    case history(HistoryQuery)
    case start(Epoch)
    case forget(Set<Tag>)
    case close
  }
  private struct Shared: Sendable {
    var requests: [Request] = []
    var answers: [Answer] = []
    /// The number of requests waiting or under way.
    var open = 0
    /// Whether the next request must wake the store's thread.
    var isWaiting = false
    var status: StoreStatus
    var failure: StoreError?
  }

  private let store: any Store
  private let logFile: LogFile?
  private let log: Logger
  private let shared: HubLock<Shared>
  private let hasRequests = DispatchSemaphore(value: 0)
  private let wasDone = DispatchSemaphore(value: 0)
  private let wakeup: Wakeup
  private var thread: SocketThread?
  private let logID: LogID
  private let historian = DispatchQueue(label: "bindhub-history", qos: .utility)

  /// - Parameters:
  ///   - logFile: where a new epoch is recorded too.
  ///   - wakeup: signalled when there are answers.
  init(_ store: any Store, _ logFile: LogFile?, wakeup: Wakeup, _ log: Logger) throws(ZeroMQError) {
    self.store = store
    self.logFile = logFile
    self.wakeup = wakeup
    self.log = log
    logID = store.logID
    shared = HubLock(Shared(status: store.status))
    guard !store.isImmediate else { return }
    // SAFETY: from here on `store` is used by its own thread only; this object calls it only where there is none.
    nonisolated(unsafe) let store = store
    let (shared, hasRequests, wasDone, historian) = (shared, hasRequests, wasDone, historian)
    thread = try SocketThread(name: "bindhub-store") {
      StoreWorker.serve(store, shared, hasRequests, wasDone, wakeup, historian)
    }
  }

  var status: StoreStatus { thread == nil ? store.status : shared.withLock { $0.status } }

  func handOver(_ output: inout HubOutput, of machine: inout HubMachine) throws(StoreError) {
    if let epoch = output.newEpoch {
      output.newEpoch = nil
      // No peer may learn of it before it has begun.
      try submit(.start(epoch))
      try waitUntilDone()
      try logFile?.record(logID: logID, epoch: epoch)
      log.warning("a peer knows commits that are missing here: a new epoch", metadata: ["epoch": "\(epoch)"])
    }
    if !output.batches.isEmpty {
      let batches = output.batches
      output.batches.removeAll(keepingCapacity: true)
      try submit(.append(batches))
    }
    if !output.reload.isEmpty {
      let models = output.reload
      output.reload.removeAll()
      try submit(.load(models))
    }
    if let query = output.takeHistory() { try submit(.history(query)) }
    if !output.forgotten.isEmpty {
      try submit(.forget(output.forgotten))
      output.forgotten.removeAll()
    }
  }

  func deliver(
    to machine: inout HubMachine, time: HubTime, into output: inout HubOutput
  ) throws(StoreError) -> Bool {
    let answers = try takeAnswers()
    for answer in answers {
      switch answer {
      case .appended(let results, let batches): machine.appended(results, of: batches, time: time, into: &output)
      case .loaded(let model): machine.reloaded(model, time: time, into: &output)
      case .history(let query, let result): machine.answered(query, result, into: &output)
      }
    }
    return !answers.isEmpty
  }

  func close() throws(StoreError) {
    try submit(.close)
    try waitUntilDone()
  }

  func join() { _ = thread?.join(timeoutMilliseconds: -1) }

  /// The answers since the last call, in the order of the requests.
  private func takeAnswers() throws(StoreError) -> [Answer] {
    let (answers, failure) = shared.withLock { shared in
      let answers = shared.answers
      shared.answers.removeAll(keepingCapacity: true)
      return (answers, shared.failure)
    }
    if let failure { throw failure }
    return answers
  }

  func waitUntilDone() throws(StoreError) {
    while thread != nil, shared.withLock({ $0.open > 0 && $0.failure == nil }) {
      _ = wasDone.wait(timeout: .now() + .milliseconds(100))
    }
    if let failure = shared.withLock({ $0.failure }) { throw failure }
  }

  private func submit(_ request: Request) throws(StoreError) {
    guard thread == nil else {
      let isWaiting = shared.withLock { shared in
        shared.requests.append(request)
        shared.open += 1
        defer { shared.isWaiting = false }
        return shared.isWaiting
      }
      if isWaiting { hasRequests.signal() }
      return
    }
    let answers = try StoreWorker.run([request], store)
    shared.withLock { $0.answers += answers }
  }

  // MARK: The store's thread

  /// The longest pause of upkeep while there is something to do, or after an append.
  private static let longestRest = DispatchTimeInterval.milliseconds(5)

  /// Upkeep with more to do pauses as long as it last worked, so it uses at most half of a processor. Without a
  /// pause its slices would run until the system preempts the thread, and a writer would wait longer for that than
  /// for one slice.
  private static func serve(
    _ store: any Store, _ shared: HubLock<Shared>, _ hasRequests: DispatchSemaphore, _ wasDone: DispatchSemaphore,
    _ wakeup: Wakeup, _ historian: DispatchQueue
  ) {
    let read = { (query: HistoryQuery, reading: HistoryReading) in
      historian.async {
        let result = reading.result
        shared.withLock { $0.answers.append(.history(query, result)) }
        wakeup.signal()
      }
    }
    var nextUpkeep = DispatchTime.now()
    var nextLook = nextUpkeep
    while true {
      let now = DispatchTime.now()
      let mayWait = now < nextUpkeep
      let requests = shared.withLock { shared in
        let requests = shared.requests
        shared.requests.removeAll(keepingCapacity: true)
        shared.isWaiting = requests.isEmpty && mayWait
        return requests
      }
      let isWaiting = requests.isEmpty && mayWait
      // It has to look at the files, so not between consecutive appends.
      if now >= nextLook || isWaiting && nextUpkeep > now + longestRest {
        nextLook = now + .milliseconds(500)
        let status = store.status
        shared.withLock { $0.status = status }
      }
      if isWaiting {
        _ = hasRequests.wait(timeout: nextUpkeep)
        continue
      }
      do throws(StoreError) {
        if !requests.isEmpty {
          let isClosing = requests.contains { if case .close = $0 { true } else { false } }
          // A page that is being read needs the open store.
          if isClosing { historian.sync {} }
          let answers = try run(requests, store, readingBy: read)
          shared.withLock { shared in
            shared.answers += answers
            shared.open -= requests.count
          }
          wasDone.signal()
          if !answers.isEmpty { wakeup.signal() }
          if isClosing { return }
          nextUpkeep = min(nextUpkeep, .now() + longestRest)
        }
        let begun = DispatchTime.now()
        guard begun >= nextUpkeep else { continue }
        let hasMore = try store.upkeep()
        let end = DispatchTime.now()
        let elapsed = DispatchTimeInterval.nanoseconds(Int(end.uptimeNanoseconds - begun.uptimeNanoseconds))
        // There may be something to compact without a write, and the store's files may have changed.
        nextUpkeep = hasMore ? min(end + elapsed, end + longestRest) : end + .milliseconds(400)
      } catch {
        shared.withLock { $0.failure = error }
        wasDone.signal()
        wakeup.signal()
        return
      }
    }
  }

  /// Runs requests in order; consecutive appends become one.
  /// - Parameter read: has a page of history read beside the store; nil: it is read here.
  private static func run(
    _ requests: [Request], _ store: any Store, readingBy read: ((HistoryQuery, HistoryReading) -> Void)? = nil
  ) throws(StoreError) -> [Answer] {
    var answers: [Answer] = []
    var batches: [Batch] = []
    func append() throws(StoreError) {
      guard !batches.isEmpty else { return }
      answers.append(.appended(try store.append(batches), of: batches))
      batches.removeAll()
    }
    for request in requests {
      if case .append(let more) = request {
        batches += more
        continue
      }
      try append()
      switch request {
      case .append: break
      case .load(let models):
        for model in models {
          answers.append(.loaded(try store.load(model) ?? StoredModel(model: model, batches: [])))
        }
      case .history(let query):
        let reading = store.history(query)
        if let read { read(query, reading) } else { answers.append(.history(query, reading.result)) }
      case .start(let epoch): try store.start(epoch)
      case .forget(let tags): store.forget(tags)
      case .close: try store.close()
      }
    }
    try append()
    return answers
  }
}
