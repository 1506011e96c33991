import BindingPeer
import BindingTerminal

/// The peer of a recording that is meant by a word.
struct RecordedPeer {
  private let word: String

  init(_ word: String) { self.word = word }

  func matches(_ origin: Origin) -> Bool {
    origin.tag != .none
      && (origin.name == word || origin.fullName == word || origin.user == word || origin.tag.description == word)
  }
}

/// What one peer wrote, field by field in its order, to be compared with what a program writes.
struct WriteComparison {
  /// One value that was written, or a deletion.
  struct Write {
    let field: String
    let value: FieldValue?
    /// Seconds since the beginning of the comparison.
    let time: Double
  }
  private let writes: [Write]
  /// Seconds; nil: the time does not matter.
  private let tolerance: Double?

  init(_ recording: Recording, of peer: RecordedPeer, after begin: UInt64, tolerance: Double?) {
    self.tolerance = tolerance
    writes = recording.steps.filter { $0.time > begin }.flatMap { step in
      step.commits.filter { peer.matches($0.origin) }.flatMap { commit in
        commit.changes.map { change in
          Write(
            field: "\(commit.model).\(change.field)", value: change.value,
            time: Double(step.time - begin) / 1_000_000_000)
        }
      }
    }
  }

  var isEmpty: Bool { writes.isEmpty }
  var count: Int { writes.count }

  /// What differs, the earliest first; of each field only the first difference.
  /// - Parameter speed: how many times as fast it was played; nil: times are not compared.
  func differences(from others: [Write], speed: Double?) -> [String] {
    let (mine, theirs) = (Dictionary(grouping: writes, by: \.field), Dictionary(grouping: others, by: \.field))
    var found: [(time: Double, words: String)] = []
    for field in Swift.Set(mine.keys).union(theirs.keys) {
      let (mine, theirs) = (mine[field] ?? [], theirs[field] ?? [])
      for index in 0..<max(mine.count, theirs.count) {
        let (recorded, written) = (mine.element(index), theirs.element(index))
        guard let words = difference(recorded, written, speed) else { continue }
        found.append((recorded?.time ?? written?.time ?? 0, "\(field): write \(index + 1) \(words)"))
        break
      }
    }
    return found.sorted { ($0.time, $0.words) < ($1.time, $1.words) }.map(\.words)
  }

  private func difference(_ recorded: Write?, _ written: Write?, _ speed: Double?) -> String? {
    guard let recorded else { return "is \(shown(written?.value)); nothing more was recorded" }
    guard let written else { return "is missing; recorded is \(shown(recorded.value)) at \(seconds(recorded.time))" }
    let isSame =
      switch (recorded.value, written.value) {
      case (let left?, let right?): left.isSame(as: right)
      case (nil, nil): true
      default: false
      }
    guard isSame else {
      return "is \(shown(written.value)); recorded is \(shown(recorded.value)) at \(seconds(recorded.time))"
    }
    guard let tolerance, let speed else { return nil }
    let time = written.time * speed
    guard abs(time - recorded.time) > tolerance else { return nil }
    return "came at \(seconds(time)); recorded is \(seconds(recorded.time)), and --tolerance is \(seconds(tolerance))"
  }

  private func shown(_ value: FieldValue?) -> String { value.map { Terminal.readable($0) } ?? "a deletion" }

  private func seconds(_ time: Double) -> String { "\((time * 1_000).rounded() / 1_000) s" }
}

extension Recording {
  /// The names of all writers, for a message.
  var writers: String {
    let names = Swift.Set(steps.lazy.flatMap(\.commits).filter { $0.origin.tag != .none }.map(\.origin.fullName))
    return names.isEmpty ? "no writers" : names.sorted().prefix(20).joined(separator: ", ")
  }
}

extension Array {
  fileprivate func element(_ index: Int) -> Element? { index < count ? self[index] : nil }
}
