import BindingProtocol

/// What a model remembers of one identity that wrote to it: how far its proposals are decided, and the outcomes
/// that it has not confirmed.
struct WriterRecord {
  /// Who it is, under the user of its latest session that wrote.
  var origin: Origin
  /// The highest decided number, and the highest stored one.
  var lastDecided: ProposalNumber = 0
  var lastStored: ProposalNumber = 0
  /// The highest number that a join of the identity has named as decided. While the store is busy or full it is beyond
  /// the other two; a later process of the identity, which need not know of it, is answered with it too.
  private(set) var claimed: ProposalNumber = 0
  /// The hub's wall time of its last commit; in a compacted log, the store's time of its last stored decision. 0:
  /// none.
  var decidedAt: UInt64 = 0
  /// The first number decided in this start of the hub, rather than raised or restored; 0: none.
  private(set) var firstDecided: ProposalNumber = 0
  /// The peer has seen all outcomes up to here.
  private(set) var confirmed: ProposalNumber = 0
  /// What records have told other hubs of that.
  private var toldConfirmed: ProposalNumber = 0
  /// The number of outcomes that it has not confirmed.
  private(set) var unconfirmedCount = 0
  /// Those outcomes, by rising number, from index `first` on.
  private var runs: [Run] = []
  private var first = 0

  /// Consecutive numbers with one outcome. Of commits, each number made the version after the one before.
  private struct Run {
    var number: ProposalNumber
    var count: UInt32
    var outcome: WireOutcome.Rest
    /// The version that `number` made; 0 if the outcome is no commit.
    var version: Version

    func contains(_ number: ProposalNumber) -> Bool { number >= self.number && number - self.number < count }
  }

  init(origin: Origin) { self.origin = origin }

  /// A join names this number as decided.
  mutating func claim(_ number: ProposalNumber) { claimed = max(claimed, number) }

  /// Whether every decision is stored, and the peer has confirmed every outcome.
  var isConfirmed: Bool { unconfirmedCount == 0 && lastDecided == lastStored }

  /// Records that numbers up to this one are decided, and the decisions stored.
  mutating func raise(to number: ProposalNumber) {
    lastStored = max(lastStored, number)
    lastDecided = max(lastDecided, lastStored)
    if unconfirmedCount > 2 * Int(ModelCompactor.outcomesKept) { dropOld() }
  }

  /// Decides this number, the next one. The last decided number never goes back.
  mutating func decide(_ number: ProposalNumber) {
    lastDecided = max(lastDecided, number)
    if firstDecided == 0 { firstDecided = number }
  }

  /// Whether this start of the hub decided the number itself, whatever another epoch of the log decided.
  func hasDecided(_ number: ProposalNumber) -> Bool {
    firstDecided > 0 && number >= firstDecided && number <= lastDecided
  }

  /// Records that the proposal of this number made a version.
  mutating func rememberCommit(_ number: ProposalNumber, _ version: Version) {
    guard number > confirmed else { return }
    if let last = runs.indices.last, last >= first, runs[last].version > 0 {
      let run = runs[last]
      if run.number &+ run.count == number, run.version &+ Version(run.count) == version {
        runs[last].count += 1
        unconfirmedCount += 1
        return
      }
    }
    remember(.committed(count: 1, version: version), of: number, version)
  }

  /// Records an outcome. A known one changes nothing: a reloaded model repeats them.
  mutating func remember(_ outcome: WireOutcome.Rest, of number: ProposalNumber) { remember(outcome, of: number, 0) }

  private mutating func remember(_ outcome: WireOutcome.Rest, of number: ProposalNumber, _ version: Version) {
    guard number > confirmed else { return }
    // Numbers rise, so only a number up to the last one can be known.
    if let last = runs.indices.last, last >= first, number - 1 < runs[last].number + (runs[last].count - 1),
      self.outcome(of: number) != nil
    {
      return
    }
    runs.append(Run(number: number, count: 1, outcome: outcome, version: version))
    unconfirmedCount += 1
  }

  mutating func confirm(_ number: ProposalNumber) {
    guard number > confirmed else { return }
    confirmed = number
    while first < runs.count, runs[first].number <= number {
      let seen = min(number - runs[first].number + 1, runs[first].count)
      unconfirmedCount -= Int(seen)
      if seen < runs[first].count {
        runs[first].number += seen
        runs[first].count -= seen
        if runs[first].version > 0 { runs[first].version += Version(seen) }
        break
      }
      first += 1
    }
    // Removed now and then, not at each confirmation.
    if first == runs.count {
      runs.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 256 {
      runs.removeFirst(first)
      first = 0
    }
  }

  /// What has been confirmed since the last call; nil: nothing.
  mutating func tellConfirmed() -> ProposalNumber? {
    guard confirmed > toldConfirmed else { return nil }
    toldConfirmed = confirmed
    return confirmed
  }

  /// Drops the outcomes of another hub's writer that nobody can ask for any more, because no hub decides a number so
  /// far beyond what is confirmed.
  private mutating func dropOld() { confirm(lastStored - min(lastStored, ModelCompactor.outcomesKept)) }

  func outcome(of number: ProposalNumber) -> WireOutcome.Rest? {
    guard let run = runs[first...].first(where: { $0.contains(number) }) else { return nil }
    guard run.version > 0 else { return run.outcome }
    return .committed(count: 1, version: run.version + Version(number - run.number))
  }

  /// The outcome of each number from `first` on; consecutive commits are one entry.
  func outcomes(from first: ProposalNumber) -> [(number: ProposalNumber, rest: WireOutcome.Rest)] {
    runs[self.first...].compactMap { run in
      guard run.number + (run.count - 1) >= first else { return nil }
      guard run.version > 0 else { return (run.number, run.outcome) }
      let skipped = max(run.number, first) - run.number
      return (
        run.number + skipped,
        .committed(count: UInt16(clamping: run.count - skipped), version: run.version + Version(skipped))
      )
    }
  }

  /// Restores the stored state of a writer.
  mutating func restore(
    lastStored: ProposalNumber, confirmed: ProposalNumber, decidedAt: UInt64, _ outcomes: [WireOutcome]
  ) {
    (self.lastStored, lastDecided) = (lastStored, lastStored)
    self.decidedAt = decidedAt
    self.confirmed = confirmed
    for outcome in outcomes {
      if case .committed(let count, let version) = outcome.rest {
        for offset in 0..<UInt32(count) { rememberCommit(outcome.number + offset, version + Version(offset)) }
      } else {
        remember(outcome.rest, of: outcome.number)
      }
    }
  }
}
