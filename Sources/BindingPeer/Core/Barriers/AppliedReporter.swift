import BindingProtocol

/// The versions that the hub asked to be reported once they are applied, by model.
struct AppliedReporter: Sendable {
  /// Versions of one model that wait; above the limit the hub's next heartbeat asks again.
  static let maxVersions = 16

  private var wanted: [String: [Version]] = [:]

  var isEmpty: Bool { wanted.isEmpty }

  mutating func ask(for version: Version, of model: String) {
    var versions = wanted[model] ?? []
    guard !versions.contains(version) else { return }
    if versions.count == AppliedReporter.maxVersions { versions.removeLast() }
    wanted[model] = versions + [version]
  }

  /// The reports of the models that have reached what the hub asked for.
  mutating func takeReached(by models: inout IndexedMap<String, ModelSync>) -> [AppliedEntry] {
    var entries: [AppliedEntry] = []
    for id in wanted.keys.sorted() {
      guard let index = models.index(of: id), models[at: index].join.isCurrent, let topic = models[at: index].join.topic
      else { continue }
      let version = models[at: index].replica.version
      guard reach(version, of: id) else { continue }
      entries.append(
        AppliedEntry(
          topic: topic, epoch: models[at: index].replica.epoch, version: version,
          digest: models[at: index].replica.digest(), healed: models[at: index].divergence.count))
    }
    return entries
  }

  /// Whether the hub waits for this version of the model, or an earlier one. It waits for them no longer.
  private mutating func reach(_ version: Version, of model: String) -> Bool {
    guard let versions = wanted[model] else { return false }
    let later = versions.filter { $0 > version }
    wanted[model] = later.isEmpty ? nil : later
    return later.count < versions.count
  }

  mutating func remove(_ model: String) { wanted[model] = nil }

  mutating func removeAll() { wanted.removeAll() }
}
