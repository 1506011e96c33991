import BindingProtocol

/// The models that an uplink follows, and what the edge was told of each.
struct FollowedVersions: Sendable {
  struct Known: Sendable {
    var epoch: Epoch = 0
    var version: Version = 0
    /// Whether the edge was told any state of it.
    var isTold = false
    /// Deletions up to here are not known.
    var deltasFrom: Version = 0
  }
  private var known: [String: Known] = [:]
  /// Models that are not complete since the uplink was opened.
  private(set) var unfinished: Set<String> = []
  private var hasCaughtUp = false
  /// The log that these versions belong to.
  var log: LogID?

  subscript(model: String) -> Known? { known[model] }

  mutating func follow(_ model: String) {
    guard known[model] == nil else { return }
    known[model] = Known()
    unfinished.insert(model)
  }

  mutating func unfollow(_ model: String) {
    known[model] = nil
    unfinished.remove(model)
  }

  /// The uplink is open again: every model is to be complete again.
  mutating func suspend() {
    unfinished = Set(known.keys)
    hasCaughtUp = false
  }

  mutating func finish(_ model: String) { unfinished.remove(model) }

  /// Whether all models have become complete since the uplink was opened; once.
  mutating func catchesUp() -> Bool {
    guard unfinished.isEmpty, !hasCaughtUp else { return false }
    hasCaughtUp = true
    return true
  }

  mutating func tell(_ model: String, _ epoch: Epoch, _ version: Version) {
    known[model]?.epoch = epoch
    known[model]?.version = version
    known[model]?.isTold = true
  }

  /// A snapshot does not say what was deleted before.
  mutating func limitDeltas(of model: String, to version: Version) { known[model]?.deltasFrom = version }

  /// The replica belongs to another log, or may be read no more.
  mutating func forgetVersion(of model: String) {
    known[model] = known[model].map { _ in Known() }
    if known[model] != nil { unfinished.insert(model) }
  }

  mutating func forgetVersions() {
    for model in known.keys { known[model] = Known() }
  }
}
