/// One model or prefix that a peer wants to read, and what it has of it (§5.1).
public struct Join: WireContent, Hashable {
  public enum Form: UInt8, Sendable {
    case model = 0
    case prefix
  }

  /// The peer's number for this question; the answers bear it.
  public var request: UInt32
  public var form: Form
  /// A model id or the name of an ephemeral line, or a prefix that ends in `/`, or the empty prefix.
  public var name: String
  /// What the peer has; 0, 0 is nothing.
  public var epoch: Epoch
  public var version: Version
  /// Of how many of the model's field ids it knows the names, in this start of the hub.
  public var namesKnown: UInt32
  /// The lowest of its proposal numbers in this model whose outcome it has not seen: 1 at first; 0 for a prefix.
  public var unacknowledged: ProposalNumber

  public init(
    request: UInt32, model: String, epoch: Epoch = 0, version: Version = 0, namesKnown: UInt32 = 0,
    unacknowledged: ProposalNumber = 1
  ) {
    self.request = request
    self.form = .model
    self.name = model
    self.epoch = epoch
    self.version = version
    self.namesKnown = namesKnown
    self.unacknowledged = unacknowledged
  }

  public init(request: UInt32, prefix: String) {
    self.init(request: request, model: prefix, unacknowledged: 0)
    form = .prefix
  }

  public init(from reader: inout WireReader) throws(WireError) {
    let (join, fault) = try Join.read(from: &reader)
    if let fault { throw fault }
    self = join
  }

  /// Reads a body of joins to its end. A wrong name is the fault of its join alone; any other is the whole frame's.
  public static func all(
    from reader: inout WireReader
  ) throws(WireError) -> [(join: Join, fault: WireError?)] {
    var joins: [(Join, WireError?)] = []
    for _ in 0..<(try reader.count16("joins", minimum: 30)) { joins.append(try read(from: &reader)) }
    try reader.end()
    return joins
  }

  private static func read(from reader: inout WireReader) throws(WireError) -> (Join, WireError?) {
    let request = try reader.u32("request")
    let form: Form = try reader.choice("form", try reader.u8("form"), "0 a model, 1 a prefix")
    let bytes = try reader.text8Bytes("name")
    var fault: WireError?
    do {
      switch form {
      case .model: try Names.checkAnyModel(bytes)
      case .prefix: try Names.checkPrefix(bytes)
      }
    } catch { fault = reader.relabelled(error, "name") }
    var join = Join(
      request: request, model: String(decoding: bytes, as: UTF8.self), epoch: try reader.u64("epoch"),
      version: try reader.u64("version"), namesKnown: try reader.u32("namesKnown"),
      unacknowledged: try reader.u32("unacknowledged"))
    join.form = form
    switch form {
    case .model where join.unacknowledged == 0: throw reader.error("unacknowledged", "is 0; numbers begin with 1")
    case .prefix where join.epoch != 0 || join.version != 0 || join.namesKnown != 0 || join.unacknowledged != 0:
      throw reader.error("form", "a prefix has epoch, version, namesKnown and unacknowledged 0")
    default: return (join, fault)
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u8(form.rawValue)
    writer.text8(name)
    writer.u64(epoch)
    writer.u64(version)
    writer.u32(namesKnown)
    writer.u32(unacknowledged)
  }
}

/// The hub's number for a model that a session asked to join (§5.1): the message `topic`.
public struct TopicAssigned: WireContent, Hashable {
  public var session: SessionID
  public var request: UInt32
  public var topic: Topic
  public var model: String

  public init(session: SessionID, request: UInt32, topic: Topic, model: String) {
    self.session = session
    self.request = request
    self.topic = topic
    self.model = model
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    model = try reader.anyModelID("model")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(topic)
    writer.text8(model)
  }
}

/// That a session has joined a model, and what will follow (§5.1).
public struct Joined: WireContent, Hashable {
  public enum Delivery: UInt8, Sendable {
    /// The model's messages come by the publish connection.
    case published = 0
    /// They come by the request connection.
    case routed
  }

  public enum Follows: UInt8, Sendable {
    /// The peer is current.
    case nothing = 0
    case delta
    case snapshot
  }

  public var session: SessionID
  public var request: UInt32
  public var topic: Topic
  public var epoch: Epoch
  public var version: Version
  public var digest: UInt64
  /// The highest of this identity's proposal numbers in this model that has been decided.
  public var lastDecided: ProposalNumber
  public var delivery: Delivery
  public var follows: Follows
  public var model: String

  public init(
    session: SessionID, request: UInt32, topic: Topic, epoch: Epoch, version: Version, digest: UInt64,
    lastDecided: ProposalNumber, delivery: Delivery, follows: Follows, model: String
  ) {
    self.session = session
    self.request = request
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.digest = digest
    self.lastDecided = lastDecided
    self.delivery = delivery
    self.follows = follows
    self.model = model
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
    lastDecided = try reader.u32("mark")
    delivery = try reader.choice("way", try reader.u8("way"), "0 published, 1 by the request connection")
    follows = try reader.choice("follows", try reader.u8("follows"), "0 nothing, 1 a delta, 2 a snapshot")
    model = try reader.anyModelID("model")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(digest)
    writer.u32(lastDecided)
    writer.u8(delivery.rawValue)
    writer.u8(follows.rawValue)
    writer.text8(model)
  }
}

/// Models that lie under a prefix which a session has joined (§5.1).
public struct Announce: WireContent, Hashable {
  public var session: SessionID
  public var request: UInt32
  /// All models that exist have been announced with this message.
  public var isComplete: Bool
  public var models: [AnnouncedModel]

  public init(session: SessionID, request: UInt32, isComplete: Bool, models: [AnnouncedModel]) {
    self.session = session
    self.request = request
    self.isComplete = isComplete
    self.models = models
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    isComplete = try reader.flag("complete")
    models = try reader.elements(try reader.count16("models", minimum: 18))
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.flag(isComplete)
    writer.count16(models.count)
    writer.elements(models)
  }
}

/// One model in an announcement.
public struct AnnouncedModel: WireContent, Hashable {
  public var model: String
  public var topic: Topic
  public var version: Version
  /// How many fields have a value.
  public var fields: UInt32

  public init(model: String, topic: Topic, version: Version, fields: UInt32) {
    self.model = model
    self.topic = topic
    self.version = version
    self.fields = fields
  }

  public init(from reader: inout WireReader) throws(WireError) {
    model = try reader.modelID("model")
    topic = try reader.modelTopic("topic")
    version = try reader.u64("version")
    fields = try reader.u32("fields")
  }

  public func write(to writer: inout WireWriter) {
    writer.text8(model)
    writer.u32(topic)
    writer.u64(version)
    writer.u32(fields)
  }
}
