import BindingPeer

/// What is known of every write of a measurement. Writes are numbered from 0 on; a write's number is its value, and
/// numbers of one field differ by the number of fields.
///
/// A value in whose place a later one of its field came counts as there when that one is.
struct BenchLedger {
  let plan: BenchPlan
  /// How long after they were due writes were begun.
  private(set) var late = Latencies()
  private(set) var local = Latencies()
  private(set) var committed = Latencies()
  private(set) var seen = Latencies()
  /// Writes that this program has made.
  private(set) var written = 0
  /// Writes that were tried and could not be made, or ended in another way than by a commit.
  private(set) var failed = 0
  /// Writes that are neither committed nor failed.
  private(set) var open = 0
  /// Values that did not show themselves at a watching peer, because a later one came in the same turn or in its place.
  private(set) var coalesced = 0
  private(set) var firstProblem: String?
  /// By field: the number written last, and those that gave way to a later write that is not yet committed.
  private(set) var last: [Int?]
  private var replaced: [[Int]]
  /// By field: the number that was committed last.
  private var newest: [Int?]
  /// By field: the number that the writer's own observer heard last; by watching peer and field: what that one heard.
  private var ownShown: [Int?]
  private var shown: [[Int?]]
  /// Writes that have returned and were not yet heard of here, or the other way round, and since when.
  private var half: [Int: UInt64] = [:]
  /// The moment from which on dues count, in nanoseconds.
  private var beginning: UInt64 = 0
  /// When the peer that was cut off came back: from then on latencies count from here.
  private var comeback: UInt64?

  init(_ plan: BenchPlan) {
    self.plan = plan
    let none: [Int?] = Array(repeating: nil, count: plan.profile.fields)
    (last, ownShown, newest) = (none, none, none)
    replaced = Array(repeating: [], count: none.count)
    shown = Array(repeating: none, count: plan.peers)
  }

  mutating func begin(at now: UInt64) { beginning = now }
  mutating func comeBack(at now: UInt64) { comeback = now }

  func field(of number: Int) -> Int { number % last.count }
  static func name(ofField field: Int) -> String { "f\(field)" }
  static func field(named name: String) -> Int? { Int(name.dropFirst()) }

  // MARK: The writer

  mutating func begun(_ number: Int, at now: UInt64) {
    late.record(now - min(beginning + plan.due(number), now))
  }

  mutating func returned(_ number: Int, at now: UInt64) {
    written += 1
    open += 1
    last[field(of: number)] = number
    meet(number, at: now)
  }

  mutating func couldNot(_ why: String) {
    failed += 1
    firstProblem = firstProblem ?? why
  }

  mutating func shownHere(_ number: Int, at now: UInt64) {
    let field = field(of: number)
    for earlier in numbers(after: ownShown[field], through: number) { meet(earlier, at: now) }
    ownShown[field] = max(number, ownShown[field] ?? number)
  }

  private mutating func meet(_ number: Int, at now: UInt64) {
    guard let other = half.removeValue(forKey: number) else {
      half[number] = now
      return
    }
    let end = max(now, other)
    local.record(end - min(beginning + plan.due(number), end))
  }

  /// - Parameter isAway: the writer is cut off and will be closed: only that a write gave way to a later one counts.
  mutating func ended(_ number: Int, _ outcome: Outcome, isAway: Bool = false, at now: UInt64) {
    let field = field(of: number)
    switch outcome {
    case .committed, .unchanged:
      newest[field] = max(number, newest[field] ?? number)
      close(replaced[field].filter { $0 < number } + [number], at: now)
      replaced[field].removeAll { $0 < number }
    case .superseded:
      // Outcomes are heard in any order.
      if let newest = newest[field], newest > number {
        close([number], at: now)
      } else {
        replaced[field].append(number)
      }
    case .conflict, .refused, .expired, .unknown:
      if isAway { return }
      open -= 1
      couldNot(outcome.explanation(of: "write \(number)"))
    }
  }

  private mutating func close(_ numbers: [Int], at now: UInt64) {
    open -= numbers.count
    for number in numbers { committed.record(latency(of: number, at: now)) }
  }

  // MARK: The watching peers

  mutating func shown(_ number: Int, at now: UInt64, by peer: Int) {
    let field = field(of: number)
    let newNumbers = numbers(after: shown[peer][field], through: number)
    guard !newNumbers.isEmpty else { return }
    for earlier in newNumbers { seen.record(latency(of: earlier, at: now)) }
    coalesced += newNumbers.count - 1
    shown[peer][field] = number
  }

  /// Values that a watching peer has not shown, nor a later one, counted for each peer.
  var lost: Int {
    var count = 0
    for (field, last) in last.enumerated() {
      guard let last else { continue }
      for peer in shown { count += numbers(after: peer[field], through: last).count }
    }
    return count
  }

  /// The numbers of a field's writes in that range, without its lower end.
  private func numbers(after earlier: Int?, through number: Int) -> [Int] {
    let step = last.count
    return Array(stride(from: earlier.map { $0 + step } ?? number % step, through: number, by: step))
  }

  private func latency(of number: Int, at now: UInt64) -> UInt64 {
    let due = comeback ?? beginning + plan.due(number)
    return now > due ? now - due : 0
  }
}
