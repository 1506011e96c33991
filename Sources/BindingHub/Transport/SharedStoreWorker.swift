import BindingProtocol
import Dispatch
import Logging
import ZeroMQ

/// Passes the hub's requests to a store that it shares with other hubs, and the store's events back; and folds models.
final class SharedStoreWorker: LogWorker {
  private enum Arrival: Sendable {
    case event(SharedEvent)
    /// A model was compacted; nil: there is nothing to fold, or its bytes cannot be read.
    case compacted(SharedFold?)
  }
  /// What other threads leave for the hub's.
  private struct Inbox: Sendable {
    private let arrivals = HubLock<[Arrival]>([])
    private let hasArrived = DispatchSemaphore(value: 0)
    private let wakeup: Wakeup

    init(waking wakeup: Wakeup) { self.wakeup = wakeup }

    func add(_ arrival: Arrival) {
      arrivals.withLock { $0.append(arrival) }
      hasArrived.signal()
      wakeup.signal()
    }

    func takeAll() -> [Arrival] {
      arrivals.withLock { arrivals in
        defer { arrivals.removeAll(keepingCapacity: true) }
        return arrivals
      }
    }

    /// The answers to batches that are not taken yet.
    var answers: Int {
      arrivals.withLock { arrivals in
        arrivals.reduce(0) { count, arrival in
          if case .event(.appended(_, let answers)) = arrival { count + answers.count } else { count }
        }
      }
    }

    /// - Returns: whether anything arrived in time.
    func wait(until end: DispatchTime) -> Bool { hasArrived.wait(timeout: end) == .success }
  }

  private let store: any SharedStore
  private let log: Logger
  private let inbox: Inbox
  private let compacting = DispatchQueue(label: "bindhub-folding", qos: .utility)
  private var appends: UInt64 = 0
  /// Batches without an answer.
  private var open = 0
  /// What the machine waits for, by model.
  private var loading: Set<String> = []
  private var folds = FoldQueue()
  private var isReached = true
  private var shown: StoreStatus
  private var nextLook = DispatchTime.now()

  /// How long the end of a hub waits for answers of the engine.
  private static let patience = DispatchTimeInterval.seconds(3)
  /// Models of one page of a listing.
  private static let page = 1_000

  /// - Parameter wakeup: signalled when there are events.
  init(_ store: any SharedStore, wakeup: Wakeup, _ log: Logger) {
    self.store = store
    inbox = Inbox(waking: wakeup)
    self.log = log
    shown = StoreStatus(shared: store.status)
    let inbox = inbox
    store.begin { inbox.add(.event($0)) }
  }

  var status: StoreStatus {
    let now = DispatchTime.now()
    if now >= nextLook {
      nextLook = now + .milliseconds(500)
      shown = StoreStatus(shared: store.status)
    }
    return shown
  }

  func handOver(_ output: inout HubOutput, of machine: inout HubMachine) throws(StoreError) {
    if !output.batches.isEmpty {
      let batches = output.batches.map { SharedBatch($0, after: machine.revision(of: $0.model)) }
      output.batches.removeAll(keepingCapacity: true)
      for batch in batches { folds.append(batch.batch.body.count + 64, to: batch.batch.model) }
      open += batches.count
      appends += 1
      store.append(appends, batches)
    }
    for model in output.reload where loading.insert(model).inserted { store.load(model) }
    output.reload.removeAll()
    if let next = output.list {
      output.list = nil
      store.list(prefix: next.prefix, after: next.after, limit: SharedStoreWorker.page)
    }
    if let number = output.sync {
      output.sync = nil
      store.sync(number)
    }
    if let query = output.takeHistory() { store.history(query) }
    // Writers are forgotten by records.
    output.forgotten.removeAll()
  }

  func deliver(
    to machine: inout HubMachine, time: HubTime, into output: inout HubOutput
  ) throws(StoreError) -> Bool {
    let arrived = inbox.takeAll()
    for arrival in arrived {
      switch arrival {
      case .event(let event):
        if !isForFolding(event) { machine.receive(event, time: time, into: &output) }
      case .compacted(let fold):
        folds.compacted(to: fold?.chunks.reduce(0) { $0 + $1.count } ?? 0)
        if let fold { store.fold(fold) } else { folds.end() }
      }
      // An event may want what is handed over before the next one changes it.
      try handOver(&output, of: &machine)
    }
    if let order = folds.begin() { store.loadToFold(order.model, upTo: order.record) }
    return !arrived.isEmpty
  }

  private func note(_ records: [SharedRecord]) {
    for record in records {
      if record.batch.form == .removal { folds.forget(record.batch.model) }
      folds.note(record.batch.record, of: record.batch.model, at: record.revision)
    }
  }

  /// Notes what an event says of folding, and what the log is to be told.
  /// - Returns: whether it is an answer to folding alone.
  private func isForFolding(_ event: SharedEvent) -> Bool {
    switch event {
    case .appended(_, let answers):
      open -= answers.count
      for answer in answers {
        if case .stored(let revision) = answer.result { folds.stored(answer.record, of: answer.model, at: revision) }
        note(answer.later)
      }
    case .followed(let records, _): note(records)
    case .loaded(let head, let result):
      loading.remove(head.model)
      if case .success(let stored?) = result {
        let bytes = stored.batches.reduce(0) { $0 + $1.body.count + 64 }
        folds.loaded(
          head, records: stored.batches.count, bytes: bytes, size: stored.chunks.reduce(0) { $0 + $1.count })
      }
    case .foldable(_, let result):
      compact(result)
      return true
    case .folded(let model, let result):
      folds.end()
      switch result {
      case .folded: log.debug("folded", metadata: ["model": "\(model)"])
      case .outrun: break
      case .refused(let reason): log.warning("a model was not folded: \(reason)", metadata: ["model": "\(model)"])
      }
      return true
    case .room(let room):
      if folds.isRoomScarce != (room >= .scarce) { folds.isRoomScarce.toggle() }
      if room >= .scarce { log.warning("the store's room is scarce", metadata: ["cure": "\(store.status.roomReason)"]) }
    case .connected(let isConnected):
      if isConnected != isReached { log.warning("the store \(isConnected ? "answers again" : "does not answer")") }
      isReached = isConnected
    case .grade(let grade, let reason): log.notice("the store's grade is \(grade)", metadata: ["because": "\(reason)"])
    case .lost: log.notice("the tail of the store lost its place; what changed is loaded")
    case .head, .listed, .history, .caughtUp, .synced, .changed, .resharded, .failed: break
    }
    return false
  }

  private func compact(_ result: Result<StoredModel?, StoreError>) {
    guard let order = folds.underWay else { return }
    let (log, inbox) = (log, inbox)
    compacting.async {
      var fold: SharedFold?
      do throws(StoreError) {
        fold = try result.get().flatMap { stored throws(StoreError) in
          try SharedFold(compacting: stored, upTo: order.record, revision: order.revision)
        }
      } catch {
        log.error("a model cannot be folded", metadata: ["model": "\(order.model)", "error": "\(error)"])
      }
      inbox.add(.compacted(fold))
    }
  }

  /// Returns once the batches have their answers, or the engine is silent for a while: their writers then learn from
  /// another hub what became of them.
  func waitUntilDone() {
    let end = DispatchTime.now() + SharedStoreWorker.patience
    while isReached, open > inbox.answers, inbox.wait(until: end) {}
  }

  func close() { store.close() }

  func join() {
    store.close()
    compacting.sync {}
  }
}
