import BindingProtocol

/// What the models of a session share: the identity and options under which they write, what is known of the hub, and
/// where they report.
struct SessionContext: Sendable {
  let identity: Identity
  let options: SessionOptions
  /// Whether this session speaks for an earlier run: it sends what that run left in its outbox, and nothing else.
  let isResumed: Bool
  /// Whether that run's tag is not derived from its secret, as in older releases: no hub accepts such a tag.
  var isDisowned = false
  /// The limits of the last welcome; before the first one those of the options.
  var limits: Limits
  /// The hub's log; nil before a hub was seen.
  var logID: LogID?
  /// The current epoch of that log; nil before a hub was seen.
  var epoch: Epoch?
  /// The tags of earlier runs of this program, whose writes other sessions send, or have sent.
  var previousTags: Swift.Set<Tag> = []
  var counters = SessionCounters()
  /// What the next hello names.
  var capabilities = Capability.all
  var journal: WriteJournal
  var outcomes = OutcomeQueue()
  /// Whether an outcome is recorded only once the replica that contains it is stored (`DeferredOutcomes`).
  let defersOutcomes: Bool
  /// A write that takes back a step got its final values, which may show something else.
  var hasFinalized = false

  init(identity: Identity, options: SessionOptions, isResumed: Bool, keepsOutbox: Bool, defersOutcomes: Bool = false) {
    self.defersOutcomes = defersOutcomes
    self.identity = identity
    self.options = options
    self.isResumed = isResumed
    limits = options.limits
    if options.readsLatest { capabilities.append(Capability.latest) }
    journal = WriteJournal(isKept: keepsOutbox)
  }

  /// Records in the journal what is known of the hub, and the outcomes that it lacks.
  mutating func recordHubAndOutcomes(_ effects: inout PeerEffects) {
    guard journal.isKept else { return }
    if let logID, let epoch { journal.record(log: logID, epoch: epoch, &effects) }
    outcomes.record(&effects)
  }
}
