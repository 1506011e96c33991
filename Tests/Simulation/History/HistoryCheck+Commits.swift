import BindingProtocol

/// Checks what the hub stored: each commit is one peer's write, applied once, in an order that contradicts no
/// acknowledgement.
extension HistoryCheck {
  mutating func enter(_ entry: HistoryEntry) {
    switch entry.content {
    case .hub(let epoch, let durability):
      log.begin(epoch, isMemory: durability == "memory", at: entry.time)
    case .epoch(let epoch): log.turn(to: epoch, isMemory: log.epochs.last?.isMemory ?? false, at: entry.time)
    case .commit(let commit): enter(commit, at: entry.location)
    default: break
    }
  }

  private mutating func enter(_ commit: HistoryCommit, at location: HistoryLocation) {
    let (version, before) = log.present(commit.model)
    var entry = HubLog.Entry(location: location, content: commit)
    let proposal = HubLog.ProposalName(model: commit.model, tag: commit.tag, number: commit.number)
    let name = CommitName(model: commit.model, epoch: commit.epoch, version: commit.version)
    if commit.isAgain, let known = log.entry(name)?.content, known.tag == commit.tag, known.number == commit.number,
      known.changes == commit.changes
    {
      return
    }
    if commit.number == 0 {
      entry.isRecovered = true
      figures.recovered += 1
    } else if let first = log.first[proposal] {
      if first.epoch == commit.epoch {
        find(.twice, location, "\(proposal.described) is version \(first.version) already")
      } else if log.epochs.last?.isMemory == true {
        figures.repeatedAfterRestart += 1
      } else {
        find(.twice, location, "\(proposal.described) was carried out again after a restart")
      }
      entry.write = log.entry(first)?.write
    } else if let write = writer(of: commit, named: name, on: before, at: location) {
      entry.write = write
      if writes[write].commit == nil { writes[write].commit = name }
      checkConditions(of: writes[write], commit, at: location)
    }
    if !log.add(entry) {
      find(.gapped, location, "version \(commit.version) of \(commit.model) follows version \(version)")
    }
  }

  /// The write behind a commit.
  private mutating func writer(
    of commit: HistoryCommit, named name: CommitName, on before: [String: JSON], at location: HistoryLocation
  ) -> Int? {
    guard let run = runs[commit.tag] else {
      find(.phantom, location, "\(commit.tag) is no peer with a history")
      return nil
    }
    if let index = acknowledgedAt[name], writes[index].tag == commit.tag, writes[index].commit == nil {
      if !writes[index].content.makes(commit.changes, of: before) {
        find(
          .changed, location, "it is not what write \(writes[index].content.id) at \(writes[index].location) asks for")
      }
      return index
    }
    let writer = WriterName(tag: commit.tag, model: commit.model)
    let list = writesOf[writer] ?? []
    var start = firstOpen[writer] ?? 0
    while start < list.count, writes[list[start]].commit != nil { start += 1 }
    firstOpen[writer] = start
    // A write acknowledged in a later epoch may have been committed, and lost, in this one.
    let fitting = list[start...].filter {
      let write = writes[$0]
      let isElsewhere = write.isAcknowledged && (write.outcome?.epoch ?? 0) <= commit.epoch
      return write.commit == nil && !isElsewhere && write.content.makes(commit.changes, of: before)
    }
    if let index = fitting.first(where: { writes[$0].outcome?.isNo != true }) { return index }
    if let index = fitting.first {
      find(.undone, location, "the write at \(writes[index].location) was told '\(writes[index].outcome?.kind ?? "")'")
      return index
    }
    if run.shares.contains(commit.model) { return nil }
    find(.phantom, location, "\(run.name) (\(commit.tag)) asked for no such change of \(commit.model)")
    return nil
  }

  /// Each condition held on the state before the commit.
  private mutating func checkConditions(of write: Write, _ commit: HistoryCommit, at location: HistoryLocation) {
    let track = log.tracks[.init(model: commit.model, epoch: commit.epoch)]
    for condition in write.content.conditions {
      let changed = track?.changedAt[condition.field] ?? 0
      // Version 0, of any epoch, means that the field was never written.
      if changed > condition.version || (condition.epoch != commit.epoch && condition.version > 0) {
        find(
          .unchecked, location,
          "\(condition.field) changed at \(changed), after \(condition.version) "
            + "which the write at \(write.location) names"
        )
      }
    }
  }

  /// Every acknowledged commit is in the hub's history.
  mutating func checkAcknowledged() {
    for write in writes where write.isAcknowledged {
      guard let outcome = write.outcome, let location = write.outcomeIn else { continue }
      let name = CommitName(model: write.content.model, epoch: outcome.epoch, version: outcome.version)
      guard log.entry(name)?.content.tag != write.tag else { continue }
      find(
        .unstored, location,
        "version \(outcome.version) of epoch \(outcome.epoch) of \(name.model) is not stored as a write of this peer")
    }
  }

  /// A write that was acknowledged before another was made precedes it: in version order, the latest time of making
  /// so far never exceeds the acknowledgement of the present write.
  mutating func checkOrder() {
    for name in log.tracks.keys.sorted(by: { ($0.model, $0.epoch) < ($1.model, $1.epoch) }) {
      var latest: (time: UInt64, version: Version) = (0, 0)
      for entry in log.tracks[name]?.commits ?? [] where !entry.isRecovered {
        guard let index = entry.write else { continue }
        let write = writes[index]
        if write.isAcknowledged, write.outcome?.version == entry.content.version,
          write.outcome?.epoch == entry.content.epoch, write.outcomeAt < latest.time
        {
          find(
            .late, entry.location,
            "it was acknowledged before version \(latest.version) was asked for, and comes after it")
        }
        if write.submitted > latest.time { latest = (write.submitted, entry.content.version) }
      }
    }
  }
}

extension HubLog.ProposalName {
  var described: String { "proposal \(number) of \(tag) to \(model)" }
}

extension HistoryWrite {
  /// Whether this write, applied to a state, makes these changes.
  func makes(_ changes: [String: JSON], of state: [String: JSON]) -> Bool {
    guard changes.keys.allSatisfy({ field in operations.contains { $0.field == field } }) else { return false }
    return operations.allSatisfy { operation in
      let before = state[operation.field] ?? .null
      guard let after = changes[operation.field] else {
        // A write without effect need not be in the commit.
        return operation.verb != "set" && operation.holds(from: before, to: before)
      }
      return operation.holds(from: before, to: after)
    }
  }
}

extension HistoryWrite.Operation {
  /// Whether the operation turns `before` into `after`.
  func holds(from before: JSON, to after: JSON) -> Bool {
    switch verb {
    case "set": return after == value
    case "delete": return after == .null
    case "add": return (before.int64 ?? 0) + (value.int64 ?? 0) == after.int64
    case "max": return Swift.max(before.int64 ?? .min, value.int64 ?? .min) == after.int64
    case "min": return Swift.min(before.int64 ?? .max, value.int64 ?? .max) == after.int64
    case "union":
      let old = before.elements ?? []
      return after.elements == old + (value.elements ?? []).filter { !old.contains($0) }
    case "describe":
      let present = before == .null ? nil : FieldValue(json: before)
      return Merge.apply(.describe, operand: FieldValue(json: value), to: present)?.jsonIfParsed == after
    case "text": return value.string.map { after.words.contains($0) } ?? false
    default: return false
    }
  }
}

extension FieldValue {
  fileprivate var jsonIfParsed: JSON? { try? json }
}

extension JSON {
  /// A text's words, separated by blanks.
  var words: Set<String> { Set((string ?? "").split(separator: " ").map(String.init)) }
}
