/// The latest version of the model of the frame's topic (§5.2).
package struct Head: WireContent, Hashable {
  /// The epoch of the log.
  package var epoch: Epoch
  /// The latest version.
  package var version: Version
  /// The digest of the committed values at `version`.
  package var digest: UInt64

  package init(epoch: Epoch, version: Version, digest: UInt64) {
    self.epoch = epoch
    self.version = version
    self.digest = digest
  }

  package init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(digest)
  }
}

/// The hub's heartbeat (§5.2).
package struct Heartbeat: WireContent, Hashable {
  /// The epoch of the log.
  package var epoch: Epoch
  /// Counts up by one for each heartbeat of this run of the hub.
  package var number: UInt64
  /// The hub's wall time, milliseconds since 1970.
  package var now: UInt64

  package init(epoch: Epoch, number: UInt64, now: UInt64) {
    self.epoch = epoch
    self.number = number
    self.now = now
  }

  package init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    number = try reader.u64("number")
    now = try reader.u64("now")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(number)
    writer.u64(now)
  }
}

/// The heads of all models that a session has joined (§5.2): the message `heads`.
package struct HeadsAnswer: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The epoch of the log.
  package var epoch: Epoch
  /// The heads, one for each joined model.
  package var heads: [ModelHead]

  package init(session: SessionID, epoch: Epoch, heads: [ModelHead]) {
    self.session = session
    self.epoch = epoch
    self.heads = heads
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    epoch = try reader.u64("epoch")
    heads = try reader.elements(try reader.count32("heads", minimum: 20))
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u64(epoch)
    writer.count32(heads.count)
    writer.elements(heads)
  }
}

/// The head of one model.
package struct ModelHead: WireContent, Hashable {
  /// The model's topic.
  package var topic: Topic
  /// The version of the model.
  package var version: Version
  /// The digest of the committed values at `version`.
  package var digest: UInt64

  package init(topic: Topic, version: Version, digest: UInt64) {
    self.topic = topic
    self.version = version
    self.digest = digest
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u64(version)
    writer.u64(digest)
  }
}
