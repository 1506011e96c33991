import BindingProtocol

/// Checks the final values: each acknowledged write or a later one stands, and all peers agree.
extension HistoryCheck {
  mutating func checkFinalValues() {
    guard let last = log.last else { return }
    for model in log.models {
      var byField: [String: [(write: Int, operation: HistoryWrite.Operation)]] = [:]
      for (index, write) in writes.enumerated() where write.content.model == model {
        for operation in write.content.operations { byField[operation.field, default: []].append((index, operation)) }
      }
      for field in byField.keys.sorted() {
        let list = byField[field] ?? []
        let verbs = Set(list.map(\.operation.verb))
        if verbs.isSubset(of: ["set", "delete"]) { checkRegister(field, model, list.map(\.write), last) }
        if verbs == ["add"] { checkCounter(field, model, list) }
        if verbs == ["union"] || verbs == ["text"] { checkCollected(field, model, list) }
      }
    }
    checkOutboxes()
  }

  /// A field that is only set: its last value is no older than any acknowledged one.
  private mutating func checkRegister(_ field: String, _ model: String, _ list: [Int], _ last: Epoch) {
    let entry = log.tracks[.init(model: model, epoch: last)]?.commits.last { $0.content.changes[field] != nil }
    let stands = entry.flatMap { origin(of: $0, in: field) }
    for index in list where writes[index].isAcknowledged {
      guard let commit = writes[index].commit else { continue }
      if commit.epoch == last, stands == nil { continue }
      guard stands.map({ HubLog.isBefore($0, commit) }) ?? true else { continue }
      // A deletion carried over by a snapshot stands as "nothing there".
      if stands == nil, writes[index].content.operations.contains(where: { $0.field == field && $0.verb == "delete" }) {
        continue
      }
      lose(index, "\(model).\(field) ended with \(stands.map { "version \($0.version)" } ?? "nothing"), which is older")
    }
  }

  /// A counter that is only added to: at least everything acknowledged, at most everything requested.
  private mutating func checkCounter(
    _ field: String, _ model: String, _ list: [(write: Int, operation: HistoryWrite.Operation)]
  ) {
    var (least, most) = (Int64(0), Int64(0))
    for (index, operation) in list {
      let (write, amount) = (writes[index], operation.value.int64 ?? 0)
      if write.isAcknowledged || (write.isOpen && write.commit != nil) {
        least += amount
        most += amount
      } else if write.isOpen {
        least += min(0, amount)
        most += max(0, amount)
      }
    }
    guard let location = list.last.map({ writes[$0.write].location }) else { return }
    let value = log.present(model).state[field]?.int64 ?? 0
    if (least...most).contains(value) { return }
    let wasLost = log.epochs.count > 1 && log.epochs.contains(where: \.isMemory)
    if wasLost, value < least {
      figures.lostWithHub += Int(least - value)
      return
    }
    if wasLost, value > most {
      figures.repeatedAfterRestart += Int(value - most)
      return
    }
    find(.miscounted, location, "\(model).\(field) is \(value), where \(least) to \(most) were added")
  }

  /// A list or text that only grows: it contains everything acknowledged.
  private mutating func checkCollected(
    _ field: String, _ model: String, _ list: [(write: Int, operation: HistoryWrite.Operation)]
  ) {
    let value = log.present(model).state[field] ?? .null
    let (elements, words) = (Set(value.elements ?? []), value.words)
    for (index, operation) in list where writes[index].isAcknowledged {
      let isThere =
        operation.verb == "text"
        ? words.contains(operation.value.string ?? "") : elements.isSuperset(of: operation.value.elements ?? [])
      if !isThere { lose(index, "\(model).\(field) ended without \(operation.value)", mergesOn: true) }
    }
  }

  /// An acknowledged write does not stand. A hub with a memory store may lose commits that no surviving peer had shown,
  /// and those that were recovered too late for a field that others had written by then.
  private mutating func lose(_ index: Int, _ text: String, mergesOn: Bool = false) {
    let write = writes[index]
    guard let commit = write.commit else { return }
    let isMemory = log.epochs.contains { $0.epoch > commit.epoch && $0.isMemory }
    if isMemory, mergesOn || !isHeld(commit, by: laterEpochs(than: commit)) {
      figures.lostWithHub += 1
      return
    }
    find(.lost, write.outcomeIn ?? write.location, "\(text) than the acknowledged write at \(write.location)")
  }

  /// The commit that first made the value of a field's last commit. What was lost with a hub that keeps nothing, and
  /// was carried out again because its peer had heard nothing of it, was first made then.
  private func origin(of entry: HubLog.Entry, in field: String) -> CommitName? {
    guard let first = log.origin(of: entry, in: field) else { return nil }
    let commit = entry.content
    let isRepeat = commit.number > 0 && first.epoch != commit.epoch
    guard isRepeat, !isHeld(first, by: laterEpochs(than: first)) else { return first }
    return .init(model: commit.model, epoch: commit.epoch, version: commit.version)
  }

  private func laterEpochs(than commit: CommitName) -> [Epoch] {
    log.epochs.map(\.epoch).filter { $0 > commit.epoch }
  }

  /// Whether a peer had shown a version before its epoch ended, survived to the end and saw every later epoch.
  private func isHeld(_ commit: CommitName, by later: [Epoch]) -> Bool {
    runs.values.contains { run in
      var (hadIt, isThere, seen) = (false, false, Set<Epoch>())
      for entry in run.entries {
        switch entry.content {
        case .update(let update) where update.model == commit.model:
          seen.insert(update.epoch)
          if update.epoch == commit.epoch, update.version >= commit.version { hadIt = true }
        case .final(let update) where update.model == commit.model: isThere = true
        default: break
        }
      }
      return hadIt && isThere && seen.isSuperset(of: later)
    }
  }

  /// Writes that a peer with an outbox made before it was killed are present, unless a later write may have
  /// superseded them.
  private mutating func checkOutboxes() {
    guard log.epochs.count == 1 else { return }
    let settled = runs.values.filter { $0.keepsOutbox && $0.isSettled }.map(\.name)
    for write in writes where write.outcome == nil && write.commit == nil {
      guard let run = runs[write.tag], run.keepsOutbox, settled.contains(run.name) else { continue }
      if write.content.operations.allSatisfy({ ["add", "union"].contains($0.verb) }), write.isMade {
        find(.lost, write.location, "\(run.name) kept it in its outbox, and it was never committed")
      }
    }
  }

  /// When all is quiet, every peer shows the hub's values.
  mutating func checkConverged() {
    for tag in runs.keys.sorted() {
      for entry in runs[tag]?.entries ?? [] {
        guard case .final(let final) = entry.content else { continue }
        let (version, state) = log.present(final.model)
        let differing = Set(final.values.keys).union(state.keys)
          .filter { (final.values[$0] ?? .null) != (state[$0] ?? .null) }.sorted()
        if final.epoch != log.last || final.version != version {
          find(
            .diverged, entry.location,
            "\(final.model) is at version \(final.version) of epoch \(final.epoch); the hub is at \(version) of "
              + "\(log.last ?? 0)")
        } else if let field = differing.first {
          find(
            .diverged, entry.location,
            "\(final.model).\(field) is \(final.values[field] ?? .null); the hub has \(state[field] ?? .null)")
        }
      }
    }
  }
}

extension HistoryCheck.Run {
  /// Whether it reached the quiet end.
  var isSettled: Bool {
    entries.contains {
      if case .final = $0.content { true } else { false }
    }
  }
}
