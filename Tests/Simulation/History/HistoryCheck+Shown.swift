import BindingProtocol

/// Checks what a peer showed: only committed values or its own; whole commits; never older than before.
extension HistoryCheck {
  mutating func checkShown(_ tag: String) {
    guard let run = runs[tag] else { return }
    var shown: [String: [String: JSON]] = [:]
    var at: [String: (epoch: Epoch, version: Version)] = [:]
    var broken: Set<String> = []
    for entry in run.entries {
      switch entry.content {
      case .update(let update):
        figures.updates += 1
        if update.missed > 0 { broken.insert(update.model) }
        if let before = at[update.model], (update.epoch, update.version) < before {
          find(
            .back, entry.location,
            "\(update.model) shows version \(update.version) of epoch \(update.epoch) after \(before.version) of "
              + "\(before.epoch)")
        }
        at[update.model] = (update.epoch, update.version)
        for (field, value) in update.values { shown[update.model, default: [:]][field] = value == .null ? nil : value }
        // After dropped updates only the fields in this update are known.
        let isPart = broken.contains(update.model)
        checkUpdate(update, isPart ? update.values : shown[update.model] ?? [:], isPart, of: tag, at: entry.location)
      case .read(let model, let field, let value): checkRead(value, field, of: model, by: tag, entry)
      default: break
      }
    }
  }

  private mutating func checkUpdate(
    _ update: HistoryUpdate, _ shown: [String: JSON], _ isPart: Bool, of tag: String, at location: HistoryLocation
  ) {
    guard update.epoch != 0 else { return }
    guard let state = log.state(update.model, update.epoch, update.version) else {
      return find(
        .invented, location, "\(update.model) never had version \(update.version) in epoch \(update.epoch)")
    }
    let fields = isPart ? Set(shown.keys) : Set(shown.keys).union(state.keys)
    for field in fields where !field.hasPrefix("@") {
      let (value, committed) = (shown[field] ?? .null, state[field] ?? .null)
      if value == committed || isOwn(value, over: committed, field, update, tag) { continue }
      let wasThere = log.tracks[.init(model: update.model, epoch: update.epoch)]?.commits.contains {
        $0.content.version <= update.version && $0.content.changes[field] == value
      }
      find(
        wasThere == true ? .torn : .invented, location,
        "\(update.model).\(field) shows \(value) at version \(update.version), where the hub has \(committed)")
    }
  }

  /// Whether a shown value results from applying this peer's pending writes to the committed one.
  private func isOwn(
    _ value: JSON, over committed: JSON, _ field: String, _ update: HistoryUpdate, _ tag: String
  ) -> Bool {
    // A default that it proposed.
    if committed == .null, runs[tag]?.shares.contains(update.model) == true { return true }
    let pending = pending(field, update, tag)
    var (least, most) = (committed.int64 ?? 0, committed.int64 ?? 0)
    var isCounter = false
    var elements = Set(committed.elements ?? [])
    for operation in pending {
      switch operation.verb {
      case "set": if operation.value == value { return true }
      case "delete": if value == .null { return true }
      case "add":
        isCounter = true
        least += min(0, operation.value.int64 ?? 0)
        most += max(0, operation.value.int64 ?? 0)
      case "union": elements.formUnion(operation.value.elements ?? [])
      default: break
      }
    }
    if isCounter, let number = value.int64 { return (least...most).contains(number) }
    if let shown = value.elements {
      return Set(shown).isSuperset(of: committed.elements ?? []) && elements.isSuperset(of: shown)
    }
    // A peer's own text overlays the whole value until it is merged: it may lack later words of others, or contain
    // words lost with a hub, but none that was never written.
    return pending.contains { $0.verb == "text" } && value.words.isSubset(of: wordsWritten)
  }

  /// Operations on a field, by this peer or an earlier run of its outbox, that the shown version does not contain.
  private func pending(_ field: String, _ update: HistoryUpdate, _ tag: String) -> [HistoryWrite.Operation] {
    var tags = [tag]
    if let run = runs[tag], run.keepsOutbox {
      tags += runs.filter { $0.key != tag && $0.value.name == run.name }.map(\.key)
    }
    var operations: [HistoryWrite.Operation] = []
    for writer in tags {
      // Proposals of one writer are applied in order, so the pending ones are the last.
      var heldInARow = 0
      for index in (writesOf[WriterName(tag: writer, model: update.model)] ?? []).reversed() {
        let write = writes[index]
        // An earlier run's write without an outcome stays overlaid until it has one.
        let isRestored = writer != tag && write.outcome == nil
        if !isRestored, let commit = write.commit, commit.epoch == update.epoch, commit.version <= update.version {
          heldInARow += 1
          if heldInARow > 64 { break }
          continue
        }
        operations += write.content.operations.filter { $0.field == field }
      }
    }
    return operations
  }

  /// A peer reads its own last value of a field, or a later one.
  private mutating func checkRead(
    _ value: JSON, _ field: String, of model: String, by tag: String, _ entry: HistoryEntry
  ) {
    let own = (writesOf[WriterName(tag: tag, model: model)] ?? []).last {
      writes[$0].location.line < entry.location.line && writes[$0].content.operations.contains { $0.field == field }
    }
    guard let own, let operation = writes[own].content.operations.first(where: { $0.field == field }) else { return }
    let write = writes[own]
    let written = operation.verb == "delete" ? .null : operation.value
    guard ["set", "delete"].contains(operation.verb), value != written, write.outcome?.isNo != true else { return }
    guard let commit = write.commit else {
      return find(
        .unread, entry.location, "\(model).\(field) reads \(value); the write at \(write.location) is pending")
    }
    let isLater = log.tracks.contains { name, track in
      name.model == model && name.epoch >= commit.epoch
        && track.commits.contains {
          $0.content.changes[field] == value && (name.epoch > commit.epoch || $0.content.version > commit.version)
        }
    }
    if !isLater {
      find(
        .unread, entry.location, "\(model).\(field) reads \(value), which is older than the write at \(write.location)")
    }
  }
}
