import BindingHub
import BindingProtocol

/// Checks on each batch as it enters.
extension LogOracle {
  /// R3: the numbers of a writer are dense; only a join raises them.
  func checkDense(_ decisions: [Decision], _ group: CommitGroup?, _ model: Int) throws(Violation) {
    var numbers: [(tag: Tag, number: ProposalNumber, isRaise: Bool)] = []
    numbers.reserveCapacity(decisions.count + (group?.commits.count ?? 0))
    for decision in decisions where decision.form == .decided {
      numbers.append((decision.origin.tag, decision.number, decision.outcome == nil))
    }
    for commit in group?.commits ?? [] {
      guard let tag = group?.origins[Int(commit.origin)].tag, commit.number > 0 else { continue }
      numbers.append((tag, commit.number, false))
    }
    numbers.sort { $0.tag == $1.tag ? $0.number < $1.number : $0.tag.rawValue < $1.tag.rawValue }
    var (tag, lastDecided) = (Tag.none, ProposalNumber(0))
    for entry in numbers {
      if entry.tag != tag { (tag, lastDecided) = (entry.tag, self.lastDecided(of: entry.tag, in: model)) }
      if !entry.isRaise, entry.number <= lastDecided {
        throw Violation(.exactlyOnce, "proposal \(entry.number) of \(tag.short) was decided again")
      }
      if !entry.isRaise, entry.number != lastDecided + 1 {
        throw Violation(.dense, "proposal \(entry.number) of \(tag.short) was decided after \(lastDecided)")
      }
      lastDecided = max(lastDecided, entry.number)
    }
  }

  /// Checks what a proposal made of a field, given the field's former value.
  func check(_ value: FieldValue?, in field: Int, after former: FieldValue?, at point: Point) throws(Violation) {
    switch field {
    case SimulatedField.sum: try checkSum(value, after: former, at: point)
    case SimulatedField.description: try checkDescription(value, after: former, at: point)
    case SimulatedField.alias:
      throw Violation(
        .description, "version \(point.version) of \(title(point)) stored \(describe(value)) under an alias")
    case SimulatedField.text, SimulatedField.union, SimulatedField.list:
      try checkGathered(value, in: field, after: former, at: point)
    default:
      if value == LogOracle.ofImpostor {
        throw Violation(.noPhantom, "version \(point.version) of \(title(point)) was written by an impostor")
      }
    }
  }

  /// The value that impostors write.
  static let ofImpostor = FieldValue(bytes: Array("\"impostor\"".utf8))

  /// Only 1 is ever added, and the sum fits the description that the model has at that moment.
  private func checkSum(_ value: FieldValue?, after former: FieldValue?, at point: Point) throws(Violation) {
    let sum = LogOracle.number(value)
    guard let sum, sum == (LogOracle.number(former) ?? 0) + 1 else {
      throw Violation(
        .lossless,
        "version \(point.version) of \(title(point)) made \(describe(value)) of \(describe(former)) by adding 1")
    }
    let description = head(of: point.model)[SimulatedField.description]
    if let most = try? description?.json["fields"]?["n"]?["max"]?.int64, sum > most {
      throw Violation(
        .description, "version \(point.version) of \(title(point)) wrote \(sum) where \(most) is the most")
    }
  }

  /// No writer removes a word or number: each occurs once and stays.
  private func checkGathered(
    _ value: FieldValue?, in field: Int, after former: FieldValue?, at point: Point
  ) throws(Violation) {
    let elements = SimulatedField.elements(of: value)
    let known = Swift.Set(elements)
    if known.count < elements.count, !claims.mayRepeatWords {
      throw Violation(.lossless, "version \(point.version) of \(title(point)) has something twice: \(describe(value))")
    }
    for element in SimulatedField.elements(of: former) where !known.contains(element) {
      throw Violation(
        .lossless,
        "version \(point.version) of \(title(point)) lost \(element) of \(describe(former)): \(describe(value))")
    }
  }

  static func number(_ value: FieldValue?) -> Int64? { (try? value?.json)?.int64 }

  func title(_ point: Point) -> String { modelNames[point.model] }
}
