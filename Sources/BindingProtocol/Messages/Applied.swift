/// Waits until other peers have applied a version (§5.3): the message `await`.
package struct AwaitApplied: WireContent, Hashable {
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic
  /// The epoch of the log.
  package var epoch: Epoch
  /// The awaited version.
  package var version: Version
  /// How many sessions must have applied it; 0: all live sessions that have joined the model when this message
  /// arrives.
  package var count: UInt32
  /// The hub answers after this time at the latest.
  package var timeoutMilliseconds: UInt32

  package init(
    request: UInt32, topic: Topic, epoch: Epoch, version: Version, count: UInt32 = 0, timeoutMilliseconds: UInt32
  ) {
    self.request = request
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.count = count
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  package init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    count = try reader.u32("count")
    timeoutMilliseconds = try reader.u32("withinMs")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u32(count)
    writer.u32(timeoutMilliseconds)
  }
}

/// The result of waiting for other peers (§5.3).
package struct Awaited: WireContent, Hashable {
  /// How a wait ended.
  package enum End: UInt8, Sendable, CaseIterable {
    /// The timeout passed first.
    case incomplete = 0
    case complete
    /// The session, or the hub, already has the maximum number of waits.
    case tooMany
    /// The version belongs to another epoch.
    case otherEpoch
    /// The session has not joined the model, or has left it.
    case notJoined
  }

  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// Sessions that have applied the version.
  package var applied: UInt32
  /// Sessions that the hub waited for.
  package var of: UInt32
  /// How the wait ended.
  package var end: End
  /// The names of sessions that have not applied it, at most 255.
  package var missing: [String]

  package init(
    session: SessionID, request: UInt32, applied: UInt32 = 0, of: UInt32 = 0, end: End, missing: [String] = []
  ) {
    self.session = session
    self.request = request
    self.applied = applied
    self.of = of
    self.end = end
    self.missing = missing
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    applied = try reader.u32("applied")
    of = try reader.u32("of")
    end = try reader.choice("end", try reader.u8("end"), "0 to 4")
    missing = try reader.texts("missing")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(applied)
    writer.u32(of)
    writer.u8(end.rawValue)
    writer.texts(missing)
  }
}

/// Asks all sessions that have joined the model of the frame's topic to report when they have applied a version
/// (§5.3): the message `ask`.
package struct AskApplied: WireContent, Hashable {
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version to report.
  package var version: Version

  package init(epoch: Epoch, version: Version) {
    self.epoch = epoch
    self.version = version
  }

  package init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    _ = try reader.bits("flags", known: 0)
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(version)
    writer.u8(0)
  }
}

/// The state of a peer's replica of one model (§5.3): an entry of the message `report`.
package struct AppliedEntry: WireContent, Hashable {
  /// The model's topic.
  package var topic: Topic
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version of the replica.
  package var version: Version
  /// The digest of the committed values at that version.
  package var digest: UInt64
  /// How often in this session the peer's digest differed from the hub's and the peer reloaded the model.
  package var healed: UInt32

  package init(topic: Topic, epoch: Epoch, version: Version, digest: UInt64, healed: UInt32) {
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.digest = digest
    self.healed = healed
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    digest = try reader.u64("digest")
    healed = try reader.u32("healed")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(digest)
    writer.u32(healed)
  }

  /// The body of a `report`: at least one model.
  static func entries(from reader: inout WireReader) throws(WireError) -> [AppliedEntry] {
    let count = try reader.count16("models", minimum: 32)
    if count == 0 { throw reader.error("models", "is 0; a report needs at least one model") }
    return try reader.elements(count)
  }
}

/// Asks, without a session, whether the replicas of all peers equal the hub's (§4.4): the message `verify`.
package struct Verify: WireContent, Hashable {
  /// The hub answers after this time at the latest.
  package var timeoutMilliseconds: UInt32
  /// The last topic already answered; 0: none.
  package var after: Topic
  /// Model ids and prefixes; empty: all models.
  package var names: [String]

  package init(timeoutMilliseconds: UInt32, after: Topic = Topics.none, names: [String] = []) {
    self.timeoutMilliseconds = timeoutMilliseconds
    self.after = after
    self.names = names
  }

  package init(from reader: inout WireReader) throws(WireError) {
    timeoutMilliseconds = try reader.u32("withinMs")
    after = try reader.u32("after")
    names = try reader.texts("names")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(timeoutMilliseconds)
    writer.u32(after)
    writer.texts(names)
  }

  /// Whether the request covers a model.
  package func covers(_ model: String) -> Bool {
    names.isEmpty || names.contains { $0 == model || ($0.isEmpty || $0.hasSuffix("/")) && model.hasPrefix($0) }
  }
}
