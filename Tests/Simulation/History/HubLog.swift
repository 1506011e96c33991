import BindingProtocol

/// What the hubs of one run stored, in order: every state that a model ever had.
struct HubLog {
  /// A model in one epoch.
  struct Track {
    /// The version at which the epoch began for this model.
    var base: Version
    /// The model at `base`, and after each commit.
    var states: [[String: JSON]]
    var commits: [Entry] = []
    /// The version of each field's last write.
    var changedAt: [String: Version] = [:]
  }
  struct Entry {
    var location: HistoryLocation
    var content: HistoryCommit
    /// The write behind it; nil for defaults and for changes of the hub itself.
    var write: Int?
    /// Whether an earlier epoch of the log already had it.
    var isRecovered = false
  }
  struct ProposalName: Hashable {
    var model: String
    var tag: String
    var number: Int
  }
  struct TrackName: Hashable {
    var model: String
    var epoch: Epoch
  }

  /// In their order.
  private(set) var epochs: [(epoch: Epoch, time: UInt64, isMemory: Bool)] = []
  private(set) var tracks: [TrackName: Track] = [:]
  struct Value: Hashable {
    var model: String
    var field: String
    var text: String
  }
  /// Where each proposal, and each value of a field, was committed first.
  private(set) var first: [ProposalName: HistoryCheck.CommitName] = [:]
  private var firstOf: [Value: HistoryCheck.CommitName] = [:]
  private(set) var commitCount = 0
  /// The models as they stand.
  private var present: [String: (version: Version, state: [String: JSON])] = [:]
  var models: [String] { Set(tracks.keys.map(\.model)).sorted() }
  var last: Epoch? { epochs.last?.epoch }

  /// A hub starts; one with a memory store starts empty.
  mutating func begin(_ epoch: Epoch, isMemory: Bool, at time: UInt64) {
    if isMemory { present.removeAll() }
    turn(to: epoch, isMemory: isMemory, at: time)
  }

  /// Another epoch begins where the models stand.
  mutating func turn(to epoch: Epoch, isMemory: Bool, at time: UInt64) {
    epochs.append((epoch, time, isMemory))
    for (model, (version, state)) in present where tracks[TrackName(model: model, epoch: epoch)] == nil {
      tracks[TrackName(model: model, epoch: epoch)] = Track(base: version, states: [state])
    }
  }

  /// - Returns: false if the version is not the next.
  mutating func add(_ entry: Entry) -> Bool {
    let commit = entry.content
    let name = TrackName(model: commit.model, epoch: commit.epoch)
    let (version, state) = present[commit.model] ?? (0, [:])
    var after = state
    for (field, value) in commit.changes { after[field] = value == .null ? nil : value }
    var track = tracks[name] ?? Track(base: version, states: [state])
    guard commit.version == version + 1, version == track.base + Version(track.commits.count) else { return false }
    tracks[name] = nil
    track.states.append(after)
    track.commits.append(entry)
    for field in commit.changes.keys { track.changedAt[field] = commit.version }
    tracks[name] = track
    present[commit.model] = (commit.version, after)
    commitCount += 1
    let proposal = ProposalName(model: commit.model, tag: commit.tag, number: commit.number)
    let here = HistoryCheck.CommitName(model: commit.model, epoch: commit.epoch, version: commit.version)
    if first[proposal] == nil { first[proposal] = here }
    for (field, value) in commit.changes where value != .null {
      let made = Value(model: commit.model, field: field, text: value.description)
      if firstOf[made] == nil { firstOf[made] = here }
    }
    return true
  }

  /// The commit that first made the value of a field's last commit, which may be a recovery.
  func origin(of entry: Entry, in field: String) -> HistoryCheck.CommitName? {
    let commit = entry.content
    guard commit.number == 0 else {
      return first[ProposalName(model: commit.model, tag: commit.tag, number: commit.number)]
    }
    let made = commit.changes[field].flatMap {
      firstOf[Value(model: commit.model, field: field, text: $0.description)]
    }
    // Which deletion it repeats is unknown.
    return made ?? .init(model: commit.model, epoch: commit.epoch, version: commit.version)
  }

  /// The model at a version; nil if that version never existed.
  func state(_ model: String, _ epoch: Epoch, _ version: Version) -> [String: JSON]? {
    guard let track = tracks[TrackName(model: model, epoch: epoch)] else { return version == 0 ? [:] : nil }
    guard version >= track.base, version - track.base < UInt64(track.states.count) else { return nil }
    return track.states[Int(version - track.base)]
  }

  /// The model as it stands.
  func present(_ model: String) -> (version: Version, state: [String: JSON]) { present[model] ?? (0, [:]) }

  func entry(_ name: HistoryCheck.CommitName) -> Entry? {
    guard let track = tracks[TrackName(model: name.model, epoch: name.epoch)], name.version > track.base,
      name.version - track.base <= UInt64(track.commits.count)
    else { return nil }
    return track.commits[Int(name.version - track.base) - 1]
  }

  /// Whether the first of two points of one log precedes the second.
  static func isBefore(_ left: HistoryCheck.CommitName, _ right: HistoryCheck.CommitName) -> Bool {
    (left.epoch, left.version) < (right.epoch, right.version)
  }
}
