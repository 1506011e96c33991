import BindingPeer

/// Records every write of a measurement. Writes are numbered from 0; a write's number is its value, and consecutive
/// numbers of one field differ by the number of fields.
///
/// A value that a later one of its field supersedes counts as arrived when the later one arrives.
struct BenchLedger {
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
  /// By field: the last written number.
  private(set) var last: [Int?]
  private var due: DueTimes
  private var outcomes: FieldOutcomes
  /// What the writer's own observer has shown, and what each watching peer has shown.
  private var ownShown: ShownNumbers
  private var shown: [ShownNumbers]
  /// Writes of which only one of two events has happened, the return of the call or the notification of the
  /// writer's own observer; with the time of that event.
  private var half: [Int: UInt64] = [:]

  init(_ plan: BenchPlan) {
    let fields = plan.profile.fields
    last = Array(repeating: nil, count: fields)
    due = DueTimes(plan: plan)
    outcomes = FieldOutcomes(fields: fields)
    ownShown = ShownNumbers(fields: fields)
    shown = Array(repeating: ownShown, count: plan.peers)
  }

  mutating func begin(at now: UInt64) { due.beginning = now }
  mutating func comeBack(at now: UInt64) { due.comeback = now }

  func field(of number: Int) -> Int { number % last.count }
  static func name(ofField field: Int) -> String { "f\(field)" }
  static func field(named name: String) -> Int? { Int(name.dropFirst()) }

  // MARK: The writer

  mutating func begun(_ number: Int, at now: UInt64) {
    late.record(due.delay(of: number, at: now))
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
    for number in ownShown.advance(field(of: number), to: number) { meet(number, at: now) }
  }

  private mutating func meet(_ number: Int, at now: UInt64) {
    guard let other = half.removeValue(forKey: number) else {
      half[number] = now
      return
    }
    local.record(due.delay(of: number, at: max(now, other)))
  }

  /// - Parameter isAway: whether the writer is disconnected and will be closed: then only superseded writes count.
  mutating func ended(_ number: Int, _ outcome: Outcome, isAway: Bool = false, at now: UInt64) {
    let field = field(of: number)
    switch outcome {
    case .committed, .unchanged:
      close(outcomes.commit(number, of: field), at: now)
    case .superseded:
      close(outcomes.supersede(number, of: field), at: now)
    case .conflict, .refused, .expired, .unknown:
      if isAway { return }
      open -= 1
      couldNot(outcome.explanation(of: "write \(number)"))
    }
  }

  private mutating func close(_ numbers: [Int], at now: UInt64) {
    open -= numbers.count
    for number in numbers { committed.record(due.latency(of: number, at: now)) }
  }

  // MARK: The watching peers

  mutating func shown(_ number: Int, at now: UInt64, by peer: Int) {
    let numbers = shown[peer].advance(field(of: number), to: number)
    for number in numbers { seen.record(due.latency(of: number, at: now)) }
    coalesced += max(0, numbers.count - 1)
  }

  /// The number of values that watching peers have not shown, nor a later one; the sum over all peers.
  var lost: Int {
    var count = 0
    for (field, last) in last.enumerated() {
      guard let last else { continue }
      for peer in shown { count += peer.missing(field, through: last).count }
    }
    return count
  }
}

/// When the writes of a plan were due.
private struct DueTimes {
  let plan: BenchPlan
  /// The time of the beginning, in nanoseconds; due times are relative to it.
  var beginning: UInt64 = 0
  /// When the disconnected writer reconnected: from then on latencies count from here.
  var comeback: UInt64?

  /// The time since the write was due.
  func delay(of number: Int, at now: UInt64) -> UInt64 { now - min(beginning + plan.due(number), now) }

  /// The time since the write was due, or since the reconnect.
  func latency(of number: Int, at now: UInt64) -> UInt64 {
    comeback.map { now - min($0, now) } ?? delay(of: number, at: now)
  }
}

/// Which writes of each field are committed, themselves or by a later write that superseded them.
private struct FieldOutcomes {
  /// By field: the last committed number.
  private var newest: [Int?]
  /// By field: the numbers superseded by a later write that is not yet committed.
  private var replaced: [[Int]]

  init(fields: Int) {
    newest = Array(repeating: nil, count: fields)
    replaced = Array(repeating: [], count: fields)
  }

  /// - Returns: the numbers that are committed now.
  mutating func commit(_ number: Int, of field: Int) -> [Int] {
    newest[field] = max(number, newest[field] ?? number)
    defer { replaced[field].removeAll { $0 < number } }
    return replaced[field].filter { $0 < number } + [number]
  }

  /// - Returns: the number if a later one is already committed; outcomes arrive in any order.
  mutating func supersede(_ number: Int, of field: Int) -> [Int] {
    if let newest = newest[field], newest > number { return [number] }
    replaced[field].append(number)
    return []
  }
}

/// The number of each field that an observer has shown last.
private struct ShownNumbers {
  private var last: [Int?]

  init(fields: Int) { last = Array(repeating: nil, count: fields) }

  /// The numbers of the field's writes after the shown one, through `number`.
  func missing(_ field: Int, through number: Int) -> [Int] {
    Array(stride(from: last[field].map { $0 + last.count } ?? field, through: number, by: last.count))
  }

  /// - Returns: the numbers that were missing through `number`.
  mutating func advance(_ field: Int, to number: Int) -> [Int] {
    let numbers = missing(field, through: number)
    last[field] = max(number, last[field] ?? number)
    return numbers
  }
}
