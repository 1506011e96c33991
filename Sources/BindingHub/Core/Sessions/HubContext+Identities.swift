import BindingProtocol

/// Identities beyond their sessions: what the hub remembers of them, and when it forgets it (R11).
extension HubContext {
  /// Whether every number that the log has of an identity is known, where nobody has forgotten any. A log that several
  /// hubs share forgets none before its outcomes are confirmed.
  func hasNumbers(of tag: Tag) -> Bool { configuration.isShared || sessions.writersBefore.contains(tag) }

  /// Whether an identity has confirmed all its outcomes in a model.
  private func isConfirmed(_ tag: Tag, in index: Int) -> Bool {
    models[index].writers.index(of: tag).map { writer in models[index].writers.with(writer) { $0.isConfirmed } } ?? true
  }

  /// Forgets an identity that has left, if it has confirmed all its outcomes.
  /// - Returns: whether it is forgotten.
  mutating func forgetIfConfirmed(_ tag: Tag) -> Bool {
    guard let identity = sessions.identities[tag], identity.models.allSatisfy({ isConfirmed(tag, in: $0) }) else {
      return false
    }
    if configuration.isShared { SharedWriters.forget(tag, in: identity.models.sorted(), &self) }
    forget(tag)
    return !configuration.isShared
  }

  /// Forgets an identity and its last decided numbers. A later hello of it is welcomed as unknown.
  private mutating func forget(_ tag: Tag) {
    guard let identity = sessions.identities.removeValue(forKey: tag) else { return }
    sessions.writersBefore.remove(tag)
    counters.forgottenIdentities += 1
    guard !configuration.isShared else { return }
    for index in identity.models {
      models[index].forget([tag])
      models.touchIfLeft(index)
    }
  }

  /// Forgets the oldest identities without a session, past `maxIdentities`.
  mutating func forgetIdentitiesPastLimit() {
    guard sessions.identities.count > configuration.maxIdentities else { return }
    let idle = sessions.identities.filter { $0.value.session == nil }.sorted { $0.value.lastSeen < $1.value.lastSeen }
    for (tag, identity) in idle.prefix(sessions.identities.count - configuration.maxIdentities) {
      // An identity without a last decided number cannot have had a decision.
      if !configuration.isShared, !identity.models.isEmpty || sessions.writersBefore.contains(tag) {
        sessions.evictedLastSeen = max(sessions.evictedLastSeen ?? 0, identity.lastSeen)
      }
      // The store keeps these numbers, and the next start of the hub knows the identity by them; until then the
      // model stays.
      for index in identity.models where !configuration.isShared && !isConfirmed(tag, in: index) {
        models[index].writers.hasForgottenUnconfirmed = true
      }
      forget(tag)
    }
  }

  /// Forgets identities that had no session for a week.
  /// - Parameter wall: the wall time, by which a log of several hubs forgets its writers.
  mutating func forgetOldIdentities(now: UInt64, wall: UInt64) {
    if configuration.isShared { SharedWriters.forgetSilent(wall: wall, &self) }
    let old = sessions.identities.filter {
      $0.value.session == nil && now > $0.value.lastSeen + configuration.identityMilliseconds
    }
    for tag in old.keys { forget(tag) }
  }
}
