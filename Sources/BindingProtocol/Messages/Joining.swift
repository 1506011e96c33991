/// A model or prefix to join, with the state that the peer has (§5.1).
package struct Join: WireContent, Hashable {
  /// Whether the name is a model or a prefix.
  package enum Form: UInt8, Sendable {
    case model = 0
    case prefix
  }

  /// The peer's number for this request, repeated in the answers.
  package var request: UInt32
  /// Whether `name` is a model or a prefix.
  package var form: Form
  /// A model id, the name of an ephemeral model, a prefix that ends in `/`, or the empty prefix.
  package var name: String
  /// The epoch of the peer's replica; epoch 0 and version 0: none.
  package var epoch: Epoch
  /// The version of the peer's replica.
  package var version: Version
  /// How many of the model's field names the peer knows, in this run of the hub.
  package var namesKnown: UInt32
  /// The lowest of the peer's proposal numbers in this model whose outcome it has not seen: initially 1; 0 for a
  /// prefix.
  package var unacknowledged: ProposalNumber

  /// Makes a join of a model.
  package init(
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

  /// Makes a join of a prefix.
  package init(request: UInt32, prefix: String) {
    self.init(request: request, model: prefix, unacknowledged: 0)
    form = .prefix
  }

  package init(from reader: inout WireReader) throws(WireError) {
    let (join, fault) = try Join.read(from: &reader)
    if let fault { throw fault }
    self = join
  }

  /// Reads a body of joins to its end. An invalid name is a fault of its join alone; any other error rejects the
  /// whole frame.
  package static func all(
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

  package func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u8(form.rawValue)
    writer.text8(name)
    writer.u64(epoch)
    writer.u64(version)
    writer.u32(namesKnown)
    writer.u32(unacknowledged)
  }
}

/// The hub's number for a model that a session requested to join (§5.1): the message `topic`.
package struct TopicAssigned: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic
  /// The model's name.
  package var model: String

  package init(session: SessionID, request: UInt32, topic: Topic, model: String) {
    self.session = session
    self.request = request
    self.topic = topic
    self.model = model
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    model = try reader.anyModelID("model")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(topic)
    writer.text8(model)
  }
}

/// Confirms that a session has joined a model, and announces what follows (§5.1).
package struct Joined: WireContent, Hashable {
  /// The connection that carries the model's messages.
  package enum Delivery: UInt8, Sendable {
    /// The publish connection carries the model's messages.
    case published = 0
    /// The request connection carries them.
    case routed
  }

  /// What the hub sends next.
  package enum Follows: UInt8, Sendable {
    /// The peer is current.
    case nothing = 0
    case delta
    case snapshot
  }

  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic
  /// The epoch of the log.
  package var epoch: Epoch
  /// The hub's version of the model.
  package var version: Version
  /// The digest of the committed values at `version`.
  package var digest: UInt64
  /// The highest decided number of this identity's proposals in this model.
  package var lastDecided: ProposalNumber
  /// The connection that carries the model's messages.
  package var delivery: Delivery
  /// What the hub sends next.
  package var follows: Follows
  /// The model's name.
  package var model: String

  package init(
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

  package init(from reader: inout WireReader) throws(WireError) {
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

  package func write(to writer: inout WireWriter) {
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

/// The models under a prefix that a session has joined (§5.1).
package struct Announce: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// Whether all existing models have been announced with this message.
  package var isComplete: Bool
  /// The announced models.
  package var models: [AnnouncedModel]

  package init(session: SessionID, request: UInt32, isComplete: Bool, models: [AnnouncedModel]) {
    self.session = session
    self.request = request
    self.isComplete = isComplete
    self.models = models
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    isComplete = try reader.flag("complete")
    models = try reader.elements(try reader.count16("models", minimum: 18))
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.flag(isComplete)
    writer.count16(models.count)
    writer.elements(models)
  }
}

/// One model in an announcement.
package struct AnnouncedModel: WireContent, Hashable {
  /// The model's name.
  package var model: String
  /// The model's topic.
  package var topic: Topic
  /// The version of the model.
  package var version: Version
  /// The number of fields that have a value.
  package var fields: UInt32

  package init(model: String, topic: Topic, version: Version, fields: UInt32) {
    self.model = model
    self.topic = topic
    self.version = version
    self.fields = fields
  }

  package init(from reader: inout WireReader) throws(WireError) {
    model = try reader.modelID("model")
    topic = try reader.modelTopic("topic")
    version = try reader.u64("version")
    fields = try reader.u32("fields")
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(model)
    writer.u32(topic)
    writer.u64(version)
    writer.u32(fields)
  }
}
