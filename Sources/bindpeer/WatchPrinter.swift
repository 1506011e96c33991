import BindingPeer
import BindingTerminal
import Foundation

/// Prints the output of `watch` in order of arrival. Callable from any thread.
final class WatchPrinter: @unchecked Sendable {  // SAFETY: all mutable state is accessed only while `lock` is held
  private let lock = NSLock()
  private let json: Bool
  private var left: Int?
  private let end: @Sendable () -> Void
  private var kept: [any Sendable] = []
  private let link = LinkNotices()
  /// The followed models, whose descriptions say what is secret.
  private var models: [String: SharedModel] = [:]
  /// Models whose initial values have been printed.
  private var begun: Swift.Set<String> = []
  private let pace: Pace<ModelChange>?
  /// The epoch and version of each model's last commit or catch-up.
  private var reached: [String: (epoch: Epoch, version: Version)] = [:]
  /// Why the hub refuses models that were followed.
  private var refusals: [String: JoinRefusal] = [:]
  /// Per model, the number of commits in changes without printed output.
  private var unprinted: [String: Int] = [:]
  /// The fields that show their default because the hub is silent, by their addresses.
  private var expiredFields: Swift.Set<String> = []
  /// Updates of models whose past is printed first.
  private var held: [String: [(update: ModelUpdate, missed: UInt64)]] = [:]

  init(json: Bool, count: Int?, pace: Pace<ModelChange>? = nil, end: @escaping @Sendable () -> Void) {
    self.json = json
    self.pace = pace
    left = count
    self.end = end
  }

  /// The number of requested changes that have not arrived; nil if no number was requested.
  var missing: Int? {
    lock.lock()
    defer { lock.unlock() }
    return left
  }

  func keep(_ thing: any Sendable) {
    lock.lock()
    kept.append(thing)
    lock.unlock()
  }

  func follow(_ model: SharedModel, field: String?, fromNow: Bool) {
    if let pace {
      keep(
        model.observe(pace) { [weak self, weak model, id = model.id] change in
          self?.print(change, of: id, field.map { model?.storedName(of: $0) ?? $0 })
        })
    } else {
      keep(
        model.observe { [weak self, weak model] update, missed in
          self?.print(update, missed: missed, of: field.map { model?.storedName(of: $0) ?? $0 })
        })
    }
    lock.lock()
    models[model.id] = model
    lock.unlock()
    keep(model)
    keep(model.statuses.observe { [weak self, id = model.id] in self?.refused(id, $0.refusal) })
  }

  /// Tells that a model which was followed may be read no more. Whoever looks at its first values learns it elsewhere.
  private func refused(_ model: String, _ refusal: JoinRefusal?) {
    lock.lock()
    defer { lock.unlock() }
    guard let refusal else {
      refusals[model] = nil
      return
    }
    guard begun.contains(model), refusals.updateValue(refusal, forKey: model) != refusal else { return }
    Terminal.complain("! refused: \(refusal); waiting")
  }

  /// Tells whether a hub serves, between two lines of output.
  func link(_ status: PeerStatus) {
    lock.lock()
    defer { lock.unlock() }
    link.tell(status)
  }

  private func print(_ update: ModelUpdate, missed: UInt64, of field: String?) {
    lock.lock()
    defer { lock.unlock() }
    if held[update.model] != nil {
      held[update.model]?.append((update, missed))
    } else {
      show(update, missed: missed, of: field)
    }
  }

  private func show(_ update: ModelUpdate, missed: UInt64, of field: String?) {
    guard left != 0 else { return }
    if missed > 0 {
      Terminal.complain("! \(missed) changes of \(update.model) arrived faster than they could be printed")
    }
    let isBeginning = begun.insert(update.model).inserted
    if update.cause != .expired, !expiredFields.isEmpty {
      expiredFields.subtract(update.changes.map { "\(update.model).\($0.field)" })
    }
    switch update.cause {
    case .snapshot, .delta:
      // Commits that arrived with the catch-up are part of its values, which are printed already.
      if caughtUp(update, of: field), !isBeginning { countDown() }
      reached[update.model] = (update.epoch, update.version)
    case .expired: expired(update, of: field)
    case .commits, .detached, .outcome, .local:
      for commit in update.commits {
        show(commit, update, of: field, coalesced: coalesced(before: commit.version, update))
        reached[update.model] = (update.epoch, commit.version)
      }
    }
  }

  // MARK: The past

  /// Keeps the updates of a model until its past is printed.
  func hold(_ model: String) {
    lock.lock()
    held[model] = []
    lock.unlock()
  }

  /// The epoch and version of the first update that is kept: commits up to it are past. nil: none has arrived.
  func begin(of model: String) -> (epoch: Epoch, version: Version)? {
    lock.lock()
    defer { lock.unlock() }
    return held[model]?.first.map { ($0.update.epoch, $0.update.version) }
  }

  /// Prints an earlier commit.
  func print(_ commit: SharedModel.PastCommit, of model: String) {
    lock.lock()
    defer { lock.unlock() }
    guard left != 0 else { return }
    let changes = commit.changes.filter { !$0.field.hasPrefix("@") }
    guard !changes.isEmpty else { return }
    if json {
      var line = JSONLine(of: model, commit.epoch, commit.version)
      line.add(commit.writer)
      line.add("time", .integer(Int64(clamping: commit.time)))
      line.add("folded", .integer(0))
      line.add("changes", values: changes.filter { !$0.isRemoved }.map { ($0.field, $0.value) })
      line.print()
    } else {
      let described = described(model)
      let words = changes.shown.map { $0.words(in: described) }
      Terminal.print(
        "\(Terminal.clock(commit.time))  \(model)  \(commit.version)  \(words.joined(separator: "  "))        "
          + Terminal.dim(commit.writer.attribution))
    }
    countDown()
  }

  /// The past of a model is printed up to a version: prints what has arrived beyond it meanwhile.
  func release(_ model: String, _ printed: (epoch: Epoch, version: Version), of field: String?) {
    lock.lock()
    defer { lock.unlock() }
    let waiting = held.removeValue(forKey: model) ?? []
    begun.insert(model)
    reached[model] = printed
    for (update, missed) in waiting where update.epoch != printed.epoch || update.version > printed.version {
      var update = update
      update.commits.removeAll { update.epoch == printed.epoch && $0.version <= printed.version }
      show(update, missed: missed, of: field)
    }
  }

  /// The number of commits just before `version` that did not arrive individually.
  private func coalesced(before version: Version, _ update: ModelUpdate) -> Int {
    guard let last = reached[update.model], last.epoch == update.epoch, last.version > 0 else { return 0 }
    return Int(clamping: version - min(version, last.version + 1))
  }

  private func print(_ change: ModelChange, of model: String, _ field: String?) {
    lock.lock()
    defer { lock.unlock() }
    guard left != 0 else { return }
    let fields = change.fields.filter { WatchedField($0.key, $0.value).isShown(field, json: json) }
    let commits = change.coalesced + 1 + unprinted[model, default: 0]
    guard !fields.isEmpty else {
      unprinted[model] = change.isBeginning ? 0 : commits
      return
    }
    unprinted[model] = 0
    let sorted = fields.sorted { $0.key < $1.key }
    if json {
      var line = JSONLine(of: model, change.epoch, change.version)
      line.add("folded", .integer(Int64(commits - 1)))
      line.add("changes", values: sorted.map { ($0.key, $0.value) })
      line.print()
    } else {
      let words = sorted.map { WatchedField($0.key, $0.value).words(old: nil, in: described(model)) }
      Terminal.print(
        "\(Terminal.clock(UInt64(Date().timeIntervalSince1970 * 1_000)))  \(model)  \(change.version)  "
          + words.joined(separator: "  ") + Terminal.coalesced(commits - 1))
    }
    if !change.isBeginning { countDown() }
  }

  private func show(_ commit: CommitInfo, _ update: ModelUpdate, of field: String?, coalesced: Int) {
    let changes = commit.changes.filter { WatchedField($0.field, $0.value).isShown(field, json: json) }
    guard !changes.isEmpty, left != 0 else { return }
    if json {
      var line = JSONLine(of: update.model, update.epoch, commit.version)
      line.add(commit.origin)
      line.add("time", .integer(Int64(clamping: commit.time)))
      line.add("folded", .integer(Int64(coalesced)))
      line.add("changes", values: changes.map { ($0.field, $0.value) })
      line.print()
    } else {
      let words = changes.map { change in
        let old = update.commits.count == 1 ? update.changes.first { $0.field == change.field }?.old : nil
        return WatchedField(change.field, change.value).words(old: old, in: described(update.model))
      }
      Terminal.print(
        "\(Terminal.clock(commit.time))  \(update.model)  \(commit.version)  \(words.joined(separator: "  "))"
          + Terminal.coalesced(coalesced) + "        " + Terminal.dim(commit.origin.attribution))
    }
    countDown()
  }

  /// Prints a catch-up as the current values; its individual commits are coalesced.
  /// - Returns: whether anything had changed.
  private func caughtUp(_ update: ModelUpdate, of field: String?) -> Bool {
    let changes = update.changes.filter { WatchedField($0.field, $0.new).isShown(field, json: json) }
    let form = if case .delta = update.cause { "delta" } else { "snapshot" }
    if json {
      var line = JSONLine(of: update.model, update.epoch, update.version)
      line.add("caughtUp", .string(form))
      line.add("folded", .integer(Int64(clamping: update.coalesced)))
      line.add("changes", values: changes.map { ($0.field, $0.new) })
      line.print()
    } else if !changes.isEmpty {
      let words = changes.map { WatchedField($0.field, $0.new).plainWords(in: described(update.model)) }
      Terminal.print(
        "\(Terminal.clock(UInt64(Date().timeIntervalSince1970 * 1_000)))  \(update.model)  \(update.version)  "
          + words.joined(separator: "  ") + Terminal.dim("        by \(form)"))
    }
    return !changes.isEmpty
  }

  /// Prints that fields show their defaults because the hub is silent, or again what is committed.
  private func expired(_ update: ModelUpdate, of field: String?) {
    for change in update.changes where field == nil || change.field == field {
      let address = "\(update.model).\(change.field)"
      let isExpired = expiredFields.remove(address) == nil
      if isExpired { expiredFields.insert(address) }
      if json {
        var line = JSONLine(of: update.model, update.epoch, update.version)
        line.add("expired", .bool(isExpired))
        line.add("changes", values: [(change.field, change.new)])
        line.print()
      } else {
        Terminal.print(
          "\(Terminal.clock(UInt64(Date().timeIntervalSince1970 * 1_000)))  \(update.model)  \(update.version)  "
            + "\(change.field) → \(described(update.model).readable(change.new, of: change.field))"
            + Terminal.dim(isExpired ? "        expired: the hub is silent" : "        the hub is heard again"))
      }
    }
  }

  private func described(_ model: String) -> ModelDescription {
    models[model]?.shownDescription ?? ModelDescription()
  }

  private func countDown() {
    guard let count = left else { return }
    left = count - 1
    if count == 1 { end() }
  }
}
