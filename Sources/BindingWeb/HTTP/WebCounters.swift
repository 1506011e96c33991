/// Why a connection, a request or a message was refused.
enum WebRefusal: CaseIterable {
  // Of connections.
  case tooManyConnections, tooManyStrangers, slowRequest, handshake, notByProxy
  // Of requests.
  case badRequest, headerTooLong, foreignHost, otherScheme, noToken, foreignOrigin, noHandshake, otherMethod, body
  case notFound, fileTooLong, hubSilent, notPermitted
  // Of pages.
  case tooManyPages, unmasked, badFrame, badFragment, binary, messageTooLong, notUTF8, flood, silence, backlog
}

/// The counters of the gateway's server since its start.
struct WebCounters {
  var connections: UInt64 = 0
  var requests: UInt64 = 0
  var sockets: UInt64 = 0
  var messagesIn: UInt64 = 0
  var messagesOut: UInt64 = 0
  var bytesIn: UInt64 = 0
  var bytesOut: UInt64 = 0
  /// How often a page's connection became full.
  var fullPages: UInt64 = 0
  /// Requests with forwarding headers that did not count, because no named proxy sent them.
  var ignoredForwards: UInt64 = 0
  private var refused: [WebRefusal: UInt64] = [:]

  mutating func count(_ refusal: WebRefusal) { refused[refusal, default: 0] += 1 }

  var list: [(name: String, value: UInt64)] {
    [
      ("connections", connections), ("requests", requests), ("sockets", sockets), ("messagesIn", messagesIn),
      ("messagesOut", messagesOut), ("bytesIn", bytesIn), ("bytesOut", bytesOut), ("fullPages", fullPages),
      ("ignoredForwards", ignoredForwards),
    ]
  }

  var refusals: [(name: String, value: UInt64)] { WebRefusal.allCases.map { ("\($0)", refused[$0] ?? 0) } }
}
