import BindingProtocol

/// One state of a model on the way to an update, with the number of commits that lead to it from the state before.
struct UpdateStep: Sendable, Equatable {
  var epoch: Epoch
  var version: Version
  /// The fields that show another value than before, each once.
  var changes: [FieldChange]
  var commits: Int
  var isBeginning = false
  var hops: UInt8

  /// The value that this step shows in a field, `.some(nil)` if the field loses its value; `.none`: the field is
  /// unchanged.
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

/// The index of each field in a list of changes.
private struct ChangeIndices {
  /// A few names are compared faster than one is hashed.
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

/// Splits updates, for observers of each state of a model and of the number of commits coalesced into it.
struct UpdateSteps: Sendable {
  private var epoch: Epoch = 0
  private var version: Version = 0

  /// The state with which an observation begins.
  mutating func begin(with present: ModelUpdate) -> UpdateStep {
    var step = step(of: present, commits: 0)
    step.isBeginning = true
    return step
  }

  /// Whether the update brings the first state, which had not arrived when the observation began.
  private func isBeginning(_ update: ModelUpdate) -> Bool { version == 0 && update.cause == .snapshot }

  /// The states that an update leads through: one per commit if it lists them, else one. Empty if it shows nothing
  /// new.
  mutating func steps(of update: ModelUpdate) -> [UpdateStep] {
    let count = commits(in: update)
    guard update.cause == .commits, update.commits.count > 1 else {
      let isBeginning = isBeginning(update)
      var step = step(of: update, commits: count)
      step.isBeginning = isBeginning
      return step.changes.isEmpty && count == 0 ? [] : [step]
    }
    let indices = ChangeIndices(of: update.changes)
    // The last value that a step has shown of each change.
    var shown = [FieldValue??](repeating: nil, count: update.changes.count)
    var steps: [UpdateStep] = []
    steps.reserveCapacity(update.commits.count + 1)
    for commit in update.commits {
      var step = UpdateStep(
        epoch: update.epoch, version: commit.version, changes: [], commits: 1, hops: update.proposalHops)
      // A commit to an overlaid field does not show.
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
    // The last state differs from its commit where a pending write is merged with the committed value, or where more
    // commits were applied than are listed.
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

  /// The number of commits since the last state. A snapshot does not say what it replaces: within one epoch the
  /// versions do; otherwise it counts as one.
  private func commits(in update: ModelUpdate) -> Int {
    let count = update.commits.count + Int(clamping: update.coalesced)
    guard case .snapshot = update.cause else { return count }
    guard update.epoch == epoch, version > 0 else { return min(count, 1) }
    return Int(clamping: update.version - min(update.version, version))
  }
}
