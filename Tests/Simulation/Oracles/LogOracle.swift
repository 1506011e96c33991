import BindingHub
import BindingProtocol

/// What the hub's store accepted, seen from outside: the truth that every replica is checked against. Each batch is
/// itself checked against the batches before.
final class LogOracle: Invariant {
  /// A version of a model in an epoch of its log.
  struct Point {
    let model: Int
    let epoch: Epoch
    let version: Version
  }
  /// The value of each simulated field.
  typealias State = [FieldValue?]
  struct Entry {
    let tag: Tag
    let number: ProposalNumber
    let changes: [(field: Int, value: FieldValue?)]
    /// The epoch of the log and the run of the hub in which it was decided.
    let epoch: Epoch
    let run: Int
    let isRecovered: Bool

    /// The value that the entry gave a field; nil if it did not change the field.
    func change(of field: Int) -> FieldValue?? { changes.first { $0.field == field }?.value }
  }
  /// A proposal, in whatever epoch it was decided.
  struct Name: Equatable {
    let model: Int
    let tag: Tag
    let number: ProposalNumber
  }
  private struct Written: Hashable {
    let model: Int
    let field: Int
    let value: FieldValue
  }
  let modelNames: [String]
  @exclusivity(unchecked) var results: ProposalResults
  @exclusivity(unchecked) private var versions: [VersionLog]
  /// The hub's numbers for the fields of each model.
  @exclusivity(unchecked) var names: [[Int]]
  @exclusivity(unchecked) private var present: [State]
  /// Whether the log has a model.
  @exclusivity(unchecked) private var isThere: [Bool]
  /// By field: the version up to which each model has forgotten that the field was ever written.
  @exclusivity(unchecked) var beginnings: [[Version]]
  /// How often names of deleted fields were released.
  @exclusivity(unchecked) var renumberings = 0
  /// Where each unique value was committed, in the log as it is now.
  @exclusivity(unchecked) private var written: [Written: (point: Point, name: Name)] = [:]
  @exclusivity(unchecked) private(set) var decided: UInt64 = 0
  /// How often the log, or its end, was lost.
  @exclusivity(unchecked) private(set) var losses = 0
  /// The additions that each model's counter contains, and the replicas that were offered.
  @exclusivity(unchecked) var sums: [SumAdditions]
  @exclusivity(unchecked) var claims: OfferedClaims
  /// Where a model begins that is not in the log.
  @exclusivity(unchecked) private(set) var floor = LogFloor.none
  /// How often each model's list was written that its writers merge themselves.
  @exclusivity(unchecked) private(set) var listsWritten: [Int]
  private static let unforgotten = [Version](repeating: 0, count: SimulatedField.count)
  private static let empty = State(repeating: nil, count: SimulatedField.count)

  init(modelNames: [String], mayRepeatWords: Bool) {
    self.modelNames = modelNames
    results = ProposalResults(models: modelNames.count)
    claims = OfferedClaims(mayRepeatWords: mayRepeatWords)
    versions = modelNames.map { _ in VersionLog() }
    names = modelNames.map { _ in [] }
    present = modelNames.map { _ in LogOracle.empty }
    isThere = modelNames.map { _ in false }
    beginnings = modelNames.map { _ in LogOracle.unforgotten }
    listsWritten = modelNames.map { _ in 0 }
    sums = modelNames.map { _ in SumAdditions() }
  }

  func lastDecided(of tag: Tag, in model: Int) -> ProposalNumber { results.lastDecided(of: tag, in: model) }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, let isProven):
      if !isProven {
        losses += 1
        claims.begin()
      }
      begin(hub.epoch, with: hub.store.log)
    case .epochBegins(let hub):
      // The proof may have been a lie: then nothing is lost, yet the hub behaves as if something were.
      losses = max(losses, 1)
      begin(hub.epoch, with: hub.store.log)
    case .logLost: losses += 1
    case .stored(let batch, let hub): try enter(batch, epoch: hub.epoch, run: hub.run)
    default: break
    }
  }

  func entry(_ point: Point) -> Entry? { versions[point.model].entry(point.epoch, point.version) }

  /// The whole model at a version; nil if that version never existed.
  func state(_ point: Point) -> State? { versions[point.model].state(point.epoch, point.version) }

  /// The models at the end of the log.
  func head(of model: Int) -> State { present[model] }

  /// Where the log holds this unique value of a field.
  func point(of value: FieldValue, in field: Int, of model: Int) -> Point? {
    written[Written(model: model, field: field, value: value)]?.point
  }

  // MARK: Entering

  /// A hub has started with this log, or a new epoch has begun: models start where the log ends.
  private func begin(_ epoch: Epoch, with log: [Batch]) {
    results.forgetDecisions()
    written.removeAll(keepingCapacity: true)
    claims.forgetFields()
    floor = .none
    for batch in log where batch.form == .removal { floor.raise(over: batch) }
    for model in modelNames.indices {
      present[model] = LogOracle.empty
      names[model].removeAll(keepingCapacity: true)
      var head: Version?
      (isThere[model], beginnings[model]) = (false, LogOracle.unforgotten)
      for batch in log where batch.model == modelNames[model] {
        head = batch.version
        isThere[model] = batch.form != .removal
        try? renumber(model, batch)
        if batch.form == .removal {
          (head, present[model]) = (nil, LogOracle.empty)
          beginnings[model] = beginnings[model].map { _ in batch.version }
          names[model].removeAll(keepingCapacity: true)
          results.remove(model)
        }
        record(batch.decisions, of: model, run: 0)
        guard let group = try? CommitGroup.decode(batch.body) else { continue }
        learn(group.names, of: model)
        present[model] = state(Point(model: model, epoch: batch.epoch, version: batch.version)) ?? LogOracle.empty
        // Commits left from earlier epochs keep their versions in the new one.
        for version in group.previous + 1...group.version {
          let point = Point(model: model, epoch: epoch, version: version)
          guard let entry = entry(Point(model: model, epoch: batch.epoch, version: version)) else { continue }
          if entry.epoch != epoch { setEntry(entry, at: point) }
          let name = Name(model: model, tag: entry.tag, number: entry.number)
          results.raise(entry.tag, to: entry.number, in: model)
          for (field, value) in entry.changes {
            record(value, in: field, name, point)
            claims.record(value, isRecovered: entry.isRecovered, field, of: model)
          }
        }
      }
      if let head { setState(present[model], at: Point(model: model, epoch: epoch, version: head)) }
      sums[model].begin(epoch, at: head)
      if head == nil, floor.version > 0 { beginAtFloor(model, epoch) }
    }
  }

  /// A model that is not in the log is empty, at the version of the floor.
  private func beginAtFloor(_ model: Int, _ epoch: Epoch) {
    setState(LogOracle.empty, at: Point(model: model, epoch: epoch, version: floor.version))
  }

  /// Removes a model, which must be empty. Models that are not in the log then begin beyond it.
  private func remove(_ model: Int, _ batch: Batch, epoch: Epoch) throws(Violation) {
    guard present[model].allSatisfy({ $0 == nil }) else {
      throw Violation(.noPhantom, "\(modelNames[model]) is removed, and something in it has a value")
    }
    names[model].removeAll(keepingCapacity: true)
    results.remove(model)
    floor.raise(over: batch)
    isThere[model] = false
    beginnings[model] = beginnings[model].map { _ in batch.version }
    for model in modelNames.indices where !isThere[model] { beginAtFloor(model, epoch) }
  }

  /// Enters a batch. Throws when the batch breaks the order or applies a proposal twice.
  private func enter(_ batch: Batch, epoch: Epoch, run: Int) throws(Violation) {
    if batch.model == UndoWorkload.model {
      guard batch.form == .removal else { return }
      floor.raise(over: batch)
      for model in modelNames.indices where !isThere[model] { beginAtFloor(model, epoch) }
      return
    }
    guard let model = modelNames.firstIndex(of: batch.model) else {
      if batch.model == ExpiryWorkload.model { return enterElsewhere(batch, epoch: epoch) }
      throw Violation(.noPhantom, "the hub stores \(batch.model), which no peer joined")
    }
    let group: CommitGroup?
    if batch.body.isEmpty {
      group = nil
    } else {
      group = try? CommitGroup.decode(batch.body)
      if group == nil { throw Violation(.trueReplica, "the body of a batch does not parse") }
    }
    if batch.form == .removal { return try remove(model, batch, epoch: epoch) }
    try renumber(model, batch)
    isThere[model] = true
    try checkDense(batch.decisions, group, model)
    record(batch.decisions, of: model, run: run)
    guard let group else { return }
    if let name = group.names.names.first(where: { SimulatedField.index(of: $0) == nil }) {
      throw Violation(.noPhantom, "the hub stores the field \(name), which no peer wrote")
    }
    learn(group.names, of: model)
    var version = group.previous
    for commit in group.commits {
      version += 1
      let point = Point(model: model, epoch: group.epoch, version: version)
      try enter(commit, of: group, at: point, run)
      // A batch may still be in flight when peers prove a loss: it belongs to the new epoch too.
      guard epoch != group.epoch else { continue }
      let later = Point(model: model, epoch: epoch, version: version)
      if let entry = entry(point) { setEntry(entry, at: later) }
      setState(present[model], at: later)
    }
  }

  /// The model of fields that expire has an oracle of its own.
  private func enterElsewhere(_ batch: Batch, epoch: Epoch) {
    guard batch.form == .removal else { return }
    floor.raise(over: batch)
    for model in modelNames.indices where !isThere[model] { beginAtFloor(model, epoch) }
  }

  private func enter(_ commit: Commit, of group: CommitGroup, at point: Point, _ run: Int) throws(Violation) {
    guard entry(point) == nil else {
      throw Violation(.order, "version \(point.version) of \(title(point)) was decided twice in one epoch")
    }
    let tag = group.origins[Int(commit.origin)].tag
    let name = Name(model: point.model, tag: tag, number: commit.number)
    // A value recovered from a lost epoch has no number.
    let isRecovered = commit.number == 0
    if commit.hops > 8 {
      throw Violation(.hops, "version \(point.version) of \(title(point)) is \(commit.hops) hops deep")
    }
    let before = present[point.model]
    var changes: [(field: Int, value: FieldValue?)] = []
    changes.reserveCapacity(commit.changes.count)
    for change in commit.changes {
      guard Int(change.field) < names[point.model].count else {
        throw Violation(.trueReplica, "a commit names field \(change.field) of \(title(point)), which has no name")
      }
      let field = names[point.model][Int(change.field)]
      changes.append((field, change.value))
      present[point.model][field] = change.value
      if isRecovered {
        try enterRecovered(change.value, in: field, name, point)
      } else {
        guard claims.attackers.contains(tag) || results[name].change(field, in: point.epoch) else {
          throw Violation(
            .exactlyOnce, "proposal \(name.number) of \(name.tag.short) changed \(SimulatedField.names[field]) twice")
        }
        try enterOnce(change.value, in: field, name, point)
        try check(change.value, in: field, after: before[field], at: point)
      }
      claims.record(change.value, isRecovered: isRecovered, field, of: point.model)
      if field == SimulatedField.list { listsWritten[point.model] += 1 }
    }
    setEntry(
      Entry(
        tag: tag, number: commit.number, changes: changes, epoch: point.epoch, run: run, isRecovered: isRecovered),
      at: point)
    setState(present[point.model], at: point)
    results.raise(tag, to: commit.number, in: point.model)
    decided += 1
  }

  /// Returns the proposal that brought this value before.
  @discardableResult
  func record(_ value: FieldValue?, in field: Int, _ name: Name, _ point: Point) -> Name? {
    guard field < SimulatedField.plain, let value, value.bytes.first == UInt8(ascii: "\"") else { return nil }
    return written.updateValue((point, name), forKey: Written(model: name.model, field: field, value: value))?.name
  }

  private func record(_ new: [Decision], of model: Int, run: Int) {
    for decision in new where decision.form == .decided {
      results.raise(decision.origin.tag, to: decision.number, in: model)
      guard let rest = decision.outcome, !claims.attackers.contains(decision.origin.tag) else { continue }
      let name = Name(model: model, tag: decision.origin.tag, number: decision.number)
      results[name].decision = WireOutcome(topic: Topics.firstModel, number: decision.number, rest).kind
      results[name].run = run
      if run > 0 { decided += 1 }
    }
  }

  private func learn(_ run: NamesRun, of model: Int) {
    for (offset, name) in run.names.enumerated() {
      let (id, field) = (Int(run.first) + offset, SimulatedField.index(of: name) ?? 0)
      if id < names[model].count { names[model][id] = field } else { names[model].append(field) }
    }
  }

  private func setEntry(_ entry: Entry, at point: Point) {
    versions[point.model].set(entry, point.epoch, point.version)
  }

  private func setState(_ state: State, at point: Point) {
    versions[point.model].set(state, point.epoch, point.version)
  }
}
