import BindingPeer
import BindingTerminal
import Foundation

/// A history that was read from a file, as steps to play.
struct Recording {
  /// Commits to play together, and what is expected then.
  struct Step {
    /// The time since the first line, nanoseconds; 0 for the states before the first commit, with which it begins.
    let time: UInt64
    let model: String
    /// Each with the version that it had.
    let commits: [RecordedCommit]
    /// The version of the model after the step, and its digest; nil: the file does not say.
    let version: Version
    let digest: UInt64?
    /// Whether the hub had coalesced commits there, so that the step stands for several: after this version.
    let coalescedAfter: Version?
  }
  private(set) var steps: [Step] = []
  /// What is worth a warning.
  private(set) var warnings: [String] = []

  /// The tags of all writers.
  var tags: Swift.Set<Tag> { Swift.Set(steps.lazy.flatMap(\.commits).map(\.origin.tag)) }

  /// - Throws: `Failure` if the file cannot be read, or a line is not of the format.
  init(file: String) throws(Failure) {
    guard let data = FileManager.default.contents(atPath: file) else {
      throw Failure(.doesNotFit, "\(excerpt(file)) cannot be read. Name a file that bindpeer record made.")
    }
    try self.init([UInt8](data), file: file)
  }

  init(_ text: [UInt8], file: String) throws(Failure) {
    var builder = RecordingBuilder()
    var start = 0
    var number = 0
    while start < text.count {
      number += 1
      guard let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) else {
        warnings.append("\(excerpt(file)):\(number): the last line has no end, and is left out")
        break
      }
      let line = Array(text[start..<end])
      start = end + 1
      if line.isEmpty { continue }
      do throws(HistoryFormatError) {
        if let line = try HistoryLine(line), let step = builder.step(of: line) { steps.append(step) }
      } catch {
        throw Failure(.doesNotFit, "\(excerpt(file)):\(number): the line \(error.description).")
      }
    }
    if steps.isEmpty { throw Failure(.doesNotFit, "\(excerpt(file)) holds no commits.") }
  }

  /// Keeps what happened up to a time since the beginning.
  mutating func end(at time: UInt64) { steps.removeAll { $0.time > time } }

  /// Leaves out what a peer wrote, after a time since the beginning.
  mutating func leaveOut(after time: UInt64, _ isTheirs: (Origin) -> Bool) {
    steps = steps.map { step in
      guard step.time > time else { return step }
      return Step(
        time: step.time, model: step.model, commits: step.commits.filter { !isTheirs($0.origin) },
        version: step.version, digest: nil, coalescedAfter: step.coalescedAfter)
    }
  }
}

/// Makes steps of lines: what a state removes has to be known from the lines before it.
private struct RecordingBuilder {
  private struct Known {
    var epoch: Epoch
    var version: Version
    var fields: Swift.Set<String> = []

    mutating func take(_ commit: RecordedCommit) {
      (epoch, version) = (commit.epoch, commit.version)
      for change in commit.changes {
        if change.value == nil { fields.remove(change.field) } else { fields.insert(change.field) }
      }
    }
  }
  private var start: UInt64?
  private var hasCommit = false
  private var models: [String: Known] = [:]

  mutating func step(of line: HistoryLine) -> Recording.Step? {
    let begin = start ?? line.time
    start = begin
    if case .commit = line.content { hasCommit = true }
    let time = hasCommit ? line.time - min(begin, line.time) : 0
    switch line.content {
    case .recording: return nil
    case .commit(let commit, let digest):
      var known = models[commit.model] ?? Known(epoch: commit.epoch, version: commit.version - min(commit.version, 1))
      let isNext = known.epoch == commit.epoch && known.version + 1 == commit.version
      known.take(commit)
      let before = models.updateValue(known, forKey: commit.model)
      return Recording.Step(
        time: time, model: commit.model, commits: [commit], version: commit.version, digest: digest,
        coalescedAfter: isNext ? nil : before?.version)
    case .state(let state, let digest):
      let before = models[state.model]
      var known = before ?? Known(epoch: state.epoch, version: 0)
      var commits = state.commits
      let removed = state.previous == nil ? known.fields.subtracting(state.fields.lazy.map(\.name)) : []
      if !removed.isEmpty {
        // Nobody knows when, or who did it.
        let changes = removed.sorted().map { RecordedCommit.Change($0, nil) }
        if commits.isEmpty {
          commits = [
            RecordedCommit(
              model: state.model, epoch: state.epoch, version: state.version, origin: .none, changes: changes)
          ]
        } else {
          commits[0].changes += changes
        }
      }
      for commit in commits { known.take(commit) }
      (known.epoch, known.version) = (state.epoch, state.version)
      models[state.model] = known
      return Recording.Step(
        time: time, model: state.model, commits: commits, version: state.version, digest: digest,
        coalescedAfter: before.map(\.version))
    }
  }
}
