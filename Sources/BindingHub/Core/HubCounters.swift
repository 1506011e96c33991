public import BindingProtocol

/// Counts since the hub's start, by name: what was received, refused, dropped and repaired.
public struct HubCounters: Sendable, Hashable {
  /// Frames received from request connections, malformed ones included.
  public var framesReceived: UInt64 = 0
  /// Proposals handled.
  public var proposals: UInt64 = 0
  /// Commits that the store has.
  public var commits: UInt64 = 0
  /// Field changes in those commits.
  public var changes: UInt64 = 0
  /// Batches that the store has.
  public var batches: UInt64 = 0
  /// Proposals that changed nothing.
  public var unchanged: UInt64 = 0
  /// Proposals that ended in a conflict.
  public var conflicts: UInt64 = 0
  /// Void proposals: they became too old after they were first sent.
  public var expired: UInt64 = 0
  /// Proposals whose number was decided before.
  public var repeats: UInt64 = 0
  /// Proposals whose number was not the next one of their writer.
  public var jumps: UInt64 = 0
  /// Proposals that the peer was asked to send again later.
  public var retries: UInt64 = 0
  /// Proposals whose outcome is no longer known.
  public var unknownOutcomes: UInt64 = 0
  /// Frames that do not follow the protocol's grammar.
  public var malformedFrames: UInt64 = 0
  /// Frames that name another start of the hub.
  public var staleStarts: UInt64 = 0
  /// Frames of sessions that are not open on their connection.
  public var unknownSessions: UInt64 = 0
  /// Sessions that ended because a later session of the same identity began.
  public var fencedSessions: UInt64 = 0
  /// Hellos whose secret does not prove their tag.
  public var wrongSecrets: UInt64 = 0
  /// Hellos that name no protocol number spoken here.
  public var otherProtocols: UInt64 = 0
  /// Hellos that were refused for want of room.
  public var sessionsRefused: UInt64 = 0
  /// Joins and subscriptions past a limit of topics or prefixes.
  public var topicsRefused: UInt64 = 0
  /// Joins refused on their own: too many models, or an invalid name.
  public var modelsRefused: UInt64 = 0
  /// Models that were deleted entirely and gave back their names.
  public var removedModels: UInt64 = 0
  /// Times a model gave back the names of deleted fields.
  public var renumberedModels: UInt64 = 0
  /// Sessions whose lease ran out.
  public var expiredLeases: UInt64 = 0
  /// Joins received.
  public var joins: UInt64 = 0
  /// Catch-ups by the changed fields only.
  public var deltas: UInt64 = 0
  /// Catch-ups by all fields.
  public var snapshots: UInt64 = 0
  /// Commits that deltas coalesced, so that the peer never received them one by one.
  public var foldedCommits: UInt64 = 0
  /// Messages with commits or a head that a congested connection did not get.
  public var leftOut: UInt64 = 0
  /// Joins that are served over the request connection.
  public var routedJoins: UInt64 = 0
  /// Commit messages that were sent over a request connection.
  public var routedCommits: UInt64 = 0
  /// Requests for the heads of all joined models.
  public var headRequests: UInt64 = 0
  /// Times a join raised a writer's last decided number.
  public var raisedMarks: UInt64 = 0
  /// Epochs that this hub began after its start.
  public var newEpochs: UInt64 = 0
  /// Recoveries that asked a peer for its replica.
  public var recoveries: UInt64 = 0
  /// Fields that recoveries restored or deleted.
  public var recoveredFields: UInt64 = 0
  /// Replicas of an impossible epoch or version.
  public var implausibleReplicas: UInt64 = 0
  /// Offers that the hub did not ask for.
  public var unaskedOffers: UInt64 = 0
  /// Fields of offers that were rejected for their name, value or version.
  public var refusedOfferedFields: UInt64 = 0
  /// Joins by peers that are ahead in an older epoch, at a hub that does not recover from peers.
  public var peersAhead: UInt64 = 0
  /// Batches that found commits of another hub in the store.
  public var movedBatches: UInt64 = 0
  /// Batches of which the store could not say whether they are stored.
  public var unknownBatches: UInt64 = 0
  /// Batches for which the store had no room.
  public var fullAppends: UInt64 = 0
  /// Identities that the hub forgot.
  public var forgottenIdentities: UInt64 = 0
  /// Proposals that a model's owner was asked about.
  public var approvals: UInt64 = 0
  /// Approval requests that the owner did not answer in time.
  public var silentOwners: UInt64 = 0
  /// Barriers accepted: waits until other peers have a version.
  public var barriers: UInt64 = 0
  /// Barriers refused for want of room.
  public var barriersRefused: UInt64 = 0
  /// Barriers that timed out.
  public var barriersMissed: UInt64 = 0
  /// Comparisons of replicas with the hub.
  public var verifications: UInt64 = 0
  /// Replicas that a comparison found to differ from the hub's model.
  public var differences: UInt64 = 0
  /// Divergences that peers found and healed themselves.
  public var healedDivergences: UInt64 = 0
  /// Refusals by code.
  public var refusals: [RefusalCode: UInt64] = [:]

  /// All counts 0.
  public init() {}

  /// The counts as a JSON object. A test pins the names.
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
