import BindingProtocol

/// What a gateway knows of one page.
struct PageRecord: Sendable {
  enum Phase: Sendable {
    /// It has said nothing yet.
    case silent(since: UInt64)
    /// It has said hello, and there is no hub to pass that on to.
    case waiting
    /// The hub has its hello.
    case greeting
    case live
  }

  var phase: Phase
  var hello: Hello?
  var session: SessionID = 0
  var start: StartNumber = 0
  var joins: [String: Membership] = [:]
  var topics: [Topic: String] = [:]
  var prefixes: Set<String> = []
  /// When something was last said to the hub in its name.
  var lastSentAt: UInt64 = 0
  /// Its socket takes no more for now.
  var isFull = false
  /// What is still to be said of a long catch-up.
  var queue: [[UInt8]] = []

  var isLive: Bool { if case .live = phase { true } else { false } }
  /// It is told nothing new before it has read what was said.
  var isBusy: Bool { isFull || !queue.isEmpty }
}

/// A page in a model.
struct Membership: Sendable {
  enum Progress: Sendable {
    /// The gateway itself has not been caught up with, or the hub has not been asked for the page yet.
    case waiting
    case asked(request: UInt32, at: UInt64)
    /// The hub has answered: once the gateway has that version, the page can be caught up with.
    case answered(epoch: Epoch, version: Version)
    case current
  }

  var progress = Progress.waiting
  /// What the page has, after all that was said to it.
  var epoch: Epoch
  var version: Version
  /// Whether the page waits for an answer to its join.
  var owesAnswer = true
  var unacknowledged: ProposalNumber
  /// The highest of its numbers that is known to be decided.
  var lastDecided: ProposalNumber = 0
  var topic: Topic?

  var isCurrent: Bool { if case .current = progress { true } else { false } }
}

/// A model that the gateway follows, and the pages in it.
struct Room: Sendable {
  var pages: Set<PageID> = []
  /// When the last page left it; nil while there is one.
  var emptySince: UInt64?
  /// Below this version the gateway does not know what was deleted since: who is there gets a snapshot.
  var deltasFrom: Version = 0
}

/// A prefix that some page has joined, and what was announced below it.
struct Listing: Sendable {
  var pages: Set<PageID> = []
  var models: [String: Announced] = [:]
  var isComplete = false
}

struct Announced: Sendable {
  var id: String
  var version: Version
  var fields: Int
}
