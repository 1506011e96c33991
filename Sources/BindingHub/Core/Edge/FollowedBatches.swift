import BindingProtocol

/// Commits of the upstream hub as the bodies that an edge publishes: with its own field ids, and one body for each run
/// of commits that have one time and fit into a message.
struct FollowedBatches {
  private let commits: [RecordedCommit]
  private let limitBytes: Int
  private let recentLimit: Int

  init(_ commits: [RecordedCommit], _ configuration: HubMachineConfiguration) {
    self.commits = commits
    (limitBytes, recentLimit) = (configuration.maxGroupBytes, configuration.recentCommits)
  }

  /// Applies the commits to a model.
  /// - Returns: what to publish, in order.
  func next(in model: ModelLog) -> [Batch] {
    var batches: [Batch] = []
    var writer = CommitsWriter()
    var rest = commits[...]
    while let first = rest.first {
      // One that does not follow the model's version would be applied under a wrong one.
      guard first.version == model.version + 1 else { break }
      writer.begin(
        epoch: first.epoch, previous: model.version, time: first.time, namesKnown: FieldID(model.fields.count))
      while let commit = rest.first, commit.time == first.time, commit.version == writer.version + 1, !writer.isFull,
        writer.isEmpty || writer.byteCount < limitBytes
      {
        write(commit, into: &writer, model)
        rest.removeFirst()
      }
      let previous = model.version
      model.position.version = writer.version
      model.position.time = first.time
      model.position.record += 1
      model.position.epoch = first.epoch
      batches.append(
        Batch(
          model: model.id, record: model.position.record, epoch: first.epoch, previous: previous,
          version: writer.version, body: writer.finish(), decisions: []))
    }
    return batches
  }

  private func write(_ commit: RecordedCommit, into writer: inout CommitsWriter, _ model: ModelLog) {
    let source = model.fields.source(of: commit.origin, in: commit.epoch)
    writer.beginCommit(origin: writer.origin(commit.origin), number: commit.number, hops: commit.hops)
    for change in commit.changes {
      var id = model.fields.id(of: change.field)
      if id == nil {
        _ = writer.introduce(change.field)
        id = model.fields.add(change.field)
      }
      guard let id else { continue }
      writer.change(id, change.value)
      model.store(change.value, in: id, from: source, at: commit.version, commit.number, commit.time)
      model.recent.append(id, at: commit.version)
    }
    writer.endCommit()
    model.trimRecent(recentLimit)
  }
}

extension ModelLog {
  fileprivate func store(
    _ value: FieldValue?, in id: FieldID, from source: FieldSource, at version: Version, _ number: ProposalNumber,
    _ time: UInt64
  ) {
    guard let value else {
      return fields.store(nil, in: id, from: source, version: version, number: number, time: time)
    }
    value.bytes.withUnsafeBytes {
      fields.store($0, in: id, from: source, version: version, number: number, time: time)
    }
  }

  /// Takes what a catch-up of the uplink has brought.
  func replace(_ whole: FollowedFields) {
    var named: Set<FieldID> = []
    for field in whole.fields {
      let id = fields.id(of: field.name) ?? fields.add(field.name)
      let source = fields.source(of: field.origin, in: whole.epoch)
      store(field.value, in: id, from: source, at: field.version, field.number, field.time)
      named.insert(id)
    }
    if whole.isWhole {
      let source = fields.source(of: .none, in: whole.epoch)
      for id in 0..<FieldID(fields.count) where !named.contains(id) {
        store(nil, in: id, from: source, at: whole.version, 0, 0)
      }
      // A snapshot does not say when fields were deleted.
      position.deltasFrom = whole.version
    }
    position.version = whole.version
    position.epoch = whole.epoch
    position.record += 1
    forgetRecent()
  }

  /// Forgets all values: they belong to another log, or may be read no more. Names keep their ids.
  func forgetContent() {
    let source = fields.source(of: .none, in: 0)
    for id in 0..<FieldID(fields.count) { store(nil, in: id, from: source, at: 0, 0, 0) }
    // The versions of an ephemeral model go on as long as the process.
    let version = ephemeral == nil ? 0 : position.version + 1
    (position.version, position.record, position.deltasFrom) = (version, 0, version)
    forgetRecent()
    members.hasFirstCommit = false
  }
}
