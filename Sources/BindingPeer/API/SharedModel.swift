public import BindingModel
public import BindingProtocol

/// A model as one peer sees it, without types: what tools use, and what stands behind every `Model` that was shared.
///
/// Reading and writing is safe on any thread. Observers run on the model's lane. The model is left when nobody holds
/// it any more and all that was written has its outcome.
public final class SharedModel: Sendable {
  public let id: String
  /// Of an ephemeral line: the model that it belongs to.
  let stored: SharedModel?
  /// Where this model's observers run.
  public let lane: Lane
  let peer: Peer
  var runtime: PeerRuntime { peer.runtime }

  /// An object of its own: to copy a weak reference is dear, and these are handed on with every change.
  // SAFETY: a weak reference may be read on any thread, and this one is never set again.
  final class WeakCell: @unchecked Sendable {
    private(set) weak var cell: (any AnyFieldCell)?

    init(_ cell: any AnyFieldCell) { self.cell = cell }
  }

  /// What waits to be told, and who wants to know. Values of one field replace each other: a lane that is behind gets
  /// the newest.
  struct Staged: Sendable {
    var fields = IndexedMap<String, StagedField>()
    /// Those that have news, in no order.
    var dueFields: [Int] = []
    var updates: [(update: ModelUpdate, stamp: UInt64)] = []
    /// What new observers are told first, each by its number.
    var beginnings: [(observer: UInt64, update: ModelUpdate)] = []
    var missedUpdates: UInt64 = 0
    var hops: UInt8 = 0
    var observers: [UInt64: Observer] = [:]
    /// Paced observers of the model, which keep what waits for them themselves.
    var feeds: [Following<ModelFeed>] = []
    /// How many there are of single fields.
    var fieldFeeds = 0
    /// Those that have something to tell.
    var dueFeeds: [Following<any UpdateFeed>] = []
    /// What all of them hear is taken apart once.
    var steps = UpdateSteps()
    var lastObserver: UInt64 = 0
    var isScheduled = false
    var isDelivering = false
    /// Observed statuses, and whether one may be another than it was.
    var reporters: [ObjectIdentifier: WeakReporter] = [:]
    var lastReporter: UInt64 = 0
    var isStatusDue = false

    var isSomethingDue: Bool {
      !dueFields.isEmpty || !updates.isEmpty || !beginnings.isEmpty || !dueFeeds.isEmpty || isStatusDue
    }
  }
  /// What stands for one field in this process, and what it has yet to hear.
  struct StagedField: Sendable {
    var cells: [WeakCell] = []
    var update: FieldUpdate?
    /// Whether what shows is a write of this peer that has no outcome, as far as was told.
    var isOurs = false
    /// Paced observers of this field alone.
    var feeds: [Following<FieldFeed>] = []
  }
  struct FieldUpdate: Sendable {
    var value: FieldValue?
    var stamp: UInt64
    /// Whether a write of this peer makes it so, which the hub may refuse.
    var isOurs = false
    /// If it cannot be decoded: whether what shows until then was committed, and not such a write that has ended.
    var keepsShown = true
    /// A write of this peer that nobody was told of before others overwrote it.
    var overwritten: Overwritten?
  }
  struct Overwritten: Sendable {
    var value: FieldValue?
  }
  struct Observer: Sendable {
    /// Updates with a later stamp are for it; what came before is in its beginning.
    let since: UInt64
    let body: @Sendable (ModelUpdate, _ missed: UInt64) -> Void
  }
  let staged: Protected<Staged> = Protected(Staged())
  /// What this peer, as the model's owner, has to say about others' writes: why not, or nil.
  let approver: Protected<(@Sendable (ApprovalRequest) -> String?)?> = Protected(nil)
  let broadcaster: Protected<StatusBroadcaster<ModelStatus>?> = Protected(nil)
  let shownBroadcasters: Protected<ShownBroadcasters> = Protected(ShownBroadcasters())
  /// The description as it was read last, with the text from which.
  private let described: Protected<Described?> = Protected(nil)

  /// Updates that wait for a lane which is behind, at most; past it the oldest are dropped, and counted.
  public static let maxWaitingUpdates = 10_000

  init(id: String, lane: Lane, peer: Peer, stored: SharedModel? = nil) {
    self.id = id
    self.stored = stored
    self.lane = lane
    self.peer = peer
  }

  deinit { peer.runtime.abandon(model: id) }

  /// All that is known of a field; nil if it has never been heard of.
  public func record(_ field: String) -> FieldRecord? {
    runtime.state.withLock { $0.session.fieldRecord(id, field) }
  }

  /// The epoch and version of the committed values.
  public var version: (epoch: Epoch, version: Version) {
    runtime.state.withLock { $0.session.version(of: id) }
  }

  /// What is declared of the fields, as the hub has it.
  public var modelDescription: ModelDescription {
    presentDescription?.description ?? ModelDescription()
  }

  /// How a field is described, if that lets it have other values than `rule`.
  func description(of field: String, otherwiseThan rule: FieldRule) -> FieldDescription? {
    guard let described = presentDescription, let other = described.rules[field], !other.allowsSame(as: rule) else {
      return nil
    }
    return described.description.fields[field]
  }

  private var presentDescription: Described? {
    guard let text = shown(Names.description) else { return nil }
    if let known = described.withLock({ $0 }), known.text == text { return known }
    let fresh = Described(text)
    described.withLock { $0 = fresh }
    return fresh
  }

  /// Waits until the model is current; false when `timeout` passes first, when the task is cancelled, or when the hub
  /// does not let this peer join it: then `status.refusal` says why.
  public func whenCurrent(timeout: Duration) async -> Bool {
    let id = id
    _ = await runtime.wait(timeout: timeout) { $0.session.isCurrent(id) || $0.session.syncState(of: id).refusal != nil }
    return isCurrent
  }

  /// Writes: shown at once, sent when it can be, decided by the hub.
  /// - Throws: `WriteError` if it cannot even be laid over: a bad name, a value past a limit, a full outbox, a stopped
  ///   peer.
  @discardableResult
  public func write(_ proposal: Proposal) throws(WriteError) -> PendingWrite {
    try write(proposal, whenOverlaid: { _ in })
  }

  /// Writes one text that was edited elsewhere, from what it was before that: what others wrote since is merged with
  /// it, as by `ConflictPolicy.text`.
  /// - Throws: as `write`.
  @discardableResult
  public func write(_ text: String, to field: String, editedFrom base: String) throws(WriteError) -> PendingWrite {
    let operation = FieldOperation(.set, field, FieldValue(json: .string(text)))
    let policy = WritePolicy(ruled: RuledWrite(.text, base: FieldValue(json: .string(base))))
    return try write(Proposal(operations: [operation]), policies: [field: policy], whenOverlaid: { _ in })
  }

  /// `observer` hears, on the model's lane and in order, what is there (as one snapshot, if there is anything) and then
  /// each update. A lane far behind is told how many it missed.
  public func observe(
    _ observer: @escaping @Sendable (_ update: ModelUpdate, _ missed: UInt64) -> Void
  ) -> ObserverToken {
    // Under the lock under which updates are staged: nothing falls between what is there and what comes.
    let number = runtime.state.withLock { state in
      let beginning = state.session.present(id)
      let since = state.stamp
      return staged.withLock { staged in
        staged.lastObserver += 1
        staged.observers[staged.lastObserver] = Observer(since: since, body: observer)
        if let beginning { staged.beginnings.append((staged.lastObserver, beginning)) }
        return staged.lastObserver
      }
    }
    scheduleDelivery()
    return ObserverToken { [weak self] in
      _ = self?.staged.withLock { $0.observers.removeValue(forKey: number) }
    }
  }
}

// MARK: - Writing

extension SharedModel {
  /// Lays the proposal over and registers it; `whenOverlaid` is told what shows then.
  func write(
    _ proposal: Proposal, policies: [String: WritePolicy] = [:], whenOverlaid: @Sendable (OverlaidFields) -> Void
  ) throws(WriteError) -> PendingWrite {
    let pending = PendingWrite(proposal.operations)
    let hops = max(proposal.hops, Hops.current)
    let stamp = try runtime.perform(as: .writer(of: id)) { state, now throws(WriteError) in
      var proposal = proposal
      proposal.hops = hops
      let write = try state.session.write(
        proposal, rules: policies.isEmpty ? [:] : policies.compactMapValues(\.ruled),
        offline: policies.isEmpty ? [:] : policies.mapValues(\.offline), to: id, now: now, into: &state.output)
      state.writes.insert(.init(write: pending, model: self, policies: policies), for: write)
      state.stamp += 1
      return state.stamp
    }
    let isPlain = policies.isEmpty && proposal.isPlainSet
    whenOverlaid(isPlain ? OverlaidFields(stamp: stamp) : present(proposal.operations.map(\.field)))
    return pending
  }

  /// What shows of these fields now.
  func present(_ fields: [String]) -> OverlaidFields {
    runtime.state.withLock { state in
      state.stamp += 1
      var shown = OverlaidFields(stamp: state.stamp)
      for field in fields {
        shown.merged[field] = state.session.shown(id, field)
        if state.session.fieldRecord(id, field)?.isPending == true { shown.ours.insert(field) }
      }
      return shown
    }
  }

  /// Asks, on the model's lane, what two values become, and goes on with the answer.
  func answer(_ question: MergeQuestion, of write: WriteID, by policy: WritePolicy) {
    lane.run { [weak self] in
      let value = policy.merge?(question)
      self?.runtime.perform { state, now in state.session.merged(write, question, into: value, now: now) }
    }
  }

  func recordRejection(of fields: [String], _ reason: String, current: [String: FieldValue], stamp: UInt64) {
    for field in fields {
      for weak in staged.withLock({ $0.fields[field]?.cells ?? [] }) {
        weak.cell?.reject(reason, current: current[field], stamp: stamp)
      }
    }
  }
}

/// A description, read.
private struct Described: Sendable {
  let text: FieldValue
  let description: ModelDescription
  let rules: [String: FieldRule]

  init(_ text: FieldValue) {
    self.text = text
    description = text.jsonIfValid.map(ModelDescription.init) ?? ModelDescription()
    rules = description.fields.mapValues(\.rule)
  }
}

/// What shows once a proposal is laid over.
struct OverlaidFields: Sendable {
  /// Older than all that is shown from then on.
  var stamp: UInt64
  /// What became of fields that were not plainly set: merged with what is there, which may be newer than what their
  /// cell knows, or given up already.
  var merged: [String: FieldValue] = [:]
  /// Fields that show what this peer has written, without an outcome.
  var ours: Set<String> = []
}
