/// What has to hold at every moment of a history.
public enum Invariant: String, Sendable, CaseIterable {
  /// Versions follow each other, and none is decided twice in an epoch (G1).
  case order
  /// A replica never goes back (G1).
  case neverBack = "never back"
  /// A replica at a version is the model at that version (G1, G4, G7).
  case trueReplica = "true replica"
  /// Nothing leaves the hub that its store does not hold (R1, R2).
  case storedFirst = "stored first"
  /// No proposal takes effect twice (G3).
  case exactlyOnce = "exactly once"
  /// A peer's proposals are decided one by one, none left out (R3).
  case dense = "no number left out"
  /// A write's outcome is what became of it, told once (G6).
  case oneOutcome = "one true outcome"
  /// What was not carried out is not there, and nothing is there that nobody wrote (G6, R9).
  case noPhantom = "no phantom"
  /// A write is replaced only by one that replaces all of it (R3).
  case coalescing
  /// Pending and acknowledged writes show until the committed values hold them, and not a moment longer (G5).
  case readYourWrites = "read your writes"
  /// A compare-and-set is carried out only on what its writer saw (§5).
  case comparison
  /// The hub never forgets an outcome that its peer has not seen, as long as its log is whole (R11).
  case outcomeKept = "outcome kept"
  /// An answered join is subscribed, and its marks are stored (R8, R13).
  case soundJoin = "sound join"
  /// All replicas are the hub's when nothing is lost any more, and nothing waits (G4).
  case convergence
  /// The last lost message is found within three heartbeats (R7).
  case tail
  /// Only a silent session's lease runs out (R16).
  case lease
  /// What is written fits the description that it leaves.
  case description
  /// What a crashed program left in its outbox is all that it had not been told the end of.
  case outboxWhole = "outbox whole"
  /// A chain of answers ends (R17).
  case hops
  /// Words, list elements and additions of all who wrote are in what is committed, each once (§5).
  case lossless = "nothing merged away"
  /// A write is asked about no more often than others wrote to its field (§5).
  case boundedMerges = "bounded merges"
  /// An ephemeral field is written by who holds it, and by nobody else (§9).
  case holder = "one holder"
  /// An ephemeral line has what the living say, as long as they live (§9).
  case living = "with the living"
  /// Nothing is carried out that the model's owner did not allow, and nothing refused in its name that it did (§9.3).
  case leave = "the owner's leave"
  /// What is told as applied by others is (§5.3).
  case barrier = "applied where told"
}

/// An invariant that does not hold, in a sentence.
public struct Broken: Error, CustomStringConvertible {
  public let invariant: Invariant
  public let sentence: String

  init(_ invariant: Invariant, _ sentence: String) {
    self.invariant = invariant
    self.sentence = sentence
  }

  public var description: String { "\(invariant.rawValue): \(sentence)" }
}
