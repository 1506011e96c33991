package import BindingProtocol

/// Counts since the hub's start, by name: what was received, refused, dropped and repaired.
package struct HubCounters: Sendable, Hashable {
  /// Frames received from request connections, malformed ones included.
  package var framesReceived: UInt64 = 0
  /// Proposals handled.
  package var proposals: UInt64 = 0
  /// Commits that the store has.
  package var commits: UInt64 = 0
  /// Field changes in those commits.
  package var changes: UInt64 = 0
  /// Batches that the store has.
  package var batches: UInt64 = 0
  /// Proposals that changed nothing.
  package var unchanged: UInt64 = 0
  /// Proposals that ended in a conflict.
  package var conflicts: UInt64 = 0
  /// Void proposals: they became too old after they were first sent.
  package var expired: UInt64 = 0
  /// Fields that the hub set back to their defaults because nobody renewed them in time.
  package var fallbacks: UInt64 = 0
  /// Proposals whose number was decided before.
  package var repeats: UInt64 = 0
  /// Proposals whose number was not the next one of their writer.
  package var jumps: UInt64 = 0
  /// Proposals that the peer was asked to send again later.
  package var retries: UInt64 = 0
  /// Proposals whose outcome is no longer known.
  package var unknownOutcomes: UInt64 = 0
  /// Frames that do not follow the protocol's grammar.
  package var malformedFrames: UInt64 = 0
  /// Frames that name another start of the hub.
  package var staleStarts: UInt64 = 0
  /// Frames of sessions that are not open on their connection.
  package var unknownSessions: UInt64 = 0
  /// Sessions that ended because a later session of the same identity began.
  package var fencedSessions: UInt64 = 0
  /// Sessions that were sent to other hubs because this one was drained.
  package var drainedSessions: UInt64 = 0
  /// Hellos whose secret does not prove their tag.
  package var wrongSecrets: UInt64 = 0
  /// Hellos that name no protocol number spoken here.
  package var otherProtocols: UInt64 = 0
  /// Hellos that name another draft of the protocol (`Capability.draft`).
  package var otherDrafts: UInt64 = 0
  /// Hellos that were refused for want of room.
  package var sessionsRefused: UInt64 = 0
  /// Joins and subscriptions past a limit of topics or prefixes.
  package var topicsRefused: UInt64 = 0
  /// Joins refused on their own: too many models, or an invalid name.
  package var modelsRefused: UInt64 = 0
  /// Models that were deleted entirely and gave back their names.
  package var removedModels: UInt64 = 0
  /// Times a model gave back the names of deleted fields.
  package var renumberedModels: UInt64 = 0
  /// Sessions whose lease ran out.
  package var expiredLeases: UInt64 = 0
  /// Joins received.
  package var joins: UInt64 = 0
  /// Catch-ups by the changed fields only.
  package var deltas: UInt64 = 0
  /// Catch-ups by all fields.
  package var snapshots: UInt64 = 0
  /// Commits that deltas coalesced, so that the peer never received them one by one.
  package var foldedCommits: UInt64 = 0
  /// Messages with commits or a head that a congested connection did not get.
  package var leftOut: UInt64 = 0
  /// Joins that are served over the request connection.
  package var routedJoins: UInt64 = 0
  /// Commit messages that were sent over a request connection.
  package var routedCommits: UInt64 = 0
  /// Requests for the heads of all joined models.
  package var headRequests: UInt64 = 0
  /// Times a join raised a writer's last decided number.
  package var raisedMarks: UInt64 = 0
  /// Epochs that this hub began after its start.
  package var newEpochs: UInt64 = 0
  /// Recoveries that asked a peer for its replica.
  package var recoveries: UInt64 = 0
  /// Fields that recoveries restored or deleted.
  package var recoveredFields: UInt64 = 0
  /// Replicas of an impossible epoch or version.
  package var implausibleReplicas: UInt64 = 0
  /// Offers that the hub did not ask for.
  package var unaskedOffers: UInt64 = 0
  /// Fields of offers that were rejected for their name, value or version.
  package var refusedOfferedFields: UInt64 = 0
  /// Joins by peers that are ahead in an older epoch, at a hub that does not recover from peers.
  package var peersAhead: UInt64 = 0
  /// Joins by peers that had seen more at another hub of the log than was known here; the model was loaded first.
  package var joinsAhead: UInt64 = 0
  /// Batches that found commits of another hub in the store.
  package var movedBatches: UInt64 = 0
  /// Times this hub began to pass the proposals of a model on to the model's home.
  package var homesChosen: UInt64 = 0
  /// Proposals that were passed on to a model's home.
  package var passedOn: UInt64 = 0
  /// Proposals of those that were decided here after all.
  package var takenBack: UInt64 = 0
  /// Proposals that other hubs have passed on to this one.
  package var forwarded: UInt64 = 0
  /// Batches of other hubs that the tail of a shared store brought.
  package var followedBatches: UInt64 = 0
  /// Unused models of a log that several hubs share which were let go.
  package var modelsLetGo: UInt64 = 0
  /// Times the tail of a shared store lost its place.
  package var tailLosses: UInt64 = 0
  /// Batches of which the store could not say whether they are stored.
  package var unknownBatches: UInt64 = 0
  /// Batches for which the store had no room.
  package var fullAppends: UInt64 = 0
  /// Identities that the hub forgot.
  package var forgottenIdentities: UInt64 = 0
  /// Proposals that a model's owner was asked about.
  package var approvals: UInt64 = 0
  /// Approval requests that the owner did not answer in time.
  package var silentOwners: UInt64 = 0
  /// Barriers accepted: waits until other peers have a version.
  package var barriers: UInt64 = 0
  /// Barriers refused for want of room.
  package var barriersRefused: UInt64 = 0
  /// Barriers that timed out.
  package var barriersMissed: UInt64 = 0
  /// Comparisons of replicas with the hub.
  package var verifications: UInt64 = 0
  /// Replicas that a comparison found to differ from the hub's model.
  package var differences: UInt64 = 0
  /// Divergences that peers found and healed themselves.
  package var healedDivergences: UInt64 = 0
  /// Pages of history sent.
  package var historyPages: UInt64 = 0
  /// Connections ended past a name's limit.
  package var limitedConnections: UInt64 = 0
  /// Hellos refused past a name's limit of sessions.
  package var limitedSessions: UInt64 = 0
  /// Joins refused past a name's limit of models.
  package var limitedModels: UInt64 = 0
  /// Proposals sent back past a name's limit of bytes a second.
  package var limitedBytes: UInt64 = 0
  /// Proposals sent back past a name's limit of writes a second.
  package var limitedWrites: UInt64 = 0
  /// Subscribers ended past a name's limit of subscriptions.
  package var limitedSubscriptions: UInt64 = 0
  /// Times that an edge lost its upstream hub.
  package var upstreamLosses: UInt64 = 0
  /// Times that an edge's upstream hub had another log, or another epoch of it.
  package var otherUpstreams: UInt64 = 0
  /// Models that an edge got from its upstream hub as they were by then, not commit by commit.
  package var upstreamCatchups: UInt64 = 0
  /// Refusals by code.
  package var refusals: [RefusalCode: UInt64] = [:]

  /// All counts 0.
  package init() {}

  /// The counts as a JSON object. A test pins the names.
  package var json: JSON {
    var members: [JSON.Member] = []
    for child in Mirror(reflecting: self).children {
      guard let name = child.label, let count = child.value as? UInt64 else { continue }
      members.append(.init(name, .integer(Int64(clamping: count))))
    }
    let byCode = RefusalCode.allCases.map { JSON.Member("\($0)", .integer(Int64(clamping: refusals[$0] ?? 0))) }
    return .object(members + [.init("refusals", .object(byCode))])
  }
}
