import BindingProtocol

/// The additions that a counter contains, by version and epoch of the log: only 1 is ever added and nothing else is
/// written, so the counter equals their count.
struct SumAdditions {
  /// A replica that a peer has offered.
  struct Replica {
    let epoch: Epoch
    let version: Version
    let offerer: Tag
  }
  /// What the counter contains from a version on.
  private struct State {
    let version: Version
    let additions: [LogOracle.Name]
  }
  private var states: [Epoch: [State]] = [:]
  /// The states of an epoch before its log lost its end and went on: replicas of that epoch may have them all.
  private var lost: [Epoch: [State]] = [:]
  private var present: Epoch = 0
  /// The peer that recovered the counter in the present epoch.
  private var offerer: Tag?

  /// An epoch begins, or goes on, with what the log has left.
  /// - Parameter version: the last that is left; nil: the log does not have the model.
  mutating func begin(_ epoch: Epoch, at version: Version?) {
    let left = (states[present] ?? []).prefix { $0.version <= version ?? 0 }
    if let former = states[epoch], former.count > left.count { lost[epoch] = former }
    states[epoch] = Array(left)
    (present, offerer) = (epoch, nil)
  }

  /// A commit recovers the counter from a replica.
  mutating func bring(_ sum: Int64, from replica: Replica, into epoch: Epoch, at version: Version) {
    let held = [states[replica.epoch], lost[replica.epoch]].compactMap { states in
      states?.last { $0.version <= replica.version }?.additions
    }
    // After a loss an epoch has had two commits of one version; the sum tells of which the replica is.
    let known = held.first { $0.count == sum } ?? held.max { $0.count < $1.count } ?? []
    states[epoch, default: []].append(State(version: version, additions: Array(known.prefix(Int(clamping: sum)))))
    offerer = replica.offerer
  }

  /// - Returns: nil if it was not contained; else the peer that recovered the counter, if any.
  mutating func add(_ name: LogOracle.Name, in epoch: Epoch, at version: Version) -> Tag?? {
    let isContained = states[epoch]?.last?.additions.contains(name) == true
    // A batch of the epoch before may come after the present one has begun: it belongs to both.
    for epoch in Set([epoch, present]) {
      let before = states[epoch]?.last?.additions ?? []
      states[epoch, default: []].append(State(version: version, additions: before + [name]))
    }
    return isContained ? .some(offerer) : nil
  }
}
