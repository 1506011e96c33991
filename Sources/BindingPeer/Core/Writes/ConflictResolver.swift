import BindingProtocol

/// Decides, by what is committed now, what becomes of a write that is about to be sent, and sets its conditions.
/// It changes only the write.
struct ConflictResolver {
  enum Decision {
    case send
    /// For the outcome of an earlier write, a commit, or the program's answer.
    case wait
    case end(Outcome)
    /// The program is to merge two values.
    case ask(MergeQuestion)
  }
  let replica: Replica
  let isEphemeral: Bool
  let options: SessionOptions
  /// Whether a writer is this peer or an earlier run of it, whose commits were made before the write.
  let isOwn: (Tag) -> Bool

  // MARK: Rules

  /// A write with rules: each of its fields is compared, merged, or asked about.
  /// - Parameter isFirst: whether no earlier pending write of this peer concerns the ruled field at an index.
  func prepareRuled(_ write: inout Pending, isFirst: [Bool]) -> Decision {
    guard !write.merging.isAsking, write.hasArrived(in: replica) else { return .wait }
    var conditions: [Condition] = []
    for ((field, rule), isFirst) in zip(write.ruledFields, isFirst) {
      // It was written over a write of ours that is still pending: wait for that one's outcome.
      guard isFirst else { return .wait }
      guard rule != .restore, let mine = write.value(of: field) else { continue }
      let known = replica.field(field)
      let (value, version) = (known?.value, known?.version ?? 0)
      let seen = write.seen[field]
      let isUntouched = seen?.isUntouched(value, at: version) ?? false
      if !isUntouched, !FieldValue.isSame(value, seen?.value.known) {
        switch rule {
        case .compareAndSet: return .end(.conflict(conflict(about: field)))
        case .text:
          if let merged = FieldValue.mergedText(base: seen?.base, first: value, second: mine) {
            write.replace(field, by: merged)
          }
        case .restore: break
        case .asked: return ask(MergeQuestion(field: field, base: seen?.base, mine: mine, theirs: value), of: &write)
        }
      }
      write.seen[field] = .init(
        value: .value(value), epoch: replica.epoch, version: version, ground: isUntouched ? seen?.base : nil)
      // A field without a value may have been deleted before this replica's snapshot, at an unknown version: the
      // condition names the version at which it is known to have no value, not "never written".
      conditions.append(
        Condition(field: field, epoch: replica.epoch, version: version > 0 ? version : replica.version))
    }
    write.proposal.conditions = conditions
    return .send
  }

  /// Asks the program to merge, at most `maxMergeAttempts` times: others may write faster than it answers, and the
  /// write would never be sent.
  private func ask(_ question: MergeQuestion, of write: inout Pending) -> Decision {
    guard write.merging.askings < options.maxMergeAttempts else {
      return .end(.conflict(conflict(about: question.field)))
    }
    write.merging.isAsking = true
    write.merging.askings += 1
    return .ask(question)
  }

  // MARK: Long waits

  /// Applies the offline rules to a plain set that waited long. Unless they say otherwise it yields to what others
  /// wrote: it is sent as compare-and-set on what its writer saw (docs/guide/offline.md).
  func prepareWaited(_ write: inout Pending, now: UInt64) -> Decision {
    guard write.proposal.isPlainSet, !isEphemeral, write.hasWaited(at: now, options) else { return .send }
    let changed = write.proposal.operations.map(\.field).filter { name in
      guard let seen = write.seen[name], let field = replica.field(name), !isOwn(field.origin.tag) else { return false }
      return seen.epoch == replica.epoch ? field.version > seen.version : !seen.value.isSame(as: field.value)
    }
    if changed.contains(where: { write.offline[$0] == .drops }) { return .end(.expired) }
    // One field that others changed decides for the whole proposal.
    if let field = changed.first(where: { write.offline[$0] != .wins }), let seen = write.seen[field] {
      write.proposal.conditions = [Condition(field: field, epoch: seen.epoch, version: seen.version)]
    }
    return .send
  }

  /// A write of an earlier run, which has no rules any more.
  func prepareResumed(_ write: inout Pending, now: UInt64) -> Decision {
    standOnOwn(&write)
    // It was written over an own write that was never committed: what its writer saw never existed.
    if let field = write.fieldSeenAlone(in: replica) { return .end(.conflict(conflict(about: field))) }
    return prepareWaited(&write, now: now)
  }

  /// Where the writer saw a write of its own program that is committed by now, the write stands on that.
  private func standOnOwn(_ write: inout Pending) {
    for index in write.proposal.conditions.indices {
      let condition = write.proposal.conditions[index]
      guard let seen = write.seen[condition.field], let field = replica.field(condition.field),
        seen.epoch == replica.epoch, field.version > condition.version, isOwn(field.origin.tag),
        seen.value.isSame(as: field.value)
      else { continue }
      write.proposal.conditions[index].epoch = replica.epoch
      write.proposal.conditions[index].version = field.version
    }
  }

  // MARK: Conditions

  /// What is committed in a field instead of the write's value.
  func conflict(about field: String) -> Conflict {
    let known = replica.field(field)
    return Conflict(
      field: field, version: known?.version ?? 0, origin: known?.origin ?? .none, ageMilliseconds: 0,
      value: known?.value)
  }

  /// The conditions under which a plain set whose result is unknown is resent: all its fields are as its writer saw
  /// them. nil: they are not.
  func conditionsIfUnchanged(for write: Pending) -> [Condition]? {
    var conditions: [Condition] = []
    for operation in write.proposal.operations {
      guard let seen = write.seen[operation.field] else { return nil }
      let (value, version) = replica.field(operation.field).map { ($0.value, $0.version) } ?? (nil, 0)
      // Across epochs values are compared; but a field without a value may have had one in between.
      let isSame = seen.value.isSame(as: value) && (value != nil || version == 0)
      guard seen.epoch == replica.epoch ? seen.version == version : isSame else { return nil }
      conditions.append(Condition(field: operation.field, epoch: replica.epoch, version: version))
    }
    return conditions
  }

  /// The conditions for resending a write that the hub may have applied and forgotten: its fields are as its writer
  /// saw them. "Never written" is too weak a condition: the field may have been written and deleted, and its model
  /// removed. The condition names the version at which the field is known to have no value; nil if none is known.
  func conditionsIfForgotten(for write: Pending) -> [Condition]? {
    var conditions = write.proposal.operations.prefix(Condition.maxCount).compactMap { operation in
      write.seen[operation.field].map { Condition(field: operation.field, epoch: $0.epoch, version: $0.version) }
    }
    guard conditions.count == write.proposal.operations.count else { return nil }
    for condition in conditions.indices where conditions[condition].version == 0 {
      guard replica.version > 0 else { return nil }
      conditions[condition].epoch = replica.epoch
      conditions[condition].version = replica.version
    }
    return conditions
  }
}
