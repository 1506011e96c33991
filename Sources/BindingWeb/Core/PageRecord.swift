import BindingProtocol

/// The gateway's state of one page.
struct PageRecord: Sendable {
  enum Phase: Sendable {
    /// The page has not sent anything yet.
    case silent(since: UInt64)
    /// The page has sent a hello, and there is no hub to forward it to.
    case waiting
    /// The hello has been forwarded to the hub.
    case greeting
    case live
  }

  var phase: Phase
  /// For a member's page: what it may see. nil: everything.
  var view: MemberView?
  var hello: Hello?
  var session: SessionID = 0
  var start: StartNumber = 0
  var joins: [String: Membership] = [:]
  var topics: [Topic: String] = [:]
  var prefixes: Set<String> = []
  /// When a message was last sent to the hub for the page.
  var lastSentAt: UInt64 = 0
  /// Whether the socket is full.
  var isFull = false
  /// The unsent rest of a long catch-up.
  var queue: [[UInt8]] = []

  var isLive: Bool { if case .live = phase { true } else { false } }
  /// Whether new messages wait until the page has read the earlier ones.
  var isBusy: Bool { isFull || !queue.isEmpty }
}

/// The state of a page in a model that it has joined.
struct Membership: Sendable {
  enum Progress: Sendable {
    /// The gateway is not caught up itself, or has not forwarded the join yet.
    case waiting
    case asked(request: UInt32, at: UInt64)
    /// The hub has answered: once the gateway has this version, the page can be caught up.
    case answered(epoch: Epoch, version: Version)
    case current
  }

  var progress = Progress.waiting
  /// The epoch of the page's replica, after everything sent to it.
  var epoch: Epoch
  var version: Version
  /// Whether the page waits for an answer to its join.
  var owesAnswer = true
  var unacknowledged: ProposalNumber
  /// The page's highest number that is known to be decided.
  var lastDecided: ProposalNumber = 0
  var topic: Topic?
  /// Whether the hub has let the page's session join. A page that speaks for a member is sent nothing before.
  var isGranted = false

  var isCurrent: Bool { if case .current = progress { true } else { false } }
}

/// A model that the gateway follows, and the pages that have joined it.
struct Room: Sendable {
  var pages: Set<PageID> = []
  /// When the last page left; nil while there is one.
  var emptySince: UInt64?
  /// Below this version the gateway does not know which fields were deleted: pages below it get a snapshot.
  var deltasFrom: Version = 0
}

/// A prefix that some page has joined, and the models announced under it.
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
