import BindingProtocol

/// Moving models from one log in memory to another, step by step, as a tool does it between engines.
extension SharedMemoryLog {
  /// Where models are.
  package var map: ShardMap { shards.map ?? ShardMap() }

  /// Changes where models are. Handles notice when they read something here next, and before they store anything more.
  package func change(_ body: (inout ShardMap) throws -> Void) rethrows {
    var map = map
    try body(&map)
    with { state in (state.map, state.fence) = (map, state.fence + 1) }
  }

  /// Makes handles ask the root where models are, before they store anything more here.
  package func raiseFence() { with { $0.fence += 1 } }

  /// Makes the models that `isMeant` names the same in another log.
  package func copy(to other: SharedMemoryLog, _ isMeant: (String) -> Bool) {
    let models = with { state in state.models.filter { isMeant($0.key) } }
    other.with { state in
      for (name, model) in models.sorted(by: { $0.key < $1.key }) {
        guard state.models[name]?.head.record != model.head.record || state.models[name]?.chunks != model.chunks
        else { continue }
        // Another engine's revisions may well be those that hubs know from this one.
        let last = max(state.revision + 2, model.records.dropLast().last?.revision ?? 0)
        var copied = model
        copied.head.revision = last
        // Who is told of an earlier record alone must not take its revision for the head's.
        copied.records = model.records.map { record in
          SharedRecord(record.batch, revision: record.batch.record == model.head.record ? last : last - 1)
        }
        copied.folds = model.folds == 0 ? 0 : last
        state.revision = last
        state.models[name] = copied
        state.recent += copied.records
      }
    }
  }

  /// Deletes the models that `isMeant` names.
  package func delete(_ isMeant: (String) -> Bool) {
    with { state in
      for name in state.models.keys.filter(isMeant) { state.models[name] = nil }
    }
  }
}
