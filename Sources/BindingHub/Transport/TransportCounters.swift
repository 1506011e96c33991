import BindingProtocol

/// What the sockets refused or lost, since the start.
struct TransportCounters {
  var rejectedMessages: UInt64 = 0
  var cutSubscribers: UInt64 = 0
  var slowConnections: UInt64 = 0
  /// How often a request connection fell behind: from then on it got no news until it had room.
  var laggingConnections: UInt64 = 0
  var unpublished: UInt64 = 0
  var refusedConnections: UInt64 = 0
  /// Connections that were ended in the middle of a message with too many parts, or too long ones.
  var cutMessages: UInt64 = 0

  /// As a JSON object; the names are pinned by a test.
  var json: JSON {
    .object([
      .init("rejectedMessages", .integer(Int64(clamping: rejectedMessages))),
      .init("cutSubscribers", .integer(Int64(clamping: cutSubscribers))),
      .init("slowConnections", .integer(Int64(clamping: slowConnections))),
      .init("behindConnections", .integer(Int64(clamping: laggingConnections))),
      .init("unpublished", .integer(Int64(clamping: unpublished))),
      .init("refusedConnections", .integer(Int64(clamping: refusedConnections))),
      .init("cutMessages", .integer(Int64(clamping: cutMessages))),
    ])
  }
}
