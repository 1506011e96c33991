/// A violated rule, described in a sentence.
package struct Violation: Error, CustomStringConvertible {
  /// What must hold at every moment of a history.
  package enum Rule: String, Sendable, CaseIterable {
    /// Versions are consecutive, and none is decided twice in an epoch (G1).
    case order
    /// A replica never goes back (G1).
    case neverBack = "monotonic versions"
    /// A replica at a version equals the model at that version (G1, G4, G7).
    case trueReplica = "replica consistency"
    /// The hub sends nothing that its store does not hold (R1, R2).
    case storedFirst = "stored before sent"
    /// No proposal takes effect twice (G3).
    case exactlyOnce = "exactly once"
    /// A peer's proposals are decided one by one, without gaps (R3).
    case dense = "gapless numbers"
    /// A write's outcome is true and reported once (G6).
    case oneOutcome = "one correct outcome"
    /// A rejected write leaves no trace, and every stored value was written by a peer (G6, R9).
    case noPhantom = "no phantom write"
    /// A write is superseded only by one that replaces all of it (R3).
    case coalescing
    /// Pending and acknowledged writes show until the committed values contain them, and no longer (G5).
    case readYourWrites = "read your writes"
    /// A compare-and-set is applied only to what its writer saw (§5).
    case comparison
    /// While its log is whole, the hub never forgets an outcome that its peer has not seen (R11).
    case outcomeKept = "outcome retained"
    /// An answered join is subscribed, and its last decided numbers are stored (R8, R13).
    case soundJoin = "consistent join"
    /// No answer of a shared store is older than its question (`SharedStore`).
    case freshAnswer = "answer as fresh as its question"
    /// Once losses have ended, all replicas equal the hub's, and nothing is pending (G4).
    case convergence
    /// The last lost message is found within three heartbeats (R7).
    case tail
    /// Only a silent session's lease expires (R16).
    case lease
    /// Nothing that a lost connection still brings ends the session of the next one (4.1-8).
    case fencing = "fenced by a later session only"
    /// A written value fits the description in force.
    case description
    /// A crashed program's outbox contains every write whose outcome the program had not received.
    case outboxWhole = "complete outbox"
    /// A chain of answers ends (R17).
    case hops
    /// The committed value contains the words, list elements and additions of all writers, each once (§5).
    case lossless = "lossless merge"
    /// A write is asked about at most once for each write of others to its field (§5).
    case boundedMerges = "bounded merge requests"
    /// Only the holder of an ephemeral field writes it (§9).
    case holder = "single writer of an ephemeral field"
    /// An ephemeral model contains what living sessions say, as long as they live (§9).
    case living = "presence of live sessions"
    /// Nothing is committed without the owner's approval, and nothing that it approved is refused in its name (§9.3).
    case approval = "owner's approval"
    /// A version that is reported as applied by others is applied (§5.3).
    case barrier
    /// A page of history says what was committed (§5.5).
    case past = "true history"
    /// Nothing of a model goes to a user who may not read it (§15.4).
    case readingRight = "right to read"
    /// Nobody changes a field without the right to it (§15.4).
    case writingRight = "right to write"
    /// An undo changes only what its peer wrote last, to what stood before; a redo restores it.
    case undo = "undo of own changes"
    /// A name writes no more than its limit, nobody else is held back by it, and what is held back is told so (§15.7).
    case limit = "limit of a name"
    /// A list has the elements that its writers gave it, in their order, and its head tells how many (§6.5).
    case listOrder = "order and members of a list"
    /// A peer knows the keys that its hub has and will have, and hears of no other session's (§15.8).
    case hubKeys = "the hub's keys"
    /// What is read as the latest is no older than what the upstream hub had when it was asked for (§16).
    case latest = "latest read at an edge"
    /// A value with a time limit holds for a full term, and not much longer (§8.1).
    case expiry = "time limit"
  }

  /// The rule that was violated.
  package let rule: Rule
  /// What happened, and when.
  package let sentence: String

  init(_ rule: Rule, _ sentence: String) {
    self.rule = rule
    self.sentence = sentence
  }

  /// The same violation with its moment.
  func at(_ time: UInt64) -> Violation { Violation(rule, "\(sentence) (at \(time) ms)") }

  /// The rule and the sentence.
  package var description: String { "\(rule.rawValue): \(sentence)" }
}
