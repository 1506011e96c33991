import BindingWire

/// What a model remembers of one identity that wrote to it: how far its proposals are decided, and what became of
/// those it has not confirmed.
struct WriterRecord {
  let origin: Origin
  /// The highest number that was decided, and that was stored.
  var decidedMark: ProposalNumber = 0
  var storedMark: ProposalNumber = 0
  /// The peer has seen all outcomes up to here.
  var confirmed: ProposalNumber = 0
  /// The outcomes after `confirmed` that are known, by rising number.
  private(set) var outcomes: [(number: ProposalNumber, outcome: WireOutcome.Rest)] = []
  private var first = 0

  init(origin: Origin) { self.origin = origin }

  var unconfirmedCount: Int { outcomes.count - first }

  /// Takes an outcome in; one that is known already (a model that is loaded again repeats them) changes nothing.
  mutating func remember(_ outcome: WireOutcome.Rest, of number: ProposalNumber) {
    guard number > confirmed else { return }
    if let last = outcomes.last, last.number >= number, self.outcome(of: number) != nil { return }
    outcomes.append((number, outcome))
  }

  mutating func confirm(_ number: ProposalNumber) {
    guard number > confirmed else { return }
    confirmed = number
    while first < outcomes.count, outcomes[first].number <= number { first += 1 }
    // Moved together now and then, not at each confirmation.
    if first == outcomes.count {
      outcomes.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 256 {
      outcomes.removeFirst(first)
      first = 0
    }
  }

  func outcome(of number: ProposalNumber) -> WireOutcome.Rest? {
    outcomes[first...].first { $0.number == number }?.outcome
  }
}
