public import BindingProtocol

/// What a session wants noted in its outbox before anything that it sends in the same drain leaves.
public enum JournalEntry: Sendable, Equatable {
  /// A hub was seen; its log, and the life that it is in.
  case welcomed(log: LogID, epoch: Epoch)
  case written(KeptWrite)
  /// The write has its number, and these conditions (R3); number 0: it has none any more, and nobody knows what became
  /// of it under the one that it had.
  case numbered(WriteID, ProposalNumber, conditions: [Condition])
  /// The hub is asked not to carry it out any more.
  case withdrawn(WriteID)
  case decided(WriteID, Decided)

  /// How a write ended, as the outbox notes it.
  public enum Decided: UInt8, Sendable, CaseIterable {
    case committed = 1
    case unchanged
    case refused
    case conflict
    case expired
    case unknown
    case superseded

    init(_ outcome: Outcome) {
      self =
        switch outcome {
        case .committed: .committed
        case .unchanged: .unchanged
        case .refused: .refused
        case .conflict: .conflict
        case .expired: .expired
        case .unknown: .unknown
        case .superseded: .superseded
        }
    }
  }
}

/// A write as an outbox keeps it: all that another life of the program needs to send it to its end.
public struct KeptWrite: Sendable, Equatable {
  public var id: WriteID
  public var model: String
  public var proposal: Proposal
  /// Wall time at which it was made, milliseconds since 1970; 0: not known. Compared only with the same machine's.
  public var time: UInt64
  /// What its writer saw of the fields that it concerns, by name.
  public var seen: [KeptSight]
  public var number: ProposalNumber?
  public var isWithdrawn = false
  /// It goes again without being known what became of it under the number that it had.
  public var isSecondTry = false
}

/// The committed value of a field when a write was made over it.
public struct KeptSight: Sendable, Equatable {
  public var field: String
  public var epoch: Epoch
  public var version: Version
  /// FNV-1a-64 of the value's bytes; nil: there was none.
  public var digest: UInt64?
}

/// What an earlier life of the program left in its outbox.
public struct PreviousRun: Sendable, Equatable {
  /// Counts the lives of the file.
  public var number: UInt32
  public var identity: Identity
  /// The hub that it knew.
  public var log: LogID?
  public var epoch: Epoch?
  /// The highest proposal number that it used in each model.
  public var lastNumbers: [String: ProposalNumber] = [:]
  /// Writes without an outcome, in their order.
  public var writes: [KeptWrite] = []
}

extension Pending {
  /// The write as it is kept; the time is the caller's.
  /// A later life has no rules: there a ruled write counts only if nobody else changed what its writer saw.
  private var keptProposal: Proposal {
    guard !rules.isEmpty, number == nil, proposal.conditions.isEmpty else { return proposal }
    var kept = proposal
    kept.conditions = ruledFields.compactMap { field, _ in
      seen[field].map { Condition(field: field, epoch: $0.epoch, version: $0.version) }
    }
    return kept
  }

  func kept(in model: String) -> KeptWrite {
    KeptWrite(
      id: id, model: model, proposal: keptProposal, time: 0,
      seen: seen.sorted.map { field, seen in
        KeptSight(field: field, epoch: seen.epoch, version: seen.version, digest: seen.value.digest)
      }, number: number, isWithdrawn: isVoid,
      isSecondTry: isSecondTry)
  }
}
