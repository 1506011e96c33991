public import BindingProtocol

/// Everything that was taken, refused, dropped or repaired since the start, by name.
public struct HubCounters: Sendable, Hashable {
  public var framesReceived: UInt64 = 0
  public var proposals: UInt64 = 0
  public var commits: UInt64 = 0
  public var changes: UInt64 = 0
  public var batches: UInt64 = 0
  public var unchanged: UInt64 = 0
  public var conflicts: UInt64 = 0
  public var expired: UInt64 = 0
  public var repeats: UInt64 = 0
  public var jumps: UInt64 = 0
  public var retries: UInt64 = 0
  public var unknownOutcomes: UInt64 = 0
  public var malformedFrames: UInt64 = 0
  public var staleStarts: UInt64 = 0
  public var unknownSessions: UInt64 = 0
  public var fencedSessions: UInt64 = 0
  public var wrongSecrets: UInt64 = 0
  public var otherProtocols: UInt64 = 0
  public var sessionsRefused: UInt64 = 0
  public var topicsRefused: UInt64 = 0
  /// Joins refused alone: there are too many models, or what was named is none.
  public var modelsRefused: UInt64 = 0
  /// Models that were deleted wholly, and gave back their names.
  public var removedModels: UInt64 = 0
  /// Times that a model gave back the names of deleted fields.
  public var renumberedModels: UInt64 = 0
  public var expiredLeases: UInt64 = 0
  public var joins: UInt64 = 0
  public var deltas: UInt64 = 0
  public var snapshots: UInt64 = 0
  /// Commits that deltas brought folded, and that were therefore never sent to that peer one by one.
  public var foldedCommits: UInt64 = 0
  /// Messages of a model's commits or head that were left out for a connection that was behind.
  public var leftOut: UInt64 = 0
  public var routedJoins: UInt64 = 0
  public var routedCommits: UInt64 = 0
  public var headRequests: UInt64 = 0
  public var raisedMarks: UInt64 = 0
  public var newEpochs: UInt64 = 0
  public var recoveries: UInt64 = 0
  public var recoveredFields: UInt64 = 0
  /// Replicas of a life or version that cannot be, offers that nobody asked for, and fields of others that were not
  /// taken: for their name, value or version.
  public var implausibleReplicas: UInt64 = 0
  public var unaskedOffers: UInt64 = 0
  public var refusedOfferedFields: UInt64 = 0
  /// Joins by peers that have more of an older life, of a hub that asks nobody for it.
  public var peersAhead: UInt64 = 0
  public var movedBatches: UInt64 = 0
  public var unknownBatches: UInt64 = 0
  /// Batches for which the store had no room.
  public var fullAppends: UInt64 = 0
  public var forgottenIdentities: UInt64 = 0
  /// Proposals that a model's owner was asked about, and how often it did not answer.
  public var approvals: UInt64 = 0
  public var silentOwners: UInt64 = 0
  /// Waits for others to have a version: taken, refused, and ended before they had it.
  public var barriers: UInt64 = 0
  public var barriersRefused: UInt64 = 0
  public var barriersMissed: UInt64 = 0
  public var verifications: UInt64 = 0
  /// Replicas that a comparison found to be another than the hub's, and those that peers found and healed themselves.
  public var differences: UInt64 = 0
  public var healedDivergences: UInt64 = 0
  /// Refusals by their code.
  public var refusals: [RefusalCode: UInt64] = [:]

  public init() {}

  /// As a JSON object; the names are pinned by a test.
  public var json: JSON {
    var members: [JSON.Member] = []
    for child in Mirror(reflecting: self).children {
      guard let name = child.label, let count = child.value as? UInt64 else { continue }
      members.append(.init(name, .integer(Int64(clamping: count))))
    }
    let byCode = RefusalCode.allCases.map { JSON.Member("\($0)", .integer(Int64(clamping: refusals[$0] ?? 0))) }
    return .object(members + [.init("refusals", .object(byCode))])
  }
}
