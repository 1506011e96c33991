import BindingProtocol

/// The batch that a model is deciding or storing, and the proposals that wait for it.
struct BatchState {
  private let pool: BatchPool
  /// Readable at any time; writable only after `borrow`.
  private(set) var pending: PendingBatch
  var isAppending = false
  /// Proposals that arrived while a batch is being stored or the owner is being asked.
  var waiting: [WaitingProposal] = []
  /// The orders of the model's lists with the pending batch's decisions.
  var lists = ModelLists()
  /// What a store that several hubs share does with the model.
  var shared = SharedWork()

  /// - Parameter pool: unused batches, shared by the models of one hub.
  init(_ pool: BatchPool) {
    self.pool = pool
    pending = pool.none
  }

  /// Whether a decision has not left as a batch yet.
  var hasDecisions: Bool { pending.isOpen || !pending.decisions.isEmpty }

  /// Borrows a pending batch, so that it can be written to.
  mutating func borrow() { if pending === pool.none { pending = pool.borrow() } }

  /// Empties the pending batch.
  mutating func giveBack() {
    guard pending !== pool.none else { return }
    pool.giveBack(pending)
    pending = pool.none
  }
}

/// Decisions not yet stored, with their deferred answers. Borrowed from `BatchPool` while there are any; used by
/// one thread, like its model.
final class PendingBatch {
  @exclusivity(unchecked) var commits = CommitsWriter()
  @exclusivity(unchecked) var isOpen = false
  @exclusivity(unchecked) var decisions: [Decision] = []
  @exclusivity(unchecked) var answers: [DeferredAnswer] = []
  /// The contents of answers other than commits.
  @exclusivity(unchecked) var others: [DeferredAnswer.Other] = []
  /// Decided fields, in order, each with its decision before.
  @exclusivity(unchecked) var touched: [(field: FieldID, before: FieldSlot.Decided)] = []
  /// The index in `touched` at which the present commit begins.
  @exclusivity(unchecked) var begun = 0
  @exclusivity(unchecked) var touchedWriters: [Int] = []
  /// Fields written by `setIfAbsent`, with the version: a later commit of the batch may have set them.
  @exclusivity(unchecked) var weakFields: [(field: FieldID, version: Version)] = []
  /// Fields with a time limit that were set to the value they have.
  @exclusivity(unchecked) var renewed: [FieldID] = []
  @exclusivity(unchecked) var recoveredFields: [(field: FieldID, from: RecoveryPoint)] = []
  /// The recovery whose fields are in this batch; it is repeated if the batch is not stored.
  @exclusivity(unchecked) var recovery: Recovery?
  /// The number of fields when the batch was opened.
  @exclusivity(unchecked) var fieldsBefore = 0
  /// The proposals that were decided, in order, where another hub may be first and they are then decided again.
  @exclusivity(unchecked) var proposals: [WaitingProposal] = []

  /// The most entries for which a list keeps its capacity.
  static let roomKept = 2_048

  /// Empties the batch; lists keep their capacity unless it is big.
  func clear() {
    isOpen = false
    recovery = nil
    let keeps = touched.count <= PendingBatch.roomKept && answers.count <= PendingBatch.roomKept
    decisions.removeAll(keepingCapacity: keeps)
    answers.removeAll(keepingCapacity: keeps)
    others.removeAll(keepingCapacity: keeps)
    touched.removeAll(keepingCapacity: keeps)
    touchedWriters.removeAll(keepingCapacity: keeps)
    weakFields.removeAll(keepingCapacity: keeps)
    renewed.removeAll(keepingCapacity: keeps)
    recoveredFields.removeAll(keepingCapacity: keeps)
    proposals.removeAll(keepingCapacity: keeps)
  }
}

/// A proposal that cannot be decided yet: its frame, and where it begins in the frame.
struct WaitingProposal {
  /// 0: another hub of the log has passed it on.
  let session: SessionID
  let frame: [UInt8]
  let offset: Int
  /// Who wrote it, if another hub has passed it on.
  var forwarded: ForwardedWriter?

  /// Whether another hub of the log has passed it on.
  var isForwarded: Bool { forwarded != nil }

  /// Reads it.
  func read<Result>(_ body: (ProposalCursor) -> Result) -> Result? {
    frame.withUnsafeBytes { bytes in
      // The whole frame was checked when it arrived.
      var proposal = ProposalCursor(at: offset, ofChecked: bytes)
      return (try? proposal.next()) == true ? body(proposal) : nil
    }
  }
}

/// An outcome to send once its decision is stored.
struct DeferredAnswer {
  enum Other {
    case outcome(WireOutcome.Rest)
    /// The conflicting field is looked up when the answer leaves; its value is stored by then.
    case conflict(FieldID)
  }
  var session: SessionID
  var number: ProposalNumber
  /// The version of the commit, unless `index` refers to an entry of `others`.
  var version: Version
  var index: Int?

  /// The number of answers from `first` on, a commit's, that are commits with consecutive numbers and versions;
  /// at most 65,535.
  static func commits(in answers: ArraySlice<DeferredAnswer>, from first: Int) -> Int {
    var (last, count) = (answers[first], 1)
    while first + count < answers.endIndex, count < Int(UInt16.max) {
      let next = answers[first + count]
      guard next.index == nil, next.number == last.number &+ 1, next.version == last.version &+ 1
      else { break }
      last = next
      count += 1
    }
    return count
  }
}
