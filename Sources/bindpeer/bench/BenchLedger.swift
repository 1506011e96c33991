import BindingPeer

/// Records every write of a measurement. Writes are numbered from 0; a write's number is its value, and consecutive
/// numbers of one field differ by the number of fields.
///
/// A value that a later one of its field supersedes counts as arrived when the later one arrives.
struct BenchLedger {
  let plan: BenchPlan
  /// The delays between the times when writes were due and when they began.
  private(set) var late = Latencies()
  private(set) var local = Latencies()
  private(set) var committed = Latencies()
  private(set) var seen = Latencies()
  /// The number of writes made.
  private(set) var written = 0
  /// The number of writes that could not be made, or that ended without a commit.
  private(set) var failed = 0
  /// The number of writes that are neither committed nor failed.
  private(set) var open = 0
  /// The number of values that a watching peer did not show, because a later one arrived in the same turn or
  /// superseded it.
  private(set) var coalesced = 0
  private(set) var firstProblem: String?
  /// By field: the last written number, and the numbers superseded by a later write that is not yet committed.
  private(set) var last: [Int?]
  private var replaced: [[Int]]
  /// By field: the last committed number.
  private var newest: [Int?]
  /// By field, the number last shown by the writer's own observer; by watching peer and field, the number last
  /// shown there.
  private var ownShown: [Int?]
  private var shown: [[Int?]]
  /// Writes of which only one of two events has happened, the return of the call or the notification of the
  /// writer's own observer; with the time of that event.
  private var half: [Int: UInt64] = [:]
  /// The time of the beginning, in nanoseconds; due times are relative to it.
  private var beginning: UInt64 = 0
  /// When the disconnected writer reconnected: from then on latencies count from here.
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

  /// - Parameter isAway: whether the writer is disconnected and will be closed: then only superseded writes count.
  mutating func ended(_ number: Int, _ outcome: Outcome, isAway: Bool = false, at now: UInt64) {
    let field = field(of: number)
    switch outcome {
    case .committed, .unchanged:
      newest[field] = max(number, newest[field] ?? number)
      close(replaced[field].filter { $0 < number } + [number], at: now)
      replaced[field].removeAll { $0 < number }
    case .superseded:
      // Outcomes arrive in any order.
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

  /// The number of values that watching peers have not shown, nor a later one; the sum over all peers.
  var lost: Int {
    var count = 0
    for (field, last) in last.enumerated() {
      guard let last else { continue }
      for peer in shown { count += numbers(after: peer[field], through: last).count }
    }
    return count
  }

  /// The numbers of a field's writes in that range, without its lower bound.
  private func numbers(after earlier: Int?, through number: Int) -> [Int] {
    let step = last.count
    return Array(stride(from: earlier.map { $0 + step } ?? number % step, through: number, by: step))
  }

  private func latency(of number: Int, at now: UInt64) -> UInt64 {
    let due = comeback ?? beginning + plan.due(number)
    return now > due ? now - due : 0
  }
}
