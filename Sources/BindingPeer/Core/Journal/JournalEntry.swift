package import BindingProtocol

/// An entry that a session records in its outbox before any frame of the same drain leaves.
package enum JournalEntry: Sendable, Equatable {
  /// A hub was seen, with this log in this epoch.
  case welcomed(log: LogID, epoch: Epoch)
  case written(KeptWrite)
  /// The write got this number, with these conditions (R3). Number 0: it no longer has one, and its result under the
  /// former number is unknown.
  case numbered(WriteID, ProposalNumber, conditions: [Condition])
  /// The hub is asked not to apply the write.
  case withdrawn(WriteID)
  case decided(WriteID, Decided)
  /// A write that is not kept got this number.
  case counted(model: String, last: ProposalNumber)
  /// A step of undo, as `UndoBook` encodes it; an empty payload: it is gone.
  case undo(model: String, step: UInt64, payload: [UInt8])

  /// How a write ended, as the outbox records it.
  package enum Decided: UInt8, Sendable, CaseIterable {
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

/// A write as an outbox keeps it: all that a later run needs to send it and learn its outcome.
package struct KeptWrite: Sendable, Equatable {
  /// The write's id in the run that made it.
  package var id: WriteID
  /// The model's id.
  package var model: String
  /// The proposal.
  package var proposal: Proposal
  /// The wall time at which it was made, milliseconds since 1970; 0: unknown. Compared only with the same machine's.
  package var time: UInt64
  /// What the writer saw of the fields concerned, by name.
  package var seen: [KeptSight]
  /// The proposal's number; nil: none assigned.
  package var number: ProposalNumber?
  /// Whether the hub is asked not to apply it.
  package var isWithdrawn = false
  /// It is resent although its result under its former number is unknown.
  package var isSecondTry = false
}

/// The committed value of a field when a write was made over it.
package struct KeptSight: Sendable, Equatable {
  /// The field's name.
  package var field: String
  /// The epoch that the writer saw.
  package var epoch: Epoch
  /// The version at which the committed value was set.
  package var version: Version
  /// FNV-1a-64 of the value's bytes; nil: no value.
  package var digest: UInt64?
}

/// What an earlier run of the program left in its outbox.
package struct PreviousRun: Sendable, Equatable {
  /// The run's number in the file.
  package var number: UInt32
  /// The identity under which the run wrote.
  package var identity: Identity
  /// The tags of the runs before it, as far as they may have written at the hub: what they wrote is no other's
  /// (docs/guide/offline.md).
  package var earlier: Swift.Set<Tag> = []
  /// The log of the hub that the run knew; nil: none.
  package var log: LogID?
  /// The epoch of that log; nil: no hub was seen.
  package var epoch: Epoch?
  /// The highest proposal number that the run used in each model.
  package var lastNumbers: [String: ProposalNumber] = [:]
  /// The writes without an outcome, in their order.
  package var writes: [KeptWrite] = []
}

extension Pending {
  /// The proposal as it is kept. A later run has no rules: it sends a ruled write on condition that no other peer has
  /// changed what its writer saw.
  private var keptProposal: Proposal {
    guard !rules.isEmpty, number == nil, proposal.conditions.isEmpty else { return proposal }
    var kept = proposal
    kept.conditions = ruledFields.compactMap { field, _ in
      seen[field].map { Condition(field: field, epoch: $0.epoch, version: $0.version) }
    }
    return kept
  }

  /// The write as it is kept; the caller sets its time.
  func kept(in model: String) -> KeptWrite {
    KeptWrite(
      id: id, model: model, proposal: keptProposal, time: 0,
      seen: seen.sorted.map { field, seen in
        KeptSight(field: field, epoch: seen.epoch, version: seen.version, digest: seen.value.digest)
      }, number: number, isWithdrawn: sending.isVoid,
      isSecondTry: sending.isSecondTry)
  }
}
