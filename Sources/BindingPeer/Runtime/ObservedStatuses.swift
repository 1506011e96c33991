import BindingProtocol

/// Which statuses are observed: only those are computed when they may have changed.
struct ObservedStatuses: Sendable {
  /// The ids of models.
  var models: Swift.Set<String> = []
  var isPeer = false

  /// The observed models whose statuses these effects may change, sorted.
  func models(concernedBy effects: PeerEffects) -> [String] {
    guard !models.isEmpty else { return [] }
    if effects.concernAllModels { return models.sorted() }
    var ids: Swift.Set<String> = []
    for update in effects.updates { ids.insert(update.model) }
    for report in effects.outcomes {
      switch report {
      case .settled(_, let model, _), .retryLater(_, let model, _): ids.insert(model)
      }
    }
    return ids.intersection(models).sorted()
  }
}

extension PeerEffects {
  /// Whether the status of any model may change: the connection did, or writes or joins are sent.
  fileprivate var concernAllModels: Bool {
    events.contains { event in
      switch event {
      case .phase, .notice(.hubError): true
      default: false
      }
    }
      || link.contains { action in
        guard case .send(let frame) = action else { return false }
        let kind = frame.first.flatMap(PeerMessageKind.init)
        return kind == .propose || kind == .join
      }
  }
}
