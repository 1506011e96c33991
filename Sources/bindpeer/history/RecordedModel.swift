import BindingPeer

/// What a history has of one model so far, and the lines that follow from what is received of it. No input or output.
struct RecordedModel {
  let id: String
  /// Where the history stands; nil: nothing of the model is in it.
  private(set) var reached: (epoch: Epoch, version: Version)?
  /// Each field's part of the digest, for those that have a value.
  private var parts: [String: UInt64] = [:]
  private var digest: UInt64 = 0

  /// The lines' contents are collected here.
  typealias Lines = [HistoryLine.Content]

  init(_ id: String) { self.id = id }

  /// Takes commits that were received one by one.
  /// - Returns: false if one is missing before them: a state has to follow.
  mutating func append(_ commits: [CommitInfo], in epoch: Epoch, to lines: inout Lines) -> Bool {
    for commit in commits {
      guard let reached, reached.epoch == epoch else { return false }
      if commit.version <= reached.version { continue }
      guard commit.version == reached.version + 1 else { return false }
      for change in commit.changes { set(change.field, change.value, at: commit.version) }
      self.reached = (epoch, commit.version)
      let recorded = RecordedCommit(
        model: id, epoch: epoch, version: commit.version, origin: commit.origin, number: commit.number,
        hops: commit.hops, time: commit.time, changes: commit.changes.map { .init($0.field, $0.value) })
      lines.append(.commit(recorded, digest: digest))
    }
    return true
  }

  /// Takes what the model holds: all of it, or what has changed since the version reached.
  mutating func append(_ values: CommittedValues, isWhole: Bool, to lines: inout Lines) {
    if let reached, reached == (values.epoch, values.version) { return }
    let known = isWhole ? nil : reached.flatMap { $0.epoch == values.epoch ? $0.version : nil }
    if known == nil {
      parts.removeAll()
      digest = 0
    }
    for field in values.fields { set(field.name, field.value, at: field.version) }
    reached = (values.epoch, values.version)
    let state = RecordedState(
      model: id, epoch: values.epoch, version: values.version, previous: known, fields: values.fields)
    lines.append(.state(state, digest: digest))
  }

  /// Whether the fields received add up to what the model holds. They do not where a snapshot has removed some.
  func isSame(as values: CommittedValues) -> Bool { digest == values.digest }

  private mutating func set(_ field: String, _ value: FieldValue?, at version: Version) {
    let part = value.map { fieldDigest(name: field, version: version, value: $0) }
    digest &+= (part ?? 0) &- (parts.updateValue(part ?? 0, forKey: field) ?? 0)
    if part == nil { parts[field] = nil }
  }
}
