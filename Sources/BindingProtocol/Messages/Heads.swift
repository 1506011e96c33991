/// The latest version of the model of the frame's topic (§5.2).
public struct Head: WireContent, Hashable {
  /// The epoch of the log.
  public var epoch: Epoch
  /// The latest version.
  public var version: Version
  /// The digest of the committed values at `version`.
  public var digest: UInt64

  /// Memberwise initialiser.
  public init(epoch: Epoch, version: Version, digest: UInt64) {
    self.epoch = epoch
    self.version = version
    self.digest = digest
  }

  public init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(digest)
  }
}

/// The hub's heartbeat (§5.2).
public struct Heartbeat: WireContent, Hashable {
  /// The epoch of the log.
  public var epoch: Epoch
  /// Counts up by one for each heartbeat of this run of the hub.
  public var number: UInt64
  /// The hub's wall time, milliseconds since 1970.
  public var now: UInt64

  /// Memberwise initialiser.
  public init(epoch: Epoch, number: UInt64, now: UInt64) {
    self.epoch = epoch
    self.number = number
    self.now = now
  }

  public init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    number = try reader.u64("number")
    now = try reader.u64("now")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(number)
    writer.u64(now)
  }
}

/// The heads of all models that a session has joined (§5.2): the message `heads`.
public struct HeadsAnswer: WireContent, Hashable {
  /// The receiving session.
  public var session: SessionID
  /// The epoch of the log.
  public var epoch: Epoch
  /// The heads, one for each joined model.
  public var heads: [ModelHead]

  /// Memberwise initialiser.
  public init(session: SessionID, epoch: Epoch, heads: [ModelHead]) {
    self.session = session
    self.epoch = epoch
    self.heads = heads
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    epoch = try reader.u64("epoch")
    heads = try reader.elements(try reader.count32("heads", minimum: 20))
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u64(epoch)
    writer.count32(heads.count)
    writer.elements(heads)
  }
}

/// The head of one model.
public struct ModelHead: WireContent, Hashable {
  /// The model's topic.
  public var topic: Topic
  /// The version of the model.
  public var version: Version
  /// The digest of the committed values at `version`.
  public var digest: UInt64

  /// Memberwise initialiser.
  public init(topic: Topic, version: Version, digest: UInt64) {
    self.topic = topic
    self.version = version
    self.digest = digest
  }

  public init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u64(version)
    writer.u64(digest)
  }
}
