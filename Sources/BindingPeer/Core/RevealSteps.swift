import BindingWire

/// One state of a model on its way, and how many commits lead to it from the one before.
struct RevealStep: Sendable, Equatable {
  var epoch: Epoch
  var version: Version
  /// The fields that show another value than before; nil: they have none any more.
  var fields: [String: FieldValue?]
  var commits: Int
  var isBeginning = false
  var hops: UInt8
}

/// Takes reveals apart, for who wants each state of a model and the number of commits that were folded into it.
struct RevealSteps: Sendable {
  private var epoch: Epoch = 0
  private var version: Version = 0

  /// What is there before anything else is revealed.
  mutating func begin(with present: Reveal) -> RevealStep {
    var step = step(of: present, commits: 0)
    step.isBeginning = true
    return step
  }

  /// Whether a reveal is what there was before the observing began, which had yet to come from the hub.
  private func isBeginning(_ reveal: Reveal) -> Bool { version == 0 && reveal.cause == .snapshot }

  /// The states that a reveal leads through: one a commit where it lists them, else one. None if it shows nothing new.
  mutating func steps(of reveal: Reveal) -> [RevealStep] {
    let count = commits(in: reveal)
    guard reveal.cause == .commits, reveal.commits.count > 1 else {
      let isBeginning = isBeginning(reveal)
      var step = step(of: reveal, commits: count)
      step.isBeginning = isBeginning
      return step.fields.isEmpty && count == 0 ? [] : [step]
    }
    var left: [String: FieldValue?] = [:]
    for change in reveal.changes { left.updateValue(change.new, forKey: change.field) }
    var shown: [String: FieldValue?] = [:]
    var steps: [RevealStep] = []
    for commit in reveal.commits {
      var step = RevealStep(
        epoch: reveal.epoch, version: commit.version, fields: [:], commits: 1, hops: reveal.proposalHops)
      // What a pending write lies over shows nothing of the commit.
      for change in commit.changes where left[change.field] != nil {
        step.fields.updateValue(change.value, forKey: change.field)
        shown.updateValue(change.value, forKey: change.field)
      }
      steps.append(step)
    }
    if count > steps.count {
      steps.append(
        RevealStep(
          epoch: reveal.epoch, version: reveal.version, fields: [:], commits: count - steps.count,
          hops: reveal.proposalHops))
    }
    // Where something of ours is merged with the committed value, or more commits came than are listed, the last state
    // shows another value than its commit.
    for (field, value) in left where shown[field] != .some(value) {
      steps[steps.count - 1].fields.updateValue(value, forKey: field)
    }
    (epoch, version) = (reveal.epoch, reveal.version)
    return steps
  }

  private mutating func step(of reveal: Reveal, commits: Int) -> RevealStep {
    (epoch, version) = (reveal.epoch, reveal.version)
    var fields: [String: FieldValue?] = [:]
    for change in reveal.changes { fields.updateValue(change.new, forKey: change.field) }
    return RevealStep(
      epoch: reveal.epoch, version: reveal.version, fields: fields, commits: commits, hops: reveal.proposalHops)
  }

  /// The commits between what was known and this. A snapshot does not say what it takes the place of: the versions do,
  /// as far as both belong to one epoch; else it counts as one.
  private func commits(in reveal: Reveal) -> Int {
    let count = reveal.commits.count + Int(clamping: reveal.folded)
    guard case .snapshot = reveal.cause else { return count }
    guard reveal.epoch == epoch, version > 0 else { return min(count, 1) }
    return Int(clamping: reveal.version - min(reveal.version, version))
  }
}
