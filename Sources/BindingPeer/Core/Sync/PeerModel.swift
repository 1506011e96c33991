import BindingProtocol

/// One joined model of a peer: its replica, its pending writes, and the progress of its join.
struct PeerModel: Sendable {
  enum Joining: Sendable, Equatable {
    /// No join was sent: there is no session.
    case idle
    case asked(request: UInt32, at: UInt64)
    /// `joined` has arrived; its catch-up is not complete.
    case catchingUp(request: UInt32, at: UInt64)
    case current
  }
  /// The model's id; for an ephemeral model its name.
  let id: String
  let isEphemeral: Bool
  /// Ephemeral models: the fields that this peer claims. They are claimed again after each welcome.
  var claims = Claims()
  /// Ephemeral models: fields that this peer still held from before it joined, to be given up; nil: it has not been
  /// current yet.
  var orphanedFields: [String]?
  /// Ephemeral models: the model may have ended, or have forgotten this peer, since it was last current.
  var mayBeAnew = false
  var replica = Replica()
  /// Replicas of other logs that this peer followed, never sent; it resumes from them if their hub returns.
  private(set) var aside: [LogID: Replica] = [:]
  var outbox = Outbox()
  var joining = Joining.idle
  /// The replica does not fit the hub's state: the next join asks for everything. Until that arrives, the replica
  /// shows.
  var startsOver = false
  /// Why the hub refused the last join; nil once it has accepted one.
  var refusal: JoinRefusal?
  var topic: Topic?
  /// The chunks received of the current catch-up.
  var chunks: [CatchupChunk] = []
  /// Frames of commits received during a catch-up.
  var buffered: [[UInt8]] = []
  var bufferedBytes = 0
  /// Collected for the next update: its cause (nil: no update), commits and hops.
  var cause: UpdateCause?
  var commits: [CommitInfo] = []
  var coalesced: UInt64 = 0
  var hops: UInt8 = 0
  /// The most hops of a local write since the last update.
  var localHops: UInt8 = 0
  /// No proposal is sent before this time: the hub has deferred one.
  var sendsFrom: UInt64 = 0
  /// The confirmed number and applied version that the last `alive` reported.
  var reportedConfirmed: ProposalNumber = 0
  var reportedApplied: Version = 0
  /// The heartbeat after which the last catch-up ended.
  var currentSince: UInt64 = 0
  /// The replica differed from the hub's model at the same version and is being replaced.
  var isHealing = false
  /// How often a divergence was healed in this session.
  var healed: UInt32 = 0
  /// When the committed values were last known to be complete.
  var staleSince: UInt64 = 0
  /// Left by the program; kept until all its writes have their outcomes.
  var isLeft = false

  init(id: String) {
    self.id = id
    isEphemeral = Names.isEphemeral(id)
  }

  var isCurrent: Bool { joining == .current }

  var request: UInt32? {
    switch joining {
    case .asked(let request, _), .catchingUp(let request, _): request
    case .idle, .current: nil
    }
  }

  /// Whether the replica holds this version of this epoch, or a later one.
  func holds(_ version: Version, _ epoch: Epoch) -> Bool {
    !startsOver && epoch == replica.epoch && version <= replica.version
  }

  /// Sets the replica of one log aside and restores what is known of another.
  mutating func turn(from old: LogID, to new: LogID) {
    if replica.version > 0 {
      // Few hubs take turns at one address: four replicas aside are enough.
      if aside.count >= 4, let least = aside.keys.min() { aside[least] = nil }
      aside[old] = replica
    }
    replica.become(aside.removeValue(forKey: new) ?? Replica())
    startsOver = false
  }

  /// Records a cause; of two the weightier one counts.
  mutating func record(_ cause: UpdateCause) {
    func weight(_ cause: UpdateCause) -> Int {
      switch cause {
      case .detached: 0
      case .snapshot: 1
      case .delta: 2
      case .commits: 3
      case .outcome: 4
      case .local: 5
      }
    }
    if self.cause.map({ weight(cause) < weight($0) }) ?? true { self.cause = cause }
  }

  // MARK: Writing
  // Members of the model, because access through the list of models would copy its parts.

  /// The pending writes that this proposal supersedes.
  mutating func replaced(by proposal: Proposal, rules: [String: ConflictRule]) -> [Pending] {
    outbox.replaced(by: proposal, rules: rules).compactMap { outbox[$0] }
  }

  /// The value that a field shows.
  func shown(_ field: String) -> FieldValue? {
    guard let index = replica.index(of: field) else { return outbox.shown(field, over: nil, at: 0) }
    return shown(at: index)
  }

  /// The value that the replica's field at an index shows.
  func shown(at index: Int) -> FieldValue? {
    outbox.shown(replica.fields[index].name, over: replica.fields[index].value, at: replica.fields[index].version)
  }

  /// Makes a pending write of a proposal. It is not yet in the overlay.
  mutating func pending(_ id: WriteID, _ proposal: Proposal, bytes: Int, at now: UInt64) -> Pending {
    let overlay = overlay(of: proposal)
    var seen = ByField<Pending.Seen>()
    for operation in overlay { seen[operation.field] = replica.sight(of: operation.field) }
    return Pending(id: id, proposal: proposal, overlay: overlay, bytes: bytes, writtenAt: now, seen: seen)
  }

  /// The operations with which a proposal overlays fields: `clear` becomes a deletion of each known field.
  private func overlay(of proposal: Proposal) -> [FieldOperation] {
    guard proposal.operations.contains(where: { $0.verb == .clear }) else { return proposal.operations }
    return proposal.operations.flatMap { operation in
      operation.verb == .clear ? replica.fields.map { FieldOperation(.delete, $0.name) } : [operation]
    }
  }

  /// Whether a merge of the write would still change the committed value.
  func lacksMerge(_ id: WriteID) -> Bool {
    guard let write = outbox[id], !write.isHidden else { return false }
    return write.overlay.contains { operation in
      guard let operand = operation.value else { return false }
      let committed = replica.index(of: operation.field).flatMap { replica.fields[$0].value }
      return Merge.apply(operation.verb, operand: operand, to: committed).map { $0 != committed } ?? false
    }
  }

  /// Adds a write to the overlay.
  mutating func addToOverlay(_ write: consuming Pending) {
    touch(write.overlay)
    outbox.append(write)
  }

  /// Removes the committed writes that the replica has reached; `.max` removes them all.
  mutating func drop(reached version: Version) {
    for write in outbox.takeArrived(by: version) { touch(outbox.remove(write)) }
  }

  /// Ends a join: the committed values have this version and hold this peer's writes up to `lastDecided`.
  mutating func reach(_ version: Version, epoch: Epoch, lastDecided: ProposalNumber) {
    // What was acknowledged in an earlier epoch is in this state or was lost with that epoch: it leaves the overlay.
    let reached: Version = epoch == replica.epoch ? version : .max
    replica.reach(version, epoch: epoch)
    startsOver = false
    touch(outbox.hide(upTo: lastDecided))
    drop(reached: reached)
  }

  /// Marks the fields of these operations, whose shown values may have changed.
  mutating func touch(_ overlay: [FieldOperation]) {
    for operation in overlay { touch(operation.field) }
  }

  mutating func touch(_ field: String) { replica.touch(replica.findOrInsert(field)) }

  /// The update to deliver now; nil if nothing has happened.
  mutating func takeUpdate() -> ModelUpdate? {
    guard let cause else { return nil }
    var changes: [ShownChange] = []
    var confirmed: [String] = []
    var covered: [String] = []
    for index in replica.sortedTouched() {
      let name = replica.fields[index].name
      let isOurs = !outbox.isEmpty && outbox.isPending(name)
      if var change = replica.show(shown(at: index), at: index) {
        change.isOurs = isOurs
        changes.append(change)
      } else {
        confirmed.append(name)
        if isOurs { covered.append(name) }
      }
    }
    replica.forgetTouched()
    let update = ModelUpdate(
      model: id, cause: cause, changes: changes, confirmed: confirmed, covered: covered, epoch: replica.epoch,
      version: replica.version, commits: commits, coalesced: coalesced,
      proposalHops: max(localHops, cause == .local || cause == .outcome ? 0 : hops &+ 1))
    self.cause = nil
    commits.removeAll()
    coalesced = 0
    hops = 0
    localHops = 0
    return update
  }
}
