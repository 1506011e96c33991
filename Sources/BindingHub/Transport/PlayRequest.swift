package import BindingProtocol

/// Recorded commits for a running hub (`HubMachine.play`), and how to answer.
struct PlayRequest: Sendable {
  let commits: [(commit: RecordedCommit, version: Version?)]
  let reply: @Sendable (PlayedCommits) -> Void
}

/// What became of recorded commits that a hub was given.
package struct PlayedCommits: Sendable {
  /// For each commit the head of its model right after it; nil: no field has a value, and the model is gone. Empty if
  /// the hub has ended.
  package var heads: [(version: Version, digest: UInt64)?] = []
  /// The number of open sessions.
  package var sessionCount = 0
}

extension HubLoop {
  /// Commits recorded commits one by one, each stored and sent before the next.
  func play(_ request: PlayRequest, time: HubTime) {
    var played = PlayedCommits()
    for (commit, version) in request.commits {
      if !machine.play(commit, at: version) {
        settle(time: time)
        _ = machine.play(commit, at: version)
      }
      settle(time: time)
      played.heads.append(machine.head(of: commit.model))
    }
    played.sessionCount = machine.sessionCount
    request.reply(played)
  }
}

extension Hub {
  /// Commits recorded commits again, each at its version if there is one (`HubMachine.play`). Only for a hub in memory,
  /// whose store answers at once.
  package func play(_ commits: [(commit: RecordedCommit, version: Version?)]) async -> PlayedCommits {
    await withCheckedContinuation { continuation in
      post(PlayRequest(commits: commits) { continuation.resume(returning: $0) })
    }
  }
}
