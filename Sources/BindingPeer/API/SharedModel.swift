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
  package let stored: SharedModel?
  /// Where this model's observers run.
  public let lane: Lane
  let peer: Peer
  var runtime: PeerRuntime { peer.runtime }

  /// What receives the updates of the peer's session, on the model's lane.
  let observers: ModelObservers
  /// This peer's decision, as the model's owner, on other peers' writes: returns the reason to refuse, or nil.
  let approver: Protected<(@Sendable (ApprovalRequest) -> String?)?> = Protected(nil)
  let broadcaster: Protected<StatusBroadcaster<ModelStatus>?> = Protected(nil)
  let shownBroadcasters: Protected<ShownBroadcasters> = Protected(ShownBroadcasters())
  let undoBroadcaster: Protected<StatusBroadcaster<Undoing.Status>?> = Protected(nil)
  /// The description last read, with the text that it was read from.
  private let described: Protected<Described?> = Protected(nil)
  /// The description of the fields as this program declares them; nil: it declares none.
  let declared: Protected<FieldValue?> = Protected(nil)

  /// The most updates that wait for a lagging lane; beyond it the oldest are dropped and counted.
  public static let maxWaitingUpdates = 10_000

  init(id: String, lane: Lane, peer: Peer, stored: SharedModel? = nil) {
    self.id = id
    self.stored = stored
    self.lane = lane
    self.peer = peer
    observers = ModelObservers(of: id, in: peer.runtime)
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

  /// The description of a field, if its declaration in a cell differs from it for good.
  /// - Parameter text: the model's description, as `descriptionText` gives it.
  func description(of field: String, in text: FieldValue, otherwiseThan cell: any AnyFieldCell) -> FieldDescription? {
    cell.describedOtherwise(in: text) { declaration in
      let described = (stored ?? self).read(text)
      let isOther = described.text?.field(field)?.difference(of: declaration, named: field) != nil
      return isOther ? described.description.fields[field] : nil
    }
  }

  /// The text of the description, that of an ephemeral model in the stored one; nil: there is none.
  var descriptionText: FieldValue? { (stored ?? self).shown(Names.description) }

  /// The name under which a field is stored, given that name or an alias (`@Field(was:)`).
  public func storedName(of field: String) -> String {
    (stored ?? self).presentDescription?.description.storedName(of: field) ?? field
  }

  /// A field as the description names it; nil: it does not.
  func described(_ field: String) -> DescribedField? { (stored ?? self).presentDescription?.text?.field(field) }

  private var presentDescription: Described? { shown(Names.description).map(read) }

  private func read(_ text: FieldValue) -> Described {
    if let known = described.withLock({ $0 }), known.bytes == text { return known }
    let fresh = Described(text)
    described.withLock { $0 = fresh }
    return fresh
  }

  /// Whether the hub lets this peer write a field; true until it has said otherwise.
  package func mayWrite(_ field: String) -> Bool {
    let id = id
    return runtime.state.withLock { $0.session.mayWrite(field, in: id) }
  }

  /// Waits until the model is current. Returns false when `timeout` passes first, the task is cancelled, or the hub
  /// does not let this peer join the model: then `status.refusal` says why.
  public func whenCurrent(timeout: Duration) async -> Bool {
    let id = id
    _ = await runtime.wait(timeout: timeout) { $0.session.isCurrent(id) || $0.session.syncState(of: id).refusal != nil }
    return isCurrent
  }

  /// Waits until the writes of these fields have been sent or decided. Returns false when `timeout` passes first, or
  /// the task is cancelled.
  public func whenSent(_ fields: [String], timeout: Duration) async -> Bool {
    let id = id
    return await runtime.wait(timeout: timeout) { state in
      fields.allSatisfy { field in
        state.session.isInFlight(id, field) || state.session.fieldRecord(id, field)?.isPending != true
      }
    }
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
    let field = storedName(of: field)
    let operation = FieldOperation(.set, field, FieldValue(json: .string(text)))
    let policy = WritePolicy(ruled: RuledWrite(.text, base: FieldValue(json: .string(base))))
    return try write(Proposal(operations: [operation]), policies: [field: policy], whenOverlaid: { _ in })
  }

  /// Calls `observer` on the model's lane, in order, with the present state (as one snapshot, if there is any) and
  /// then each update. `missed` is the number of updates that a lagging lane has dropped.
  package func observe(
    _ observer: @escaping @Sendable (_ update: ModelUpdate, _ missed: UInt64) -> Void
  ) -> ObserverToken {
    let token = observers.add(observer)
    scheduleDelivery()
    return token
  }

  /// Delivers now when this thread is on the lane, else later there.
  func scheduleDelivery() {
    if lane.isCurrent { return observers.deliver() }
    if observers.schedule() { lane.run { [self] in observers.deliver() } }
  }

  /// Has the status reported, which may have changed.
  func reportStatus() {
    observers.invalidateStatuses()
    scheduleDelivery()
  }
}

// MARK: - Writing

extension SharedModel {
  /// Overlays the proposal and registers it; `whenOverlaid` gets what shows then.
  func write(
    _ proposal: Proposal, policies: [String: WritePolicy] = [:], recording: Undoing.Recording = .undoable,
    isWeak: Bool = false, whenOverlaid: @Sendable (OverlaidFields) -> Void
  ) throws(WriteError) -> PendingWrite {
    let isOfList = proposal.isOfList
    if isOfList { try describeFirst() }
    let pending = PendingWrite(proposal.operations, isWeak: isWeak)
    let role: UndoRole = recording == .undoable ? .step(edit: EditSession.current) : .notUndoable
    let hops = max(proposal.hops, Hops.current)
    let stamp = try runtime.perform(as: .writer(of: id)) { state, now throws(WriteError) in
      var proposal = proposal
      proposal.hops = hops
      let write = try state.session.write(
        proposal, rules: policies.isEmpty ? [:] : policies.compactMapValues(\.ruled),
        offline: policies.isEmpty ? [:] : policies.mapValues(\.offline), as: role, to: id, now: now,
        into: &state.effects)
      if state.writes.hasRejections { state.writes.forgetRejections(of: proposal.answers, in: id) }
      state.writes.insert(.init(write: pending, model: self, policies: policies), for: write)
      state.stamp += 1
      return state.stamp
    }
    let isPlain = policies.isEmpty && proposal.isPlainSet && !isOfList
    whenOverlaid(isPlain ? OverlaidFields(stamp: stamp) : present(proposal.operations.map(\.field)))
    return pending
  }

  /// A hub takes elements only for a list that is described as one, and the description of a new model may be on its
  /// way: it goes first.
  private func describeFirst() throws(WriteError) {
    guard shown(Names.description) == nil, mayWrite(Names.description), let description = declared.withLock({ $0 })
    else { return }
    let weak = FieldOperation(.setIfAbsent, Names.description, description)
    _ = try write(Proposal(operations: [weak]), isWeak: true, whenOverlaid: { _ in })
  }

  /// What these fields show now.
  func present(_ fields: [String]) -> OverlaidFields {
    runtime.state.withLock { state in
      state.stamp += 1
      var shown = OverlaidFields(stamp: state.stamp)
      shown.lists = state.session.shownLists(id, concernedBy: fields)
      shown.forms = state.session.shown(id, Names.description).map { read($0).forms } ?? [:]
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
}

/// A parsed description.
private struct Described: Sendable {
  let bytes: FieldValue
  let description: ModelDescription
  /// Field by field, to be compared with declarations; nil if it is no description.
  let text: DescribedModel?
  let forms: [String: DescribedForm]

  init(_ bytes: FieldValue) {
    self.bytes = bytes
    description = bytes.jsonIfValid.map(ModelDescription.init) ?? ModelDescription()
    text = DescribedModel(bytes)
    forms = text?.forms ?? [:]
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
  /// The lists that they are, or belong to, by name.
  var lists: [String: ShownList] = [:]
  /// The forms of all described fields.
  var forms: [String: DescribedForm] = [:]
}
