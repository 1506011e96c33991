import BindingHub
import BindingPeer
import BindingProtocol

/// Undo: it changes only fields that its peer wrote last, to a value that they had before or between those writes.
///
/// The model in which peers undo has no unique values, since an undo commits an old one again; so this oracle alone
/// knows it. Its truth is what the store accepted.
final class UndoOracle: Invariant {
  /// The fields that come back on a condition; a counter and a text have rules of their own.
  static let compared = ["x", "y", "z"]
  /// A list, and its elements: their places come back among others, which the end of a history compares.
  static let list = "q"
  static let elements = ["q@e", "q@f", "q@g", "q@h"]

  struct Change {
    let owner: String
    let value: FieldValue?
    let version: Version
  }
  /// A commit, with what stood before it.
  private struct Entry {
    let owner: String
    var fields: [(name: String, value: FieldValue?, before: Change?, allowed: [FieldValue?])] = []
  }
  private struct Point: Hashable {
    let epoch: Epoch
    let version: Version
  }
  private struct Held: Hashable {
    let owner: String
    let field: String
    let value: FieldValue?
  }
  /// The number of commits so far.
  @exclusivity(unchecked) private(set) var commits = 0
  @exclusivity(unchecked) private var names: [String] = []
  /// Every change of each field in the present log, in order.
  @exclusivity(unchecked) private var changes: [String: [Change]] = [:]
  @exclusivity(unchecked) private var entries: [Point: Entry] = [:]
  /// Every value that a peer ever committed in a field, in any log; for anybody under the name "".
  @exclusivity(unchecked) private var held: Swift.Set<Held> = []
  /// Whether commits were lost: then a step is kept if its field has the value that it left, and what stood before may
  /// be in no log any more.
  @exclusivity(unchecked) private var hasLost = false

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, let isProven):
      if !isProven { hasLost = true }
      begin(hub)
    case .epochBegins(let hub):
      hasLost = true
      begin(hub)
    case .logLost: hasLost = true
    case .stored(let batch, let hub) where batch.model == UndoWorkload.model: enter(batch, epoch: hub.epoch)
    case .ended(let id, UndoWorkload.model, let outcome, let peer): try check(outcome, of: id, peer)
    default: break
    }
  }

  /// The committed value of a field at the end of the log.
  func head(_ field: String) -> FieldValue? { changes[field]?.last?.value }

  /// The elements of the list at the end of the log, in their order: the id of each, and what it is.
  var listed: [FieldValue?] {
    let committed = UndoOracle.elements.compactMap { field in head(field).map { (name: field, value: $0) } }
    return ListElements.ordered(UndoOracle.list, in: committed).flatMap { element in
      [FieldValue(json: .string(element.id)), element.element]
    }
  }

  /// A value without the rank that an element has.
  static func content(_ value: FieldValue?, of field: String) -> FieldValue? {
    guard let value, elements.contains(field) else { return value }
    return (try? value.json)?["is"].map { FieldValue(json: $0) } ?? value
  }

  /// The value of a field just before a version, as history would tell it.
  func past(_ question: PastQuestion) -> PastAnswer {
    let entry = entries[Point(epoch: question.epoch, version: question.version)]
    guard let field = entry?.fields.first(where: { $0.name == question.field }) else { return .notKnown }
    return .value(field.before?.value, version: field.before?.version ?? 0)
  }

  /// A hub has started, or a new epoch has begun: the model is what the log holds.
  private func begin(_ hub: SimulatedHub) {
    (names, changes) = ([], [:])
    for batch in hub.store.log where batch.model == UndoWorkload.model {
      if batch.form == .removal { (names, changes) = ([], [:]) }
      guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body), group.version > group.previous else {
        continue
      }
      learn(group.names)
      for version in group.previous + 1...group.version {
        guard let entry = entries[Point(epoch: batch.epoch, version: version)] else { continue }
        entries[Point(epoch: hub.epoch, version: version)] = entry
        for field in entry.fields {
          changes[field.name, default: []].append(Change(owner: entry.owner, value: field.value, version: version))
        }
      }
    }
  }

  private func learn(_ run: NamesRun) {
    for (offset, name) in run.names.enumerated() where Int(run.first) + offset == names.count { names.append(name) }
  }

  private func enter(_ batch: Batch, epoch: Epoch) {
    if batch.form == .removal { (names, changes) = ([], [:]) }
    guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body) else { return }
    learn(group.names)
    var version = group.previous
    for commit in group.commits {
      version += 1
      commits += 1
      let owner = group.origins[Int(commit.origin)].name
      var entry = Entry(owner: owner)
      for change in commit.changes where Int(change.field) < names.count {
        let name = names[Int(change.field)]
        let former = changes[name] ?? []
        // The last writes of the field, as far as they are all this peer's, and what stood before them.
        let own = former.reversed().prefix { $0.owner == owner }
        let first = former.count - own.count
        let allowed = own.map(\.value) + [first > 0 ? former[first - 1].value : nil]
        entry.fields.append((name, change.value, former.last, allowed))
        changes[name, default: []].append(Change(owner: owner, value: change.value, version: version))
        let content = UndoOracle.content(change.value, of: name)
        held.insert(Held(owner: owner, field: name, value: content))
        held.insert(Held(owner: "", field: name, value: content))
      }
      entries[Point(epoch: group.epoch, version: version)] = entry
      entries[Point(epoch: epoch, version: version)] = entry
    }
  }

  private func check(_ outcome: Outcome, of id: WriteID, _ peer: SimulatedPeer) throws(Violation) {
    peer.record("\(peer) write \(id.rawValue) to \(UndoWorkload.model): \(outcome)")
    guard let isRestoring = peer.writes.undone.removeValue(forKey: id), isRestoring else { return }
    peer.counts[.undoDecided] += 1
    if case .conflict = outcome { peer.counts[.undoConflict] += 1 }
    guard case .committed(let epoch, let version) = outcome,
      let entry = entries[Point(epoch: epoch, version: version)]
    else { return }
    for field in entry.fields where (UndoOracle.compared + UndoOracle.elements).contains(field.name) {
      let value = UndoOracle.content(field.value, of: field.name)
      // A redo of what was never sent is as good as the first write.
      if peer.writes.withdrawn[field.name]?.contains(value) == true { continue }
      let before = UndoOracle.content(field.before?.value, of: field.name)
      // The hub gave it another rank, to make room for its neighbour; or it moved.
      if value != nil, value == before { continue }
      let isKept =
        hasLost
        && (field.before == nil || before == nil
          || held.contains(Held(owner: entry.owner, field: field.name, value: before)))
      guard field.before?.owner == entry.owner || isKept else {
        throw Violation(
          .undo,
          "\(peer) took back \(field.name) at version \(version), which \(field.before?.owner ?? "nobody") had written "
            + "at \(field.before?.version ?? 0)")
      }
      let wasThere = value == nil || held.contains(Held(owner: "", field: field.name, value: value))
      let allowed = field.allowed.map { UndoOracle.content($0, of: field.name) }
      guard allowed.contains(value) || hasLost && wasThere else {
        throw Violation(
          .undo,
          "\(peer) took \(field.name) back to \(describe(value)) at version \(version), which it never was "
            + "before or between its own writes")
      }
    }
  }
}
