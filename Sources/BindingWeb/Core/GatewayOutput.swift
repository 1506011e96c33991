/// Identifies one connection of a page; numbers are never reused.
package struct PageID: Hashable, Sendable, Comparable {
  /// The number of the connection.
  package let number: UInt64

  /// Makes an id of its number.
  package init(_ number: UInt64) { self.number = number }

  package static func < (left: PageID, right: PageID) -> Bool { left.number < right.number }
}

/// The actions that a gateway requests. The caller carries them out in order and empties the output.
package struct GatewayOutput: Sendable {
  /// The actions, in order.
  package var actions: [GatewayAction] = []

  /// Makes an empty output.
  package init() {}

  /// Removes all actions.
  package mutating func removeAll() { actions.removeAll(keepingCapacity: true) }

  mutating func add(_ action: GatewayAction) { actions.append(action) }
}

/// One action that a gateway requests.
package enum GatewayAction: Sendable {
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
  /// Let a browser in no longer, by its session among the members.
  case endBrowser(String)
  /// Write a log line; no other reaction is needed.
  case log(String)
  /// Close the hub connection permanently.
  case close
}

/// What a gateway did and refused, counted since it was made.
package struct GatewayCounters: Sendable, Hashable {
  /// Pages that connected.
  package var pagesArrived: UInt64 = 0
  /// Pages that the hub welcomed.
  package var pagesWelcomed: UInt64 = 0
  /// Texts from pages.
  package var textsReceived: UInt64 = 0
  /// Texts to pages.
  package var textsSent: UInt64 = 0
  /// Proposals of pages.
  package var proposals: UInt64 = 0
  /// Catch-ups sent to pages.
  package var catchups: UInt64 = 0
  /// Commits that pages received coalesced, because they read too slowly.
  package var coalescedCommits: UInt64 = 0
  /// Malformed texts; each ended its page's connection.
  package var malformedTexts: UInt64 = 0
  /// Pages that did not send a hello in time.
  package var silentPages: UInt64 = 0
  /// Joins past a limit.
  package var joinsRefused: UInt64 = 0
  /// Proposals for models that the page had not joined.
  package var notJoined: UInt64 = 0
  /// Pages that were disconnected because the hub connection was lost.
  package var hubLosses: UInt64 = 0

  /// Makes counters of zero.
  package init() {}

  /// All counters with their names.
  package var list: [(name: String, value: UInt64)] {
    [
      ("pagesArrived", pagesArrived), ("pagesWelcomed", pagesWelcomed), ("textsReceived", textsReceived),
      ("textsSent", textsSent), ("proposals", proposals), ("catchups", catchups), ("commitsFolded", coalescedCommits),
      ("malformedTexts", malformedTexts), ("silentPages", silentPages), ("joinsRefused", joinsRefused),
      ("notJoined", notJoined), ("hubLosses", hubLosses),
    ]
  }
}

/// The options of a gateway. Times are milliseconds.
package struct GatewayOptions: Sendable, Hashable {
  /// How long a page may take to send a hello before it is disconnected.
  package var helloMilliseconds: UInt64 = 5_000
  /// How long a model is followed after the last page has left it.
  package var lingerMilliseconds: UInt64 = 10_000
  /// How long the hub may take to answer a join before it is resent.
  package var joinMilliseconds: UInt64 = 3_000
  /// Models that all pages together may join: they share one session, and the hub limits the models of a session.
  package var maxModels = 900
  /// How many of those are reserved for pages that have joined fewer than `reservedModelsPerPage`.
  package var reservedModels = 300
  /// How many models a page may join before it can no longer use the reserved ones.
  package var reservedModelsPerPage = 32
  /// Models that one page may join.
  package var maxModelsPerPage = 256
  /// Prefixes that one page may join.
  package var maxPrefixesPerPage = 16
  /// The approximate size of one catch-up message, in bytes, and the unit of how much is sent without a pause.
  package var chunkBytes = 65_536

  /// Makes the default options.
  package init() {}
}
