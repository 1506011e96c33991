import BindingProtocol

extension ModelLog {
  /// What was decided since the last batch left, and what follows once it is stored. Borrowed from `BatchPool` while
  /// something is; used, as its model is, by one thread.
  final class PendingBatch {
    @exclusivity(unchecked) var commits = CommitsWriter()
    @exclusivity(unchecked) var isOpen = false
    @exclusivity(unchecked) var decisions: [Decision] = []
    @exclusivity(unchecked) var answers: [Answer] = []
    /// What the answers say that are no commits.
    @exclusivity(unchecked) var others: [Answer.Other] = []
    /// Fields that were decided, in order, each with what it had been decided to be before.
    @exclusivity(unchecked) var touched: [(field: FieldID, before: FieldSlot.Decided)] = []
    /// Where those of the commit that is being decided begin.
    @exclusivity(unchecked) var begun = 0
    @exclusivity(unchecked) var touchedWriters: [Int] = []
    /// Fields that a default wrote, and at which version: a later commit of the batch may have written them for real.
    @exclusivity(unchecked) var weakFields: [(field: FieldID, version: Version)] = []
    @exclusivity(unchecked) var recoveredFields: [(field: FieldID, from: RecoveryPoint)] = []
    /// The recovery whose fields are in this batch: should the batch not be stored, it is carried out again.
    @exclusivity(unchecked) var recovery: Recovery?
    /// The fields that existed when the pending batch was opened.
    @exclusivity(unchecked) var fieldsBefore = 0

    /// Forgets everything; lists keep their room, unless it is much.
    func clear() {
      isOpen = false
      recovery = nil
      let keeps = touched.count <= ModelLog.roomKept && answers.count <= ModelLog.roomKept
      decisions.removeAll(keepingCapacity: keeps)
      answers.removeAll(keepingCapacity: keeps)
      others.removeAll(keepingCapacity: keeps)
      touched.removeAll(keepingCapacity: keeps)
      touchedWriters.removeAll(keepingCapacity: keeps)
      weakFields.removeAll(keepingCapacity: keeps)
      recoveredFields.removeAll(keepingCapacity: keeps)
    }
  }

  /// A proposal that cannot be decided yet: the frame that it came in, and where in it it stands.
  struct Waiting {
    let session: SessionID
    let frame: [UInt8]
    let index: Int
  }

  /// An outcome to be told, once its decision is stored.
  struct Answer {
    enum Other {
      case outcome(WireOutcome.Rest)
      /// The conflicting field is looked up when the answer leaves: by then its value is stored.
      case conflict(FieldID)
    }
    var session: SessionID
    var number: ProposalNumber
    /// The version that it made, unless `index` points at what it says instead.
    var version: Version
    var index: Int?

    /// How many answers from `first` on, which is of a commit, are of commits whose numbers and versions follow each
    /// other; 65,535 at most.
    static func commits(in answers: ArraySlice<Answer>, from first: Int) -> Int {
      var (last, count) = (answers[first], 1)
      while first + count < answers.endIndex, count < Int(UInt16.max) {
        let next = answers[first + count]
        guard next.index == nil, next.number == last.number &+ 1, next.version == last.version &+ 1 else { break }
        last = next
        count += 1
      }
      return count
    }
  }

  /// Entries for which a list of the pending batch keeps its room.
  static let roomKept = 2_048
}
