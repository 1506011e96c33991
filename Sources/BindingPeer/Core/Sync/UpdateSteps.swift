import BindingProtocol

/// One state of a model on its way, and how many commits lead to it from the one before.
struct UpdateStep: Sendable, Equatable {
  var epoch: Epoch
  var version: Version
  /// The fields that show another value than before, each once.
  var changes: [FieldChange]
  var commits: Int
  var isBeginning = false
  var hops: UInt8

  /// What it shows in a field that changes with it: nil: no value any more. `.none`: the field stays as it was.
  subscript(field: String) -> FieldValue?? {
    for change in changes where change.field == field { return .some(change.value) }
    return .none
  }

  fileprivate mutating func show(_ value: FieldValue?, in field: String) {
    if let index = changes.firstIndex(where: { $0.field == field }) {
      changes[index].value = value
    } else {
      changes.append(FieldChange(field: field, value: value))
    }
  }
}

/// Where each field is in a list of changes.
private struct ChangeIndices {
  /// A few names are compared faster than one is looked up.
  private static let few = 8
  private let changes: [ShownChange]
  private let index: [String: Int]

  init(of changes: [ShownChange]) {
    self.changes = changes
    let isLong = changes.count > ChangeIndices.few
    index = isLong ? Dictionary(zip(changes.map(\.field), 0...), uniquingKeysWith: { first, _ in first }) : [:]
  }

  subscript(field: String) -> Int? {
    index.isEmpty ? changes.firstIndex { $0.field == field } : index[field]
  }
}

/// Takes updates apart, for who wants each state of a model and the number of commits that were folded into it.
struct UpdateSteps: Sendable {
  private var epoch: Epoch = 0
  private var version: Version = 0

  /// What is there before anything else is shown.
  mutating func begin(with present: ModelUpdate) -> UpdateStep {
    var step = step(of: present, commits: 0)
    step.isBeginning = true
    return step
  }

  /// Whether an update is what there was before the observing began, which had yet to come from the hub.
  private func isBeginning(_ update: ModelUpdate) -> Bool { version == 0 && update.cause == .snapshot }

  /// The states that an update leads through: one a commit where it lists them, else one. None if it shows nothing new.
  mutating func steps(of update: ModelUpdate) -> [UpdateStep] {
    let count = commits(in: update)
    guard update.cause == .commits, update.commits.count > 1 else {
      let isBeginning = isBeginning(update)
      var step = step(of: update, commits: count)
      step.isBeginning = isBeginning
      return step.changes.isEmpty && count == 0 ? [] : [step]
    }
    let indices = ChangeIndices(of: update.changes)
    // What a step has shown of each of them.
    var shown = [FieldValue??](repeating: nil, count: update.changes.count)
    var steps: [UpdateStep] = []
    steps.reserveCapacity(update.commits.count + 1)
    for commit in update.commits {
      var step = UpdateStep(
        epoch: update.epoch, version: commit.version, changes: [], commits: 1, hops: update.proposalHops)
      // What a pending write lies over shows nothing of the commit.
      for change in commit.changes {
        guard let index = indices[change.field] else { continue }
        step.show(change.value, in: change.field)
        shown[index] = .some(change.value)
      }
      steps.append(step)
    }
    if count > steps.count {
      steps.append(
        UpdateStep(
          epoch: update.epoch, version: update.version, changes: [], commits: count - steps.count,
          hops: update.proposalHops))
    }
    // Where something of ours is merged with the committed value, or more commits came than are listed, the last state
    // shows another value than its commit.
    for (index, change) in update.changes.enumerated() where shown[index] != .some(change.new) {
      steps[steps.count - 1].show(change.new, in: change.field)
    }
    (epoch, version) = (update.epoch, update.version)
    return steps
  }

  private mutating func step(of update: ModelUpdate, commits: Int) -> UpdateStep {
    (epoch, version) = (update.epoch, update.version)
    return UpdateStep(
      epoch: update.epoch, version: update.version,
      changes: update.changes.map { FieldChange(field: $0.field, value: $0.new) }, commits: commits,
      hops: update.proposalHops)
  }

  /// The commits between what was known and this. A snapshot does not say what it takes the place of: the versions do,
  /// as far as both belong to one epoch; else it counts as one.
  private func commits(in update: ModelUpdate) -> Int {
    let count = update.commits.count + Int(clamping: update.coalesced)
    guard case .snapshot = update.cause else { return count }
    guard update.epoch == epoch, version > 0 else { return min(count, 1) }
    return Int(clamping: update.version - min(update.version, version))
  }
}
