public import BindingModel
public import BindingProtocol

/// A model as one peer sees it, without types: for tools, and behind every `Model` that is shared.
///
/// Reading and writing is safe on any thread. Observers run on the model's lane. The model is left when it is no
/// longer referenced and every write has its outcome.
public final class SharedModel: Sendable {
  /// The model's id.
  public let id: String
  /// For an ephemeral model: the stored model that it belongs to.
  let stored: SharedModel?
  /// Where this model's observers run.
  public let lane: Lane
  let peer: Peer
  var runtime: PeerRuntime { peer.runtime }

  /// An object of its own: copying a weak reference is expensive, and these are passed on with every change.
  // SAFETY: a weak reference may be read on any thread, and this one is never set again.
  final class WeakCell: @unchecked Sendable {
    private(set) weak var cell: (any AnyFieldCell)?

    init(_ cell: any AnyFieldCell) { self.cell = cell }
  }

  /// Undelivered updates and their observers. Values of one field replace each other: a lagging lane gets the newest.
  struct Staged: Sendable {
    var fields = IndexedMap<String, StagedField>()
    /// Indices of the fields with an undelivered value, in no order.
    var dueFields: [Int] = []
    var updates: [(update: ModelUpdate, stamp: UInt64)] = []
    /// The first update of each new observer, by its number.
    var beginnings: [(observer: UInt64, update: ModelUpdate)] = []
    var missedUpdates: UInt64 = 0
    var hops: UInt8 = 0
    var observers: [UInt64: Observer] = [:]
    /// Paced observers of the model, which hold their undelivered changes themselves.
    var feeds: [Following<ModelFeed>] = []
    /// The number of paced observers of single fields.
    var fieldFeeds = 0
    /// Paced observers with something to deliver.
    var dueFeeds: [Following<any UpdateFeed>] = []
    /// Splits each update once for all of them.
    var steps = UpdateSteps()
    var lastObserver: UInt64 = 0
    var isScheduled = false
    var isDelivering = false
    var statuses = StagedStatuses()

    var isSomethingDue: Bool {
      !dueFields.isEmpty || !updates.isEmpty || !beginnings.isEmpty || !dueFeeds.isEmpty || statuses.isDue
    }
  }
  /// The observed statuses of a model, and whether one may have changed.
  struct StagedStatuses: Sendable {
    var reporters: [ObjectIdentifier: WeakReporter] = [:]
    var lastReporter: UInt64 = 0
    var isDue = false
  }
  /// The objects for one field in this process, and its undelivered value.
  struct StagedField: Sendable {
    var cells: [WeakCell] = []
    var update: FieldUpdate?
    /// Whether the value last delivered is a write of this peer without an outcome.
    var isOurs = false
    /// Paced observers of this field alone.
    var feeds: [Following<FieldFeed>] = []
  }
  struct FieldUpdate: Sendable {
    var value: FieldValue?
    var stamp: UInt64
    /// Whether it is a pending write of this peer, which the hub may refuse.
    var isOurs = false
    /// If it cannot be decoded: whether the value shown until then was committed, and is not a pending write that has
    /// ended.
    var keepsShown = true
    /// A write of this peer that others overwrote before it was delivered.
    var overwritten: Overwritten?
  }
  struct Overwritten: Sendable {
    var value: FieldValue?
  }
  struct Observer: Sendable {
    /// It receives updates with a later stamp; earlier ones are in its first update.
    let since: UInt64
    let body: @Sendable (ModelUpdate, _ missed: UInt64) -> Void
  }
  let staged: Protected<Staged> = Protected(Staged())
  /// This peer's decision, as the model's owner, on other peers' writes: returns the reason to refuse, or nil.
  let approver: Protected<(@Sendable (ApprovalRequest) -> String?)?> = Protected(nil)
  let broadcaster: Protected<StatusBroadcaster<ModelStatus>?> = Protected(nil)
  let shownBroadcasters: Protected<ShownBroadcasters> = Protected(ShownBroadcasters())
  /// The description last read, with the text that it was read from.
  private let described: Protected<Described?> = Protected(nil)

  /// The most updates that wait for a lagging lane; beyond it the oldest are dropped and counted.
  public static let maxWaitingUpdates = 10_000

  init(id: String, lane: Lane, peer: Peer, stored: SharedModel? = nil) {
    self.id = id
    self.stored = stored
    self.lane = lane
    self.peer = peer
  }

  deinit { peer.runtime.abandon(model: id) }

  /// All that is known of a field; nil if the field is unknown and the model is not current.
  package func record(_ field: String) -> FieldRecord? {
    runtime.state.withLock { $0.session.fieldRecord(id, field) }
  }

  /// The epoch and version of the committed values.
  public var version: (epoch: Epoch, version: Version) {
    runtime.state.withLock { $0.session.version(of: id) }
  }

  /// The declarations of the fields, as the hub has them.
  public var modelDescription: ModelDescription {
    presentDescription?.description ?? ModelDescription()
  }

  /// The description of a field, if it allows other values than `rule`.
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

  /// Waits until the model is current. Returns false when `timeout` passes first, the task is cancelled, or the hub
  /// does not let this peer join the model: then `status.refusal` says why.
  public func whenCurrent(timeout: Duration) async -> Bool {
    let id = id
    _ = await runtime.wait(timeout: timeout) { $0.session.isCurrent(id) || $0.session.syncState(of: id).refusal != nil }
    return isCurrent
  }

  /// Writes a proposal: it shows immediately, is sent when it can be, and the hub decides it.
  /// - Throws: `WriteError` if it cannot be overlaid: a bad name, a value beyond a limit, a full outbox, a stopped
  ///   peer.
  @discardableResult
  package func write(_ proposal: Proposal) throws(WriteError) -> PendingWrite {
    try write(proposal, whenOverlaid: { _ in })
  }

  /// Deletes all fields, and with them the model.
  /// - Throws: `WriteError` if it cannot be overlaid.
  @discardableResult
  public func remove() throws(WriteError) -> PendingWrite {
    try write(Proposal(operations: [FieldOperation(.clear, "")]))
  }

  /// Writes a text that was edited elsewhere, starting from `base`: what others wrote since is merged with it, as by
  /// `ConflictPolicy.text`.
  /// - Throws: `WriteError` if it cannot be overlaid.
  @discardableResult
  public func write(_ text: String, to field: String, editedFrom base: String) throws(WriteError) -> PendingWrite {
    let operation = FieldOperation(.set, field, FieldValue(json: .string(text)))
    let policy = WritePolicy(ruled: RuledWrite(.text, base: FieldValue(json: .string(base))))
    return try write(Proposal(operations: [operation]), policies: [field: policy], whenOverlaid: { _ in })
  }

  /// Calls `observer` on the model's lane, in order, with the present state (as one snapshot, if there is any) and
  /// then each update. `missed` is the number of updates that a lagging lane has dropped.
  package func observe(
    _ observer: @escaping @Sendable (_ update: ModelUpdate, _ missed: UInt64) -> Void
  ) -> ObserverToken {
    // The lock under which updates are staged: none is lost between the present state and the first update.
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
  /// Overlays the proposal and registers it; `whenOverlaid` gets what shows then.
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
        offline: policies.isEmpty ? [:] : policies.mapValues(\.offline), to: id, now: now, into: &state.effects)
      state.writes.insert(.init(write: pending, model: self, policies: policies), for: write)
      state.stamp += 1
      return state.stamp
    }
    let isPlain = policies.isEmpty && proposal.isPlainSet
    whenOverlaid(isPlain ? OverlaidFields(stamp: stamp) : present(proposal.operations.map(\.field)))
    return pending
  }

  /// What these fields show now.
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

  /// Runs a merge on the model's lane and continues the write with its result.
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

/// A parsed description.
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

/// What shows once a proposal is overlaid.
struct OverlaidFields: Sendable {
  /// Lower than the stamp of everything that shows later.
  var stamp: UInt64
  /// The values of fields that were not plainly set: merged with the present values, which may be newer than those of
  /// their cells, or already given up.
  var merged: [String: FieldValue] = [:]
  /// Fields that show a write of this peer without an outcome.
  var ours: Set<String> = []
}
