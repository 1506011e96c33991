import BindingProtocol

/// The versions of an ephemeral model at an edge and upstream.
///
/// The epoch of an ephemeral model is its hub's process, and an edge outlives that of its upstream hub. So its peers
/// see an epoch of the edge, and versions that go on where those of one upstream process end.
struct EphemeralVersions {
  /// The epoch upstream.
  let epoch: Epoch
  /// The epoch here: this process.
  private let epochHere: Epoch
  /// What a version here is beyond the one upstream.
  private let distance: Int64

  /// - Parameter told: what is told first of the epoch upstream.
  init(of told: FollowedFields, in model: ModelLog) {
    epoch = told.epoch
    epochHere = model.epoch(ifStored: told.epoch)
    distance = Int64(clamping: model.version) + 1 - Int64(clamping: told.version)
  }

  /// A version upstream as it is here; of fields that were written before the first one, at least 1.
  func here(_ upstream: Version) -> Version { Version(max(Int64(clamping: upstream) + distance, 1)) }

  /// A version here as it is upstream; 0: it is of another epoch there.
  func upstream(_ here: Version) -> Version { Version(max(Int64(clamping: here) - distance, 0)) }

  /// The place in a condition as it is upstream. Version 0 is that of what was never written.
  func upstream(_ epoch: Epoch, _ version: Version) -> (epoch: Epoch, version: Version) {
    guard epoch == epochHere else { return (epoch, version) }
    guard version > 0 else { return (self.epoch, 0) }
    let place = upstream(version)
    return place > 0 ? (self.epoch, place) : (0, version)
  }

  /// Commits upstream as they are here.
  func here(_ commits: [RecordedCommit]) -> [RecordedCommit] {
    commits.map { commit in
      var commit = commit
      commit.epoch = epochHere
      commit.version = here(commit.version)
      return commit
    }
  }

  /// Fields upstream as they are here.
  func here(_ told: FollowedFields) -> FollowedFields {
    var told = told
    told.epoch = epochHere
    told.version = here(told.version)
    for index in told.fields.indices { told.fields[index].version = here(told.fields[index].version) }
    return told
  }

  /// An outcome upstream as it is here.
  func here(_ outcome: WireOutcome.Rest) -> WireOutcome.Rest {
    switch outcome {
    case .committed(let count, let version): return .committed(count: count, version: here(version))
    case .conflict(var conflict):
      if conflict.version > 0 { conflict.version = here(conflict.version) }
      return .conflict(conflict)
    default: return outcome
    }
  }
}
