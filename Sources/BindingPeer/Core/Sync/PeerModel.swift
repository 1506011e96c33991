import BindingProtocol

/// One joined model at a peer: the replica, what is pending, and how far the join has come.
struct PeerModel: Sendable {
  enum Joining: Sendable, Equatable {
    /// Nothing was asked: there is no session.
    case idle
    case asked(request: UInt32, at: UInt64)
    /// `joined` has come, its catch-up has not come wholly.
    case catchingUp(request: UInt32, at: UInt64)
    case current
  }
  /// The model's id; of an ephemeral line its name.
  let id: String
  let isEphemeral: Bool
  /// In an ephemeral line: what this peer has there. It is claimed again after each welcome.
  var claims = Claims()
  /// In an ephemeral line: what this peer still had there from before it joined, to be given up; nil: it has not been
  /// current yet.
  var orphanedFields: [String]?
  /// In an ephemeral line: it may have ended, or have forgotten this peer, since it was current last.
  var mayBeAnew = false
  var replica = Replica()
  /// Replicas of other logs that this peer followed before, unsent; should their hub be back, it goes on from there.
  private(set) var aside: [LogID: Replica] = [:]
  var outbox = Outbox()
  var joining = Joining.idle
  /// What is here does not fit what the hub has: the next join asks for all of it. Until that has come, this is shown.
  var startsOver = false
  /// Why the hub has not let us join, the last time we asked; nil once it has.
  var refusal: JoinRefusal?
  var topic: Topic?
  /// Chunks of the catch-up that is coming.
  var chunks: [CatchupChunk] = []
  /// Commits that came during a catch-up.
  var buffered: [[UInt8]] = []
  var bufferedBytes = 0
  /// What has to be told with the next update.
  var cause: UpdateCause?
  var commits: [CommitInfo] = []
  var coalesced: UInt64 = 0
  var hops: UInt8 = 0
  /// The most hops of what was written here since.
  var localHops: UInt8 = 0
  /// No proposal is sent before: the hub has put one off.
  var sendsFrom: UInt64 = 0
  /// Told by the last `alive`.
  var reportedConfirmed: ProposalNumber = 0
  var reportedApplied: Version = 0
  /// The heartbeat after which it was caught up with last.
  var currentSince: UInt64 = 0
  /// The versions that the hub wants to hear of, once they are here; at most so many.
  var asked: [Version] = []
  static let maxAsked = 16
  /// It differed from the hub's at the same version, and is being taken anew.
  var isHealing = false
  /// How often that has happened in this session.
  var healed: UInt32 = 0
  /// When its committed values were last known to be complete.
  var staleSince: UInt64 = 0
  /// Left by the program; kept until all that was written has its outcome.
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

  /// Whether the committed values that are here are of that version, or a later one.
  func holds(_ version: Version, _ epoch: Epoch) -> Bool {
    !startsOver && epoch == replica.epoch && version <= replica.version
  }

  /// Lays the replica of one log aside and takes up what is known of another.
  mutating func turn(from old: LogID, to new: LogID) {
    if replica.version > 0 {
      // Few hubs take turns at one address; an old log beyond that is forgotten.
      if aside.count >= 4, let least = aside.keys.min() { aside[least] = nil }
      aside[old] = replica
    }
    replica.become(aside.removeValue(forKey: new) ?? Replica())
    startsOver = false
  }

  /// The weightier cause of two stands for both.
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
  // Here, where all of a model is at hand: across the list of models its parts would be copied to be looked at.

  /// The writes that this one takes the place of.
  mutating func replaced(by proposal: Proposal, rules: [String: ConflictRule]) -> [Pending] {
    outbox.replaced(by: proposal, rules: rules).compactMap { outbox[$0] }
  }

  /// The value that shows.
  func shown(_ field: String) -> FieldValue? {
    guard let index = replica.index(of: field) else { return outbox.shown(field, over: nil, at: 0) }
    return shown(at: index)
  }

  /// The value that shows of the field at that place of the replica.
  func shown(at index: Int) -> FieldValue? {
    outbox.shown(replica.fields[index].name, over: replica.fields[index].value, at: replica.fields[index].version)
  }

  /// A write of a proposal, which has yet to be laid over.
  mutating func pending(_ id: WriteID, _ proposal: Proposal, bytes: Int, at now: UInt64) -> Pending {
    let overlay = overlay(of: proposal)
    var seen = ByField<Pending.Seen>()
    for operation in overlay { seen[operation.field] = replica.sight(of: operation.field) }
    return Pending(id: id, proposal: proposal, overlay: overlay, bytes: bytes, writtenAt: now, seen: seen)
  }

  /// What of a proposal lies over the fields: `clear` over each of them.
  private func overlay(of proposal: Proposal) -> [FieldOperation] {
    guard proposal.operations.contains(where: { $0.verb == .clear }) else { return proposal.operations }
    return proposal.operations.flatMap { operation in
      operation.verb == .clear ? replica.fields.map { FieldOperation(.delete, $0.name) } : [operation]
    }
  }

  /// Whether the write merges into a committed value what that does not have.
  func lacksMerge(_ id: WriteID) -> Bool {
    guard let write = outbox[id], !write.isHidden else { return false }
    return write.overlay.contains { operation in
      guard let operand = operation.value else { return false }
      let committed = replica.index(of: operation.field).flatMap { replica.fields[$0].value }
      return Merge.apply(operation.verb, operand: operand, to: committed).map { $0 != committed } ?? false
    }
  }

  /// Lays a write over.
  mutating func addToOverlay(_ write: consuming Pending) {
    touch(write.overlay)
    outbox.append(write)
  }

  /// Takes out the writes that the replica has reached; all of them if it is another life's.
  mutating func drop(reached version: Version) {
    for write in outbox.takeArrived(by: version) { touch(outbox.remove(write)) }
  }

  /// A join has brought the committed values to that version, with what the hub has decided of this peer's numbers.
  mutating func reach(_ version: Version, epoch: Epoch, lastDecided: ProposalNumber) {
    // What was acknowledged in a life that is over is in this state, or lost with that life: it lies over it no longer.
    let reached: Version = epoch == replica.epoch ? version : .max
    replica.reach(version, epoch: epoch)
    startsOver = false
    touch(outbox.hide(upTo: lastDecided))
    drop(reached: reached)
  }

  /// The fields that these operations concern may show another value.
  mutating func touch(_ overlay: [FieldOperation]) {
    for operation in overlay { touch(operation.field) }
  }

  mutating func touch(_ field: String) { replica.touch(replica.findOrInsert(field)) }

  /// What is to be told now; nil if nothing has happened.
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
