import BindingProtocol

/// What has happened to a model since its last update: the cause, the commits, and how often they were passed on.
struct UpdateBuilder: Sendable {
  /// nil: nothing has happened.
  private(set) var cause: UpdateCause?
  private var commits: [CommitInfo] = []
  private var coalesced: UInt64 = 0
  private var hops: UInt8 = 0
  /// The most hops of a local write.
  private var localHops: UInt8 = 0

  /// Records a cause; of two the weightier one counts.
  mutating func record(_ cause: UpdateCause) {
    if self.cause.map({ cause.weight < $0.weight }) ?? true { self.cause = cause }
  }

  /// A commit was applied. At most `limit` commits are listed.
  mutating func append(_ commit: @autoclosure () -> CommitInfo, limit: Int) {
    if commits.count < limit { commits.append(commit()) } else { coalesced += 1 }
  }

  /// This many commits arrived as one state.
  mutating func coalesce(_ count: UInt64) { coalesced += count }

  /// A commit of another peer with this many hops was applied.
  mutating func commit(hops: UInt8) { self.hops = max(self.hops, hops) }

  /// A proposal of this program has this many hops.
  mutating func propose(hops: UInt8) { localHops = max(localHops, hops) }

  /// Whether an update is due, and its parts; the next one begins.
  mutating func take(
    model: String, epoch: Epoch, version: Version,
    _ fields: (changes: [ShownChange], confirmed: [String], covered: [String])
  ) -> ModelUpdate? {
    guard let cause else { return nil }
    let update = ModelUpdate(
      model: model, cause: cause, changes: fields.changes, confirmed: fields.confirmed, covered: fields.covered,
      epoch: epoch, version: version, commits: commits, coalesced: coalesced,
      proposalHops: max(localHops, cause.isOwn ? 0 : hops &+ 1))
    self.cause = nil
    commits.removeAll()
    (coalesced, hops, localHops) = (0, 0, 0)
    return update
  }
}

extension UpdateCause {
  fileprivate var weight: Int {
    switch self {
    case .detached: 0
    case .snapshot: 1
    case .delta: 2
    case .commits: 3
    case .expired: 4
    case .outcome: 5
    case .local: 6
    }
  }

  /// Whether it came from no other peer.
  fileprivate var isOwn: Bool { self == .local || self == .outcome || self == .expired }
}
