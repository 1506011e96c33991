/// Identifies one connection of a page; numbers are never reused.
public struct PageID: Hashable, Sendable, Comparable {
  /// The number of the connection.
  public let number: UInt64

  /// Makes an id of its number.
  public init(_ number: UInt64) { self.number = number }

  public static func < (left: PageID, right: PageID) -> Bool { left.number < right.number }
}

/// The actions that a gateway requests. The caller carries them out in order and empties the output.
public struct GatewayOutput: Sendable {
  /// The actions, in order.
  public var actions: [GatewayAction] = []

  /// Makes an empty output.
  public init() {}

  /// Removes all actions.
  public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

  mutating func add(_ action: GatewayAction) { actions.append(action) }
}

/// One action that a gateway requests.
public enum GatewayAction: Sendable {
  /// Close the hub connection if there is one, open a new one after the pause, then call `opened`.
  case open(afterMilliseconds: UInt64)
  /// Send the frame to the hub.
  case send([UInt8])
  /// Subscribe to a topic on the hub connection.
  case subscribe([UInt8])
  case unsubscribe([UInt8])
  /// Send the page one text message.
  case sendText(PageID, [UInt8])
  /// Close the page's connection, with this code and as much of the reason as a WebSocket close frame holds. The
  /// gateway has forgotten the page.
  case end(PageID, code: UInt16, reason: String)
  /// Write a log line; no other reaction is needed.
  case log(String)
  /// Close the hub connection permanently.
  case close
}

/// What a gateway did and refused, counted since it was made.
public struct GatewayCounters: Sendable, Hashable {
  /// Pages that connected.
  public var pagesArrived: UInt64 = 0
  /// Pages that the hub welcomed.
  public var pagesWelcomed: UInt64 = 0
  /// Texts from pages.
  public var textsReceived: UInt64 = 0
  /// Texts to pages.
  public var textsSent: UInt64 = 0
  /// Proposals of pages.
  public var proposals: UInt64 = 0
  /// Catch-ups sent to pages.
  public var catchups: UInt64 = 0
  /// Commits that pages received coalesced, because they read too slowly.
  public var coalescedCommits: UInt64 = 0
  /// Malformed texts; each ended its page's connection.
  public var malformedTexts: UInt64 = 0
  /// Pages that did not send a hello in time.
  public var silentPages: UInt64 = 0
  /// Joins past a limit.
  public var joinsRefused: UInt64 = 0
  /// Proposals for models that the page had not joined.
  public var notJoined: UInt64 = 0
  /// Pages that were disconnected because the hub connection was lost.
  public var hubLosses: UInt64 = 0

  /// Makes counters of zero.
  public init() {}

  /// All counters with their names.
  public var list: [(name: String, value: UInt64)] {
    [
      ("pagesArrived", pagesArrived), ("pagesWelcomed", pagesWelcomed), ("textsReceived", textsReceived),
      ("textsSent", textsSent), ("proposals", proposals), ("catchups", catchups), ("commitsFolded", coalescedCommits),
      ("malformedTexts", malformedTexts), ("silentPages", silentPages), ("joinsRefused", joinsRefused),
      ("notJoined", notJoined), ("hubLosses", hubLosses),
    ]
  }
}

/// The options of a gateway. Times are milliseconds.
public struct GatewayOptions: Sendable, Hashable {
  /// How long a page may take to send a hello before it is disconnected.
  public var helloMilliseconds: UInt64 = 5_000
  /// How long a model is followed after the last page has left it.
  public var lingerMilliseconds: UInt64 = 10_000
  /// How long the hub may take to answer a join before it is resent.
  public var joinMilliseconds: UInt64 = 3_000
  /// Models that all pages together may join: they share one session, and the hub limits the models of a session.
  public var maxModels = 900
  /// How many of those are reserved for pages that have joined fewer than `reservedModelsPerPage`.
  public var reservedModels = 300
  /// How many models a page may join before it can no longer use the reserved ones.
  public var reservedModelsPerPage = 32
  /// Models that one page may join.
  public var maxModelsPerPage = 256
  /// Prefixes that one page may join.
  public var maxPrefixesPerPage = 16
  /// The approximate size of one catch-up message, in bytes, and the unit of how much is sent without a pause.
  public var chunkBytes = 65_536

  /// Makes the default options.
  public init() {}
}
