package import BindingProtocol

/// A recorded commit on its way into the log of a hub, as it was.
struct Playback {
  let commit: RecordedCommit
  /// The version that it gets; nil: the next one.
  let version: Version?

  /// Appends the commit to the pending batch of its model.
  /// - Returns: false if the model has to be settled before; nothing was done.
  func append(to model: ModelLog, epoch: Epoch) -> Bool {
    guard !model.batch.isAppending else { return false }
    if let version, version > model.nextVersion {
      // The pending batch ends before the gap: the versions of one batch follow each other.
      guard !model.batch.hasDecisions else { return false }
      model.position.version = version - 1
      model.forgetRecent()
    }
    model.openBatch(epoch: model.epoch(ifStored: epoch), time: commit.time)
    guard !model.batch.pending.commits.isFull else { return false }
    let (next, writer) = (model.nextVersion, model.writers.index(for: commit.origin))
    let origin = model.batch.pending.commits.origin(commit.origin)
    model.batch.pending.commits.beginCommit(origin: origin, number: 0, hops: commit.hops)
    for change in changes(in: model) {
      let id = model.fields.id(of: change.field) ?? model.introduce(change.field)
      guard model.batch.pending.commits.change(id, change.value) else { break }
      let value = change.value.map { model.batch.pending.commits.lastValue(of: $0.bytes.count) }
      model.record(id, next, value: value, by: writer)
    }
    model.batch.pending.commits.endCommit()
    model.adoptDecidedRules()
    return true
  }

  /// The changes, without deletions of fields that have no value. In an ephemeral model also without the hub's own
  /// fields, which say who is present: they belong to those who are present here.
  private func changes(in model: ModelLog) -> [RecordedCommit.Change] {
    commit.changes.filter { change in
      if model.ephemeral != nil, change.field.hasPrefix("@") { return false }
      return change.value != nil || model.fields.id(of: change.field).map { model.fields.decided($0).hasValue } == true
    }
  }
}

extension HubMachine {
  /// Commits a recorded commit again, after all that is decided already: with its writer, time and values, not as a
  /// proposal. So nothing is checked, asked or conflicting; it has number 0, and is no peer's outcome.
  /// - Parameter version: the version that it gets; versions before it are then missing here too, and peers catch up.
  ///   A version that the model has reached counts as nil: the next one.
  /// - Returns: false if the model's last batch is not stored yet, or is too big for another commit; nothing was done.
  package mutating func play(_ commit: RecordedCommit, at version: Version?) -> Bool {
    let index = indexToPlay(commit.model)
    guard Playback(commit: commit, version: version).append(to: hub.models[index], epoch: hub.epoch) else {
      return false
    }
    hub.models.touch(index)
    return true
  }

  /// The index of a model, which is made if there is none.
  private mutating func indexToPlay(_ name: String) -> Int {
    if let index = hub.models.index(named: name) { return index }
    let stored = Names.storedModel(of: name)
    let index = hub.models.index(named: stored) ?? hub.models.make(stored, from: hub.models.floor)
    return Names.isEphemeral(name) ? presence.makeModel(name, of: index, &hub) : index
  }

  /// The number of open sessions.
  package var sessionCount: Int { hub.sessions.count }
}
