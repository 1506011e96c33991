/// Asks another hub of the same log how many of its peers have applied a version (§17.5): the message `count`.
package struct CountApplied: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The asking hub's number for the question, repeated in the answers.
  package var request: UInt32
  /// The model's id.
  package var model: String
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version to have.
  package var version: Version
  /// Whether the sessions count that have joined the model when the question first arrives; else every one that has
  /// the version.
  package var isOfAll: Bool
  /// For so long after this message the receiver tells changes.
  package var timeoutMilliseconds: UInt32

  package init(
    session: SessionID, request: UInt32, model: String, epoch: Epoch, version: Version, isOfAll: Bool,
    timeoutMilliseconds: UInt32
  ) {
    self.session = session
    self.request = request
    self.model = model
    self.epoch = epoch
    self.version = version
    self.isOfAll = isOfAll
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    model = try reader.modelID("model")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    isOfAll = try reader.flag("all")
    timeoutMilliseconds = try reader.u32("withinMs")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.text8(model)
    writer.u64(epoch)
    writer.u64(version)
    writer.flag(isOfAll)
    writer.u32(timeoutMilliseconds)
  }
}

/// How many peers of a hub have applied a version (§17.5): the message `counted`.
package struct AppliedCount: WireContent, Hashable {
  /// The asking hub's number for the question.
  package var request: UInt32
  /// Sessions that have applied the version.
  package var applied: UInt32
  /// Sessions that count.
  package var of: UInt32
  /// The names of sessions that have not applied it, at most 255.
  package var missing: [String]

  package init(request: UInt32, applied: UInt32, of: UInt32, missing: [String] = []) {
    self.request = request
    self.applied = applied
    self.of = of
    self.missing = missing
  }

  package init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    applied = try reader.u32("applied")
    of = try reader.u32("of")
    missing = try reader.texts("missing")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u32(applied)
    writer.u32(of)
    writer.texts(missing)
  }
}
