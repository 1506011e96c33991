import BindingProtocol

extension HubContext {
  /// Commits changes in an ephemeral model that no proposal asks for.
  /// - Parameter origin: whose the fields become; nil: the hub's.
  mutating func change(
    _ index: Int, _ changes: [(name: String, value: FieldValue?)], by origin: Origin? = nil, _ time: HubTime
  ) {
    let model = models[index]
    let origin = origin ?? Origin(tag: .none, name: configuration.name)
    var rest = changes[...]
    while !rest.isEmpty {
      let part = rest.prefix(10_000)
      rest = rest.dropFirst(part.count)
      model.openBatch(epoch: model.epoch(ifStored: epoch), time: time.wall)
      let (version, writer) = (model.nextVersion, model.writers.index(for: origin))
      model.batch.pending.commits.beginCommit(origin: model.batch.pending.commits.origin(origin), number: 0, hops: 0)
      for (name, value) in part {
        let id = model.fields.id(of: name) ?? model.introduce(name)
        model.batch.pending.commits.change(id, value)
        model.record(
          id, version, value: value.map { model.batch.pending.commits.lastValue(of: $0.bytes.count) }, by: writer)
      }
      model.batch.pending.commits.endCommit()
    }
    if !changes.isEmpty { models.touch(index) }
  }

  /// Gives a field of an ephemeral model the value that the part of a sibling has.
  mutating func take(_ index: Int, _ field: String, _ value: FieldValue, by origin: Origin?, _ time: HubTime) {
    change(index, [(field, value)], by: origin, time)
    let model = models[index]
    if let id = model.fields.id(of: field) { model.ephemeral?.take(field, at: model.fields.decidedVersion(id)) }
  }
}
