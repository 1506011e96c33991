import BindingProtocol

extension HubContext {
  /// Commits changes of the hub's own in an ephemeral model.
  mutating func change(_ index: Int, _ changes: [(name: String, value: FieldValue?)], _ time: HubTime) {
    let model = models[index]
    var rest = changes[...]
    while !rest.isEmpty {
      let part = rest.prefix(10_000)
      rest = rest.dropFirst(part.count)
      model.openBatch(epoch: model.epoch(ifStored: epoch), time: time.wall)
      let origin = Origin(tag: .none, name: configuration.name)
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
}
