import BindingProtocol

/// A comparison under way of some models' replicas with the hub.
struct Verification {
  let connection: ConnectionID
  let session: SessionID
  let deadline: UInt64
  var models: [Examined]
  /// The topic after which the next question continues; 0: these were the last.
  let next: Topic

  /// One compared model.
  struct Examined {
    /// The model's index.
    let model: Int
    /// Digests of the hub's versions since the comparison began, in order; only the last ones are kept.
    var known: [(version: Version, digest: UInt64)]
    var waiting: Set<SessionID>
    var equal: Set<SessionID> = []
    var different: Set<SessionID> = []
    /// Sessions that were not asked because they do not know the question.
    var unable: Set<SessionID> = []

    /// Handles a session's report.
    /// - Returns: true if it is a new difference. A report that no known version can be compared with decides
    ///   nothing; the session is asked again.
    mutating func apply(_ entry: AppliedEntry, of session: SessionID, isThisEpoch: Bool) -> Bool {
      guard isThisEpoch, waiting.contains(session), let last = known.last else { return false }
      var verdict: Bool?
      if entry.version > last.version { verdict = false }
      if let index = index(of: entry.version) { verdict = known[index].digest == entry.digest }
      guard let verdict else { return false }
      waiting.remove(session)
      if verdict { equal.insert(session) } else { different.insert(session) }
      return !verdict
    }

    /// Records the hub's digest of a version.
    mutating func record(_ version: Version, _ digest: UInt64, limit: Int) {
      known.append((version, digest))
      if known.count >= 2 * limit { known.removeFirst(known.count - limit) }
    }

    private func index(of version: Version) -> Int? {
      var (low, high) = (0, known.count)
      while low < high {
        let middle = (low + high) / 2
        if known[middle].version < version { low = middle + 1 } else { high = middle }
      }
      return low < known.count && known[low].version == version ? low : nil
    }
  }

  var isComplete: Bool { models.allSatisfy { $0.waiting.isEmpty } }

  mutating func forget(_ session: SessionID, in model: Int? = nil) {
    for index in models.indices where model == nil || models[index].model == model {
      models[index].waiting.remove(session)
      models[index].unable.remove(session)
    }
  }
}
