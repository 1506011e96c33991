/// Waits until others have applied a version (§5.3): the message `await`.
public struct AwaitApplied: WireContent, Hashable {
  public var request: UInt32
  public var topic: Topic
  public var epoch: Epoch
  public var version: Version
  /// How many sessions have to have it; 0: all that have joined the model when this arrives, and live on.
  public var count: UInt32
  /// The hub answers at the latest after so long.
  public var timeoutMilliseconds: UInt32

  public init(
    request: UInt32, topic: Topic, epoch: Epoch, version: Version, count: UInt32 = 0, timeoutMilliseconds: UInt32
  ) {
    self.request = request
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.count = count
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  public init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    count = try reader.u32("count")
    timeoutMilliseconds = try reader.u32("withinMs")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u32(count)
    writer.u32(timeoutMilliseconds)
  }
}

/// How a wait for others has ended (§5.3).
public struct Awaited: WireContent, Hashable {
  public enum End: UInt8, Sendable, CaseIterable {
    /// The time was over before.
    case incomplete = 0
    case complete
    /// The session, or the hub, has as many waits as it may.
    case tooMany
    /// The version was of another epoch.
    case otherEpoch
    /// The session has not joined the model, or has left it.
    case notJoined
  }

  public var session: SessionID
  public var request: UInt32
  /// Sessions that have applied the version.
  public var applied: UInt32
  /// Sessions that were waited for.
  public var of: UInt32
  public var end: End
  /// The names of those that have not, as many as a list of 255 holds.
  public var missing: [String]

  public init(
    session: SessionID, request: UInt32, applied: UInt32 = 0, of: UInt32 = 0, end: End, missing: [String] = []
  ) {
    self.session = session
    self.request = request
    self.applied = applied
    self.of = of
    self.end = end
    self.missing = missing
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    applied = try reader.u32("applied")
    of = try reader.u32("of")
    end = try reader.choice("end", try reader.u8("end"), "0 to 4")
    missing = try reader.texts("missing")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(applied)
    writer.u32(of)
    writer.u8(end.rawValue)
    writer.texts(missing)
  }
}

/// Asks all who have joined the model whose topic the frame bears to say when they have a version (§5.3): the message
/// `ask`.
public struct AskApplied: WireContent, Hashable {
  public var epoch: Epoch
  public var version: Version

  public init(epoch: Epoch, version: Version) {
    self.epoch = epoch
    self.version = version
  }

  public init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    _ = try reader.bits("flags", known: 0)
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(version)
    writer.u8(0)
  }
}

/// What a peer has of one model (§5.3): an entry of the message `report`.
public struct AppliedEntry: WireContent, Hashable {
  public var topic: Topic
  public var epoch: Epoch
  public var version: Version
  /// Of the committed values at that version.
  public var digest: UInt64
  /// How often in this session the peer found another digest than the hub's, and took the model anew.
  public var healed: UInt32

  public init(topic: Topic, epoch: Epoch, version: Version, digest: UInt64, healed: UInt32) {
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.digest = digest
    self.healed = healed
  }

  public init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
    healed = try reader.u32("healed")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(digest)
    writer.u32(healed)
  }

  /// The body of a `report`: of at least one model.
  static func entries(from reader: inout WireReader) throws(WireError) -> [AppliedEntry] {
    let count = try reader.count16("models", minimum: 32)
    if count == 0 { throw reader.error("models", "a report is about one model at least") }
    return try reader.elements(count)
  }
}

/// Asks, without a session, whether the replicas of all peers equal the hub's (§4.4): the message `verify`.
public struct Verify: WireContent, Hashable {
  /// The hub answers at the latest after so long.
  public var timeoutMilliseconds: UInt32
  /// Models up to this topic have been answered for; 0: none.
  public var after: Topic
  /// Model ids and prefixes; none: all models.
  public var names: [String]

  public init(timeoutMilliseconds: UInt32, after: Topic = Topics.none, names: [String] = []) {
    self.timeoutMilliseconds = timeoutMilliseconds
    self.after = after
    self.names = names
  }

  public init(from reader: inout WireReader) throws(WireError) {
    timeoutMilliseconds = try reader.u32("withinMs")
    after = try reader.u32("after")
    names = try reader.texts("names")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(timeoutMilliseconds)
    writer.u32(after)
    writer.texts(names)
  }

  /// Whether it asks for this model.
  public func covers(_ model: String) -> Bool {
    names.isEmpty || names.contains { $0 == model || ($0.isEmpty || $0.hasSuffix("/")) && model.hasPrefix($0) }
  }
}
