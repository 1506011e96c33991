import BindingProtocol

/// What the sockets refused or lost since the start.
struct TransportCounters {
  var rejectedMessages: UInt64 = 0
  var cutSubscribers: UInt64 = 0
  var slowConnections: UInt64 = 0
  /// How often a request connection became lagging; it then got no model updates until it was writable.
  var laggingConnections: UInt64 = 0
  var unpublished: UInt64 = 0
  var refusedConnections: UInt64 = 0
  /// Connections ended in the middle of a message with too many or too long parts.
  var cutMessages: UInt64 = 0
  /// Connections that the authenticator refused: unknown, revoked or missing keys.
  var refusedKeys: UInt64 = 0
  /// Connections ended before anybody was known: past a limit of their address, or silent.
  var limitedAddresses: UInt64 = 0

  /// The counts as a JSON object. A test pins the names.
  var json: JSON {
    .object([
      .init("rejectedMessages", .integer(Int64(clamping: rejectedMessages))),
      .init("cutSubscribers", .integer(Int64(clamping: cutSubscribers))),
      .init("slowConnections", .integer(Int64(clamping: slowConnections))),
      .init("behindConnections", .integer(Int64(clamping: laggingConnections))),
      .init("unpublished", .integer(Int64(clamping: unpublished))),
      .init("refusedConnections", .integer(Int64(clamping: refusedConnections))),
      .init("cutMessages", .integer(Int64(clamping: cutMessages))),
      .init("refusedKeys", .integer(Int64(clamping: refusedKeys))),
      .init("limitedAddresses", .integer(Int64(clamping: limitedAddresses))),
    ])
  }
}
