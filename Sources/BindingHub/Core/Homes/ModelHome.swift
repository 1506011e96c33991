import BindingProtocol

/// Where the proposals of a model are decided that arrive here: at this hub, or at the model's home among the hubs of
/// the log.
///
/// Hubs that write to one model at once keep losing against each other: of their appends one is first, the others are
/// decided again. Once that happens to a model here, its proposals are passed on to one hub, the same for all, which
/// decides them in one batch. The home is only a hint. What was decided shows in the log, and what the home leaves
/// undecided for a moment is decided here: the log gives each number once.
struct ModelHome {
  /// A proposal without an outcome that was passed on.
  struct PassedOn {
    let proposal: WaitingProposal
    let tag: Tag
    let number: ProposalNumber
    /// Why this hub does not let it be applied: it was passed on as void.
    let refusal: Refusal?
  }

  /// Which link leads to the home; nil: this hub decides.
  private(set) var link: Int?
  /// Whether the model's owner is there, so that no other hub may decide.
  private(set) var isOwners = false
  /// What was passed on, in order.
  private(set) var passed: [PassedOn] = []
  /// When the home counts as silent, on the monotonic clock.
  private(set) var answerBy = UInt64.max
  /// From then on no more is passed on, to see whether it is still needed.
  private var endsAt: UInt64 = 0
  /// Until then this hub decides, because the home has failed.
  private var aloneUntil: UInt64 = 0
  /// For how long it decides if the home fails next.
  private var aloneMilliseconds = ModelHome.leastAloneMilliseconds
  private var answerMilliseconds = ModelHome.answerMilliseconds
  private var losses = 0
  private var firstLossAt: UInt64 = 0

  /// The home has so long to decide something of what it was passed.
  static let answerMilliseconds: UInt64 = 300
  /// So long a home that has failed is passed nothing: it was silent, or it is not what another hub takes for the
  /// home. Each further time without a decision of it is twice as long. While hubs decide by themselves most of what
  /// they append is decided again, so the first time is short: what was slow for a moment is well after it.
  static let leastAloneMilliseconds: UInt64 = 500
  static let mostAloneMilliseconds: UInt64 = 8_000
  /// So long proposals are passed on.
  static let termMilliseconds: UInt64 = 10_000
  /// Batches that lose within this time are counted together.
  static let lossMilliseconds: UInt64 = 1_000

  /// A batch of this hub was not the first.
  /// - Parameter most: after so many within a second the home decides.
  /// - Returns: whether the model needs a home.
  mutating func lose(at now: UInt64, most: Int) -> Bool {
    if now >= firstLossAt + ModelHome.lossMilliseconds { (losses, firstLossAt) = (0, now) }
    losses += 1
    return losses >= most && link == nil && now >= aloneUntil
  }

  /// The home decides from now on.
  mutating func move(to link: Int, at now: UInt64) {
    (self.link, losses) = (link, 0)
    endsAt = now + ModelHome.termMilliseconds
  }

  /// The hub of the model's owner decides from now on.
  /// - Parameter milliseconds: how long the owner may take for an answer.
  mutating func move(to link: Int, ofOwner milliseconds: UInt64, at now: UInt64) {
    move(to: link, at: now)
    (isOwners, answerMilliseconds) = (true, milliseconds + ModelHome.answerMilliseconds)
  }

  /// Nothing more is passed on to this home: another hub is it now.
  mutating func endTerm(at now: UInt64) { endsAt = now }

  /// Whether nothing more is passed on.
  func isOver(at now: UInt64) -> Bool { now >= endsAt }

  mutating func pass(_ proposals: [PassedOn], at now: UInt64) {
    if passed.isEmpty { answerBy = now + answerMilliseconds }
    passed += proposals
  }

  /// - Parameter stored: the last stored number of a writer.
  /// - Returns: what is decided of that which was passed on.
  mutating func takeDecided(at now: UInt64, _ stored: (Tag) -> ProposalNumber) -> [PassedOn] {
    guard !passed.isEmpty else { return [] }
    var decided: [PassedOn] = []
    passed.removeAll { proposal in
      guard proposal.number <= stored(proposal.tag) else { return false }
      decided.append(proposal)
      return true
    }
    guard !decided.isEmpty else { return [] }
    answerBy = passed.isEmpty ? .max : now + answerMilliseconds
    aloneMilliseconds = ModelHome.leastAloneMilliseconds
    return decided
  }

  /// This hub decides again.
  /// - Returns: what was passed on and has no outcome.
  mutating func end(at now: UInt64) -> [WaitingProposal] {
    defer { passed.removeAll() }
    (link, answerBy, aloneUntil) = (nil, .max, now)
    (isOwners, answerMilliseconds) = (false, ModelHome.answerMilliseconds)
    return passed.map(\.proposal)
  }

  /// This hub decides again, for a while at least, because the home has failed.
  /// - Returns: what was passed on and has no outcome.
  mutating func fail(at now: UInt64) -> [WaitingProposal] {
    defer {
      aloneUntil = now + aloneMilliseconds
      aloneMilliseconds = min(aloneMilliseconds * 2, ModelHome.mostAloneMilliseconds)
    }
    return end(at: now)
  }
}
