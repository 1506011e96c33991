import BindingProtocol

/// Checks the histories that hubs and peers recorded against the guarantees of Bindbus.
///
/// The hub's file gives the order, so nothing has to be searched for: the check visits commits once, in version
/// order, and ties each to its write; then it reads every peer's file beside them.
package struct HistoryCheck {
  /// The violations, in the order of files and lines.
  package internal(set) var findings: [HistoryFinding] = []
  /// What the histories count.
  package internal(set) var figures = HistoryFigures()

  var runs: [String: Run] = [:]
  var writes: [Write] = []
  var log = HubLog()
  /// Writes by writer and id.
  var writeIndex: [WriteName: Int] = [:]
  /// Writes of one writer to one model, in their order.
  var writesOf: [WriterName: [Int]] = [:]
  /// The index of the first of those writes that may still lack a commit.
  var firstOpen: [WriterName: Int] = [:]
  /// All words that were put into texts.
  var wordsWritten: Set<String> = []
  /// The write whose acknowledgement names this commit.
  var acknowledgedAt: [CommitName: Int] = [:]

  struct WriteName: Hashable {
    var tag: String
    var id: Int
  }
  struct WriterName: Hashable {
    var tag: String
    var model: String
  }
  struct CommitName: Hashable {
    var model: String
    var epoch: Epoch
    var version: Version
  }

  /// From one start of a peer to its end.
  struct Run {
    var name: String
    var keepsOutbox: Bool
    var entries: [HistoryEntry] = []
    var shares: Set<String> = []
  }

  /// A write and everything known of it.
  struct Write {
    var content: HistoryWrite
    var tag: String
    var location: HistoryLocation
    var submitted: UInt64
    /// Whether the call returned. Only then is the write certainly in the outbox: another thread may record lines while
    /// the call is under way.
    var isMade = false
    var outcome: HistoryOutcome?
    var outcomeAt: UInt64 = 0
    var outcomeIn: HistoryLocation?
    /// Where it was committed first.
    var commit: CommitName?

    var isAcknowledged: Bool { outcome?.kind == "committed" }
    var isOpen: Bool { outcome == nil || outcome?.kind == "unknown" }
  }

  /// Checks the lines of all files of one run.
  /// - Parameters:
  ///   - entries: the entries of all files, each file's in order.
  ///   - bad: the locations of lines that are not entries.
  package init(_ entries: [HistoryEntry], bad: [HistoryLocation] = []) {
    for location in bad { find(.malformed, location, "this is no line of a history") }
    var hubs: [[HistoryEntry]] = []
    var tagOfFile: [String: String] = [:]
    for entry in entries {
      switch entry.content {
      case .hub: hubs.append([entry])
      case .epoch, .commit:
        if hubs.last?.first?.location.file != entry.location.file { hubs.append([]) }
        hubs[hubs.count - 1].append(entry)
      default: handle(entry, &tagOfFile)
      }
    }
    tieWrites()
    // Hubs follow each other in time, whatever the names of their files.
    for hub in hubs.sorted(by: { ($0.first?.time ?? 0) < ($1.first?.time ?? 0) }) { for entry in hub { enter(entry) } }
    figures.epochs = log.epochs.count
    checkAcknowledged()
    checkOrder()
    for tag in runs.keys.sorted() { checkShown(tag) }
    checkFinalValues()
    checkConverged()
    countWrites()
    findings.sort { ($0.location.file, $0.location.line) < ($1.location.file, $1.location.line) }
  }

  mutating func find(_ name: HistoryFinding.Name, _ location: HistoryLocation, _ text: String) {
    findings.append(HistoryFinding(name, location, text))
  }

  /// Handles a line of a peer.
  private mutating func handle(_ entry: HistoryEntry, _ tagOfFile: inout [String: String]) {
    let file = entry.location.file
    if case .peer(let tag, let name, let keepsOutbox) = entry.content {
      tagOfFile[file] = tag
      runs[tag] = Run(name: name, keepsOutbox: keepsOutbox)
      return
    }
    guard let tag = tagOfFile[file] else {
      return find(.malformed, entry.location, "before any 'peer' or 'hub' line")
    }
    runs[tag]?.entries.append(entry)
    switch entry.content {
    case .share(let model): runs[tag]?.shares.insert(model)
    case .submit(let content):
      writeIndex[WriteName(tag: tag, id: content.id)] = writes.count
      writes.append(Write(content: content, tag: tag, location: entry.location, submitted: entry.time))
      wordsWritten.formUnion(content.operations.filter { $0.verb == "text" }.compactMap(\.value.string))
    case .made(let id):
      guard let index = knownWrite(id, of: tag, at: entry.location) else { return }
      writes[index].isMade = true
    case .notMade(let id):
      guard let index = writeIndex[WriteName(tag: tag, id: id)] else { return }
      writes[index].outcome = HistoryOutcome(kind: "refused", epoch: 0, version: 0)
    case .outcome(let id, let outcome):
      guard let index = knownWrite(id, of: tag, at: entry.location) else { return }
      writes[index].outcome = outcome
      writes[index].outcomeAt = entry.time
      writes[index].outcomeIn = entry.location
    default: break
    }
  }

  /// The index of a write that a line names; nil, and a finding, if the run made none of that id.
  private mutating func knownWrite(_ id: Int, of tag: String, at location: HistoryLocation) -> Int? {
    let index = writeIndex[WriteName(tag: tag, id: id)]
    if index == nil { find(.malformed, location, "there is no write \(id)") }
    return index
  }

  private mutating func tieWrites() {
    for (index, write) in writes.enumerated() {
      writesOf[WriterName(tag: write.tag, model: write.content.model), default: []].append(index)
      guard write.isAcknowledged, let outcome = write.outcome else { continue }
      let name = CommitName(model: write.content.model, epoch: outcome.epoch, version: outcome.version)
      acknowledgedAt[name] = index
    }
  }

  private mutating func countWrites() {
    figures.writes = writes.count
    figures.commits = log.commitCount
    var times: [UInt64] = []
    for run in runs.values { figures.acknowledgedBy[run.name] = 0 }
    for write in writes {
      switch write.outcome?.kind {
      case "committed":
        figures.acknowledged += 1
        figures.acknowledgedBy[runs[write.tag]?.name ?? write.tag, default: 0] += 1
        times.append(write.outcomeAt)
      case "superseded", "unchanged": figures.superseded += 1
      case nil, "unknown": figures.unknown += 1
      default: figures.refused += 1
      }
    }
    times.sort()
    let last = writes.lazy.map(\.submitted).max() ?? 0
    for (earlier, later) in zip(times, times.dropFirst()) where earlier < last {
      figures.longestPause = max(figures.longestPause, later - earlier)
    }
  }
}

extension HistoryOutcome {
  /// Whether it denies a commit.
  var isNo: Bool { !["committed", "unknown"].contains(kind) }
}
