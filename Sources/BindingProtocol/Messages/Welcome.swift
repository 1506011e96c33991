/// The hub's answer to an accepted hello (§4.2).
public struct Welcome: WireContent, Hashable {
  /// The receiving session.
  public var session: SessionID
  /// The protocol number that both sides use from now on.
  public var protocolNumber: UInt8
  /// The id of the hub's log.
  public var logID: LogID
  /// The epoch of the log.
  public var epoch: Epoch
  /// Whether the hub knew the identity.
  public var knewIdentity: Bool
  /// Whether the hub may ask for offers after a loss.
  public var mayAskOffers: Bool
  /// What an acknowledged commit survives.
  public var durability: Durability
  /// The interval of heartbeats.
  public var heartbeatMilliseconds: UInt32
  /// How long the hub keeps the session without a message from the peer.
  public var leaseMilliseconds: UInt32
  /// The hub's wall time, milliseconds since 1970.
  public var now: UInt64
  /// The hub's name.
  public var hub: String
  /// The hub's limits.
  public var limits: Limits
  /// Where the hub publishes.
  public var endpoints: [HubEndpoint]
  /// The hub's capabilities.
  public var capabilities: [String]

  /// Memberwise initialiser.
  public init(
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

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    protocolNumber = try reader.u8("protocol")
    logID = try reader.u64("logID")
    epoch = try reader.u64("epoch")
    let flags = try reader.bits("flags", known: 3)
    knewIdentity = flags & 1 != 0
    mayAskOffers = flags & 2 != 0
    durability = try reader.choice("durability", try reader.u8("durability"), "0 memory, 1 process, 2 disk")
    heartbeatMilliseconds = try reader.u32("heartbeatMs")
    leaseMilliseconds = try reader.u32("leaseMs")
    now = try reader.u64("now")
    hub = try reader.text8("hub")
    limits = try Limits(from: &reader)
    endpoints = try reader.elements(try reader.count8("ways", minimum: 4))
    capabilities = try reader.texts("capabilities")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u8(protocolNumber)
    writer.u64(logID)
    writer.u64(epoch)
    writer.u8((knewIdentity ? 1 : 0) | (mayAskOffers ? 2 : 0))
    writer.u8(durability.rawValue)
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
public enum Durability: UInt8, Sendable, CaseIterable {
  /// Nothing: it is in the hub's memory.
  case memory = 0
  /// The end of the hub's process.
  case process
  /// A power loss.
  case disk
}

/// Pairs one of the hub's request endpoints with its publish endpoint: `tcp:PORT` or `ipc:PATH`.
public struct HubEndpoint: WireContent, Hashable {
  /// The endpoint of the request connection.
  public var request: String
  /// The endpoint of the publish connection.
  public var publish: String

  /// Memberwise initialiser.
  public init(request: String, publish: String) {
    self.request = request
    self.publish = publish
  }

  public init(from reader: inout WireReader) throws(WireError) {
    request = try reader.text16("ways.request")
    publish = try reader.text16("ways.publish")
  }

  public func write(to writer: inout WireWriter) {
    writer.text16(request)
    writer.text16(publish)
  }
}
