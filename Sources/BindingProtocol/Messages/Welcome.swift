/// The hub's answer to an accepted hello (§4.2).
package struct Welcome: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The protocol number that both sides use from now on.
  package var protocolNumber: UInt8
  /// The id of the hub's log.
  package var logID: LogID
  /// The epoch of the log.
  package var epoch: Epoch
  /// Whether the hub knew the identity.
  package var knewIdentity: Bool
  /// Whether the hub may ask for offers after a loss.
  package var mayAskOffers: Bool
  /// What an acknowledged commit survives.
  package var durability: Durability
  /// The interval of heartbeats.
  package var heartbeatMilliseconds: UInt32
  /// How long the hub keeps the session without a message from the peer.
  package var leaseMilliseconds: UInt32
  /// The hub's wall time, milliseconds since 1970.
  package var now: UInt64
  /// The hub's name.
  package var hub: String
  /// The hub's limits.
  package var limits: Limits
  /// Where the hub publishes.
  package var endpoints: [HubEndpoint]
  /// The hub's capabilities.
  package var capabilities: [String]

  /// Whether the hub looks for replicas of any epoch.
  package var isRecovering: Bool { capabilities.contains(Capability.recovering) }

  package init(
    session: SessionID, protocolNumber: UInt8 = 0, logID: LogID, epoch: Epoch, knewIdentity: Bool = false,
    mayAskOffers: Bool = false, durability: Durability, heartbeatMilliseconds: UInt32, leaseMilliseconds: UInt32,
    now: UInt64, hub: String, limits: Limits = Limits(), endpoints: [HubEndpoint], capabilities: [String] = []
  ) {
    self.session = session
    self.protocolNumber = protocolNumber
    self.logID = logID
    self.epoch = epoch
    self.knewIdentity = knewIdentity
    self.mayAskOffers = mayAskOffers
    self.durability = durability
    self.heartbeatMilliseconds = heartbeatMilliseconds
    self.leaseMilliseconds = leaseMilliseconds
    self.now = now
    self.hub = hub
    self.limits = limits
    self.endpoints = endpoints
    self.capabilities = capabilities
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    protocolNumber = try reader.u8("protocol")
    logID = try reader.u64("logID")
    epoch = try reader.u64("epoch")
    let flags = try reader.bits("flags", known: 3)
    knewIdentity = flags & 1 != 0
    mayAskOffers = flags & 2 != 0
    let grades = "0 memory, 1 process, 2 disk"
    durability = try reader.choice("durability", try reader.u8("durability"), grades)
    guard durability <= .disk else {
      throw reader.error("durability", "is \(durability.rawValue); allowed are \(grades)")
    }
    heartbeatMilliseconds = try reader.u32("heartbeatMs")
    leaseMilliseconds = try reader.u32("leaseMs")
    now = try reader.u64("now")
    hub = try reader.text8("hub")
    limits = try Limits(from: &reader)
    endpoints = try reader.elements(try reader.count8("ways", minimum: 4))
    capabilities = try reader.texts("capabilities")
    if durability == .disk, capabilities.contains(Capability.replicated) { durability = .replicated }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u8(protocolNumber)
    writer.u64(logID)
    writer.u64(epoch)
    writer.u8((knewIdentity ? 1 : 0) | (mayAskOffers ? 2 : 0))
    writer.u8(min(durability.rawValue, Durability.disk.rawValue))
    writer.u32(heartbeatMilliseconds)
    writer.u32(leaseMilliseconds)
    writer.u64(now)
    writer.text8(hub)
    limits.write(to: &writer)
    writer.count8(endpoints.count)
    writer.elements(endpoints)
    writer.texts(capabilities)
  }
}

/// What an acknowledged commit survives.
public enum Durability: UInt8, Sendable, CaseIterable, Comparable {
  /// Nothing: it is in the hub's memory.
  case memory = 0
  /// The end of the hub's process.
  case process
  /// A power loss.
  case disk
  /// The loss of any minority of the nodes of a store that hubs share, and a power loss of all of them. On the wire it
  /// is `disk` with the capability `replicated`, which a peer that does not know it reads as `disk`.
  case replicated

  /// Rising: survives more.
  public static func < (left: Durability, right: Durability) -> Bool { left.rawValue < right.rawValue }
}

/// Pairs one of the hub's request endpoints with its publish endpoint: `tcp:PORT` or `ipc:PATH`.
public struct HubEndpoint: WireContent, Hashable {
  /// The endpoint of the request connection.
  public var request: String
  /// The endpoint of the publish connection.
  public var publish: String

  package init(request: String, publish: String) {
    self.request = request
    self.publish = publish
  }

  package init(from reader: inout WireReader) throws(WireError) {
    request = try reader.text16("ways.request")
    publish = try reader.text16("ways.publish")
  }

  package func write(to writer: inout WireWriter) {
    writer.text16(request)
    writer.text16(publish)
  }
}
