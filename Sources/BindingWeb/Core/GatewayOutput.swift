/// A page's connection, for as long as it lives; numbers are never used twice.
public struct PageID: Hashable, Sendable, Comparable {
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }

  public static func < (left: PageID, right: PageID) -> Bool { left.number < right.number }
}

/// What a gateway wants done. The caller carries it out in order and empties the output.
public struct GatewayOutput: Sendable {
  public var actions: [GatewayAction] = []

  public init() {}

  public mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

  mutating func add(_ action: GatewayAction) { actions.append(action) }
}

/// One thing that a gateway wants done.
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
  /// Close the page's connection, with that code and as much of the reason as a WebSocket can say; it is forgotten
  /// here.
  case end(PageID, code: UInt16, reason: String)
  /// Worth a log line; nothing needs to be done about it.
  case log(String)
  /// Close the hub connection for good.
  case close
}

/// What a gateway did and refused, counted since it was made.
public struct GatewayCounters: Sendable, Hashable {
  public var pagesArrived: UInt64 = 0
  public var pagesWelcomed: UInt64 = 0
  /// Texts from pages.
  public var textsReceived: UInt64 = 0
  /// Texts to pages.
  public var textsSent: UInt64 = 0
  public var proposals: UInt64 = 0
  public var catchups: UInt64 = 0
  /// Commits that pages got folded with others, because they read too slowly.
  public var coalescedCommits: UInt64 = 0
  /// Texts that are no message of the protocol; each ended its page's connection.
  public var malformedTexts: UInt64 = 0
  /// Pages that said no hello in time.
  public var silentPages: UInt64 = 0
  /// Joins past a limit.
  public var joinsRefused: UInt64 = 0
  /// Proposals for models that were not joined.
  public var notJoined: UInt64 = 0
  /// Pages that were ended because the hub was gone.
  public var hubLosses: UInt64 = 0

  public init() {}

  /// All of them by their names.
  public var list: [(name: String, value: UInt64)] {
    [
      ("pagesArrived", pagesArrived), ("pagesWelcomed", pagesWelcomed), ("textsReceived", textsReceived),
      ("textsSent", textsSent), ("proposals", proposals), ("catchups", catchups), ("commitsFolded", coalescedCommits),
      ("malformedTexts", malformedTexts), ("silentPages", silentPages), ("joinsRefused", joinsRefused),
      ("notJoined", notJoined), ("hubLosses", hubLosses),
    ]
  }
}

/// What a gateway is made with. Times are milliseconds.
public struct GatewayOptions: Sendable, Hashable {
  /// A page that has not said hello this long after it came is ended.
  public var helloMilliseconds: UInt64 = 5_000
  /// How long a model is still followed when the last page has left it.
  public var lingerMilliseconds: UInt64 = 10_000
  /// A join that the hub has not answered is said again after this long.
  public var joinMilliseconds: UInt64 = 3_000
  /// Models that all pages together may have joined: they share one subscription, and the hub has a limit for that.
  public var maxModels = 900
  /// Of those, how many only a page gets that has joined fewer than so many.
  public var reservedModels = 300
  public var reservedModelsPerPage = 32
  /// Models, and prefixes, that one page may have joined.
  public var maxModelsPerPage = 256
  public var maxPrefixesPerPage = 16
  /// Bytes of one message of a catch-up, about; and of those that are handed over at once.
  public var chunkBytes = 65_536

  public init() {}
}
