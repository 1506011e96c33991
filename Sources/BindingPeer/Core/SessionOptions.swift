package import BindingProtocol

/// The times and limits of a session, those of `Peer.Configuration` in milliseconds.
package struct SessionOptions: Sendable, Hashable {
  /// A decided write of an earlier run ends as unknown after this many heartbeats, or three resends, without an
  /// answer.
  static let heartbeatsWithoutAnswer: UInt64 = 6

  package var leaseMilliseconds: UInt32 = 0
  package var welcomeMilliseconds: UInt64 = 2_000
  package var shortestPauseMilliseconds: UInt64 = 50
  package var longestPauseMilliseconds: UInt64 = 1_000
  package var joinMilliseconds: UInt64 = 3_000
  package var offlineMilliseconds: UInt64 = 10_000
  package var exitMilliseconds: UInt64 = 1_000
  package var maxOutboxWrites = 10_000
  package var maxOutboxBytes = 8_388_608
  package var maxBufferedBytes = 1_048_576
  package var maxListedCommits = 1_000
  package var maxMergeAttempts = 64
  package var limits = Limits()
  package var readsLatest = false

  package init() {}
}
