import BindingProtocol

/// One record of an outbox file: an event of one run (docs/reference/outbox-format.md).
struct OutboxRecord: Sendable, Equatable {
  enum Content: Sendable, Equatable {
    case began(Identity)
    case entry(JournalEntry)
    /// The highest number used in a model, where no remaining write shows it.
    case counted(model: String, last: ProposalNumber)
    /// All writes are decided and reported: the identity is no longer used.
    case left
    /// What has changed in a model's replica.
    case replica(ReplicaRecord)
    /// A replica is no longer kept.
    case dropped(log: LogID, model: String)
    /// All before this offset was on the disk when the record was written.
    case synced(offset: UInt64)
  }
  var run: UInt32
  var content: Content

  private enum Kind: UInt8 {
    case began = 1
    case welcomed
    case written
    case numbered
    case withdrawn
    case decided
    case counted
    case left
    case replica
    case dropped
    case synced
    case undo = 32
  }

  /// The first format that has such records.
  var format: UInt32 {
    switch content {
    case .replica, .dropped, .synced: 2
    case .began, .entry, .counted, .left: 1
    }
  }

  private var kind: Kind {
    switch content {
    case .began: .began
    case .entry(.welcomed): .welcomed
    case .entry(.written): .written
    case .entry(.numbered): .numbered
    case .entry(.withdrawn): .withdrawn
    case .entry(.decided): .decided
    case .entry(.undo): .undo
    case .counted, .entry(.counted): .counted
    case .left: .left
    case .replica: .replica
    case .dropped: .dropped
    case .synced: .synced
    }
  }
}

extension OutboxRecord: WireContent {
  init(from reader: inout WireReader) throws(WireError) {
    let kind = try reader.u8("kind")
    run = try reader.u32("run")
    switch Kind(rawValue: kind) {
    case .began:
      let tag = Tag(rawValue: try reader.u64("tag"))
      let secret = Secret(high: try reader.u64("secret"), low: try reader.u64("secret"))
      content = .began(Identity(tag: tag, secret: secret, name: Names.fittingPeer(try reader.text8("name"))))
    case .welcomed: content = .entry(.welcomed(log: try reader.u64("log"), epoch: try reader.u64("epoch")))
    case .written: content = .entry(.written(try KeptWrite(from: &reader)))
    case .numbered:
      let id = WriteID(rawValue: try reader.u64("write"))
      let number = try reader.u32("number")
      let count = try reader.count8("conditions", minimum: 17)
      content = .entry(.numbered(id, number, conditions: try reader.elements(count)))
    case .withdrawn: content = .entry(.withdrawn(WriteID(rawValue: try reader.u64("write"))))
    case .decided:
      let id = WriteID(rawValue: try reader.u64("write"))
      guard let how = JournalEntry.Decided(rawValue: try reader.u8("outcome")) else {
        throw reader.error("outcome", "must be 1 to 7")
      }
      content = .entry(.decided(id, how))
    case .counted: content = .counted(model: try reader.text8("model"), last: try reader.u32("number"))
    case .left: content = .left
    case .replica: content = .replica(try ReplicaRecord(from: &reader))
    case .dropped: content = .dropped(log: try reader.u64("log"), model: try reader.text8("model"))
    case .synced: content = .synced(offset: try reader.u64("offset"))
    case .undo:
      let (model, step) = (try reader.text8("model"), try reader.u64("step"))
      let payload = Array(try reader.bytes(reader.remaining, "payload"))
      content = .entry(.undo(model: model, step: step, payload: payload))
    case nil: throw reader.error("kind", "is \(kind), must be 1 to 11, or 32")
    }
    try reader.end()
  }

  func write(to writer: inout WireWriter) {
    writer.u8(kind.rawValue)
    writer.u32(run)
    switch content {
    case .began(let identity):
      writer.u64(identity.tag.rawValue)
      writer.u64(identity.secret.high)
      writer.u64(identity.secret.low)
      writer.text8(identity.name)
    case .entry(.welcomed(let log, let epoch)):
      writer.u64(log)
      writer.u64(epoch)
    case .entry(.written(let write)): write.write(to: &writer)
    case .entry(.numbered(let id, let number, let conditions)):
      writer.u64(id.rawValue)
      writer.u32(number)
      writer.count8(conditions.count)
      writer.elements(conditions)
    case .entry(.withdrawn(let id)): writer.u64(id.rawValue)
    case .entry(.undo(let model, let step, let payload)):
      writer.text8(model)
      writer.u64(step)
      writer.raw(payload)
    case .entry(.decided(let id, let how)):
      writer.u64(id.rawValue)
      writer.u8(how.rawValue)
    case .counted(let model, let last), .entry(.counted(let model, let last)):
      writer.text8(model)
      writer.u32(last)
    case .replica(let record): record.write(to: &writer)
    case .dropped(let log, let model):
      writer.u64(log)
      writer.text8(model)
    case .synced(let offset): writer.u64(offset)
    case .left: break
    }
  }
}

extension KeptWrite: WireContent {
  package init(from reader: inout WireReader) throws(WireError) {
    id = WriteID(rawValue: try reader.u64("write"))
    time = try reader.u64("time")
    model = try reader.text8("model")
    proposal = Proposal(operations: [], hops: try reader.u8("hops"))
    proposal.metadata = try reader.elements(try reader.count8("metadata", minimum: 3))
    proposal.conditions = try reader.elements(try reader.count8("conditions", minimum: 17))
    for _ in 0..<(try reader.count32("operations", minimum: 6)) {
      guard let verb = Verb(rawValue: try reader.u8("verb")) else { throw reader.error("verb", "must be 0 to 10") }
      proposal.operations.append(FieldOperation(verb, try reader.text8("field"), try reader.value("value")))
    }
    seen = try reader.elements(try reader.count32("seen", minimum: 18))
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(id.rawValue)
    writer.u64(time)
    writer.text8(model)
    writer.u8(proposal.hops)
    writer.count8(proposal.metadata.count)
    writer.elements(proposal.metadata)
    writer.count8(proposal.conditions.count)
    writer.elements(proposal.conditions)
    writer.count32(proposal.operations.count)
    for operation in proposal.operations {
      writer.u8(operation.verb.rawValue)
      writer.text8(operation.field)
      writer.value(operation.value)
    }
    writer.count32(seen.count)
    writer.elements(seen)
  }
}

extension KeptSight: WireContent {
  package init(from reader: inout WireReader) throws(WireError) {
    field = try reader.text8("seen")
    epoch = try reader.u64("seen")
    version = try reader.u64("seen")
    digest = try reader.flag("seen") ? try reader.u64("seen") : nil
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(field)
    writer.u64(epoch)
    writer.u64(version)
    writer.flag(digest != nil)
    if let digest { writer.u64(digest) }
  }
}

extension Condition: WireContent {
  package init(from reader: inout WireReader) throws(WireError) {
    self.init(
      field: try reader.text8("conditions"), epoch: try reader.u64("conditions"), version: try reader.u64("conditions"))
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(field)
    writer.u64(epoch)
    writer.u64(version)
  }
}
