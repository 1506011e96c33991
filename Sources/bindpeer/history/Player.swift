import BindingHub
import BindingPeer
import BindingTerminal

/// Puts the steps of a recording into a hub, each when it is due.
struct Player {
  private let recording: Recording
  private let hub: Hub
  /// nil: as fast as possible.
  private let speed: Double?
  /// Whether each commit gets the version that it had.
  private let isExact: Bool
  private var next = 0
  private(set) var result = PlayResult()
  /// Models that are at other versions than recorded: another epoch began, whose versions had been used.
  private var shifted: Swift.Set<String> = []

  init(_ recording: Recording, into hub: Hub, speed: Double?, isExact: Bool) {
    self.recording = recording
    self.hub = hub
    self.speed = speed
    self.isExact = isExact
  }

  /// Plays at once what happened up to a time.
  mutating func playBeginning(until time: UInt64) async {
    while next < recording.steps.count, recording.steps[next].time <= time { await playNext() }
  }

  /// Plays the rest; `time` is now.
  mutating func play(from time: UInt64) async {
    let clock = ContinuousClock()
    let begin = clock.now
    while next < recording.steps.count {
      if let speed {
        let due = Double(recording.steps[next].time - time) / speed
        try? await clock.sleep(until: begin + .nanoseconds(Int64(min(due, 1e18))))
      }
      await playNext()
    }
    result.seconds = (clock.now - begin) / .seconds(1)
  }

  private mutating func playNext() async {
    let step = recording.steps[next]
    next += 1
    if let after = step.coalescedAfter, !step.commits.isEmpty {
      result.stretches.append("\(step.model): the commits after version \(after), up to \(step.version), are one state")
    }
    guard !step.commits.isEmpty else { return }
    let played = await hub.play(step.commits.map { ($0, isExact ? $0.version : nil) })
    result.commits += step.commits.count
    result.models.insert(step.model)
    // Who is present is not played, so an ephemeral model has another digest.
    guard isExact, !Names.isEphemeral(step.model), let digest = step.digest else { return }
    guard let last = played.heads.last else {
      result.differences.append("\(step.model): version \(step.version) could not be put in; the hub has ended")
      return
    }
    // A model without values is removed at once.
    let head = last ?? (step.commits.last?.version ?? 0, 0)
    if head.version != step.commits.last?.version {
      guard shifted.insert(step.model).inserted else { return }
      result.stretches.append(
        "\(step.model): version \(step.version) came after a higher one, in another epoch; no digests from there on")
    } else if head.digest != digest, !shifted.contains(step.model) {
      result.differences.append(
        "\(step.model): version \(step.version) has the digest \(hex(head.digest)), recorded is \(hex(digest))")
    }
  }

  private func hex(_ digest: UInt64) -> String { String(digest, radix: 16) }
}

/// What came of playing.
struct PlayResult {
  var commits = 0
  var models: Swift.Set<String> = []
  var seconds = 0.0
  /// What differs from the recording.
  var differences: [String] = []
  /// Where the recording is not commit by commit.
  var stretches: [String] = []

  private static let mostShown = 10

  /// Why a check failed; nil: all is equal.
  var failure: Failure? {
    if !differences.isEmpty {
      return Failure(.no, differences.count == 1 ? "It differs." : "\(differences.count) differences.")
    }
    return stretches.isEmpty ? nil : Failure(.no, "Not recorded commit by commit, so not checked there.")
  }

  func print(json: Bool, isChecked: Bool) {
    if json {
      var line = JSONLine()
      line.add("commits", .integer(Int64(commits)))
      line.add("models", .integer(Int64(models.count)))
      line.add("differences", .array(differences.map { .string($0) }))
      line.add("stretches", .array(stretches.map { .string($0) }))
      line.print()
      return
    }
    for (words, mark) in [(stretches, "!"), (differences, "differs:")] {
      for line in words.prefix(PlayResult.mostShown) { Terminal.complain("\(mark) \(line)") }
      if words.count > PlayResult.mostShown {
        Terminal.complain("\(mark) \(words.count - PlayResult.mostShown) more")
      }
    }
    let equal = isChecked && failure == nil ? ", all as recorded" : ""
    Terminal.print("\(counted(commits, models.count)) in \(seconds.shown) s\(equal)")
  }
}

/// Numbers of commits and models, in words.
func counted(_ commits: Int, _ models: Int) -> String {
  "\(commits) \(commits == 1 ? "commit" : "commits") of \(models) \(models == 1 ? "model" : "models")"
}

extension Double {
  /// With one digit after the point.
  fileprivate var shown: String {
    let tenths = (self * 10).rounded()
    return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
  }
}
