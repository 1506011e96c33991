package import BindingHub
package import BindingProtocol

/// Writes one model as a hub does: decides on the last record that it knows, and takes in what others wrote.
package struct ModelWriter {
  package static let epoch: Epoch = 5 << 32 | 9
  package let model: String
  package let origin: Origin
  package private(set) var tail: SharedModelTail
  package private(set) var version: Version
  private var number: ProposalNumber = 0

  /// A writer that knows the model as this head shows it.
  package init(_ model: String, _ writer: UInt64, head: SharedHead? = nil) {
    self.model = model
    origin = Origin(tag: Tag(rawValue: writer), name: "writer-\(writer)")
    tail = SharedModelTail(head ?? SharedHead(model))
    version = head?.version ?? 0
  }

  /// The next batch: one commit, or with nil one refusal.
  package mutating func next(_ value: String? = "1") -> SharedBatch {
    number += 1
    var batch = Batch(
      model: model, record: tail.record + 1, epoch: ModelWriter.epoch, previous: version, version: version, body: [],
      decisions: [])
    if let value {
      var writer = CommitsWriter()
      writer.begin(epoch: ModelWriter.epoch, previous: version, time: 9, namesKnown: version == 0 ? 0 : 1)
      let index = writer.origin(origin)
      let field = version == 0 ? writer.introduce("a") : 0
      writer.beginCommit(origin: index, number: number, hops: 0)
      writer.change(field, FieldValue(bytes: Array(value.utf8)))
      writer.endCommit()
      batch.version = version + 1
      batch.body = writer.finish()
    } else {
      batch.decisions = [Decision(origin: origin, number: number, outcome: .unchanged)]
    }
    return SharedBatch(batch, after: tail.revision)
  }

  /// The batch that removes the model.
  package func removal() -> SharedBatch {
    let removal = Batch.removal(of: model, record: tail.record + 1, epoch: ModelWriter.epoch, version: version)
    return SharedBatch(removal, after: tail.revision)
  }

  /// Takes in a record, its own or another's.
  @discardableResult package mutating func take(_ batch: Batch, _ revision: SharedRevision) -> SharedModelTail.Step {
    let step = tail.take(batch.record, revision: revision)
    if step == .apply { version = batch.version }
    return step
  }

  /// Writes a value, and takes it in.
  /// - Returns: the record.
  @discardableResult package mutating func write(_ value: String? = "1", _ client: SharedStoreClient) throws -> Batch {
    let batch = next(value)
    take(batch.batch, try client.store(batch))
    return batch.batch
  }

  /// Writes a value over whatever others wrote meanwhile.
  package mutating func insist(_ value: String, _ client: SharedStoreClient) throws {
    for _ in 0..<10_000 {
      let batch = next(value)
      var result = try client.append([batch])[0]
      for _ in 0..<20 where result == .unknown { result = try client.append([batch])[0] }
      switch result {
      case .stored(let revision):
        take(batch.batch, revision)
        return
      case .moved(let records):
        try expect(!records.isEmpty, "it moved without a record")
        for record in records {
          try expect(record.batch != batch.batch, "its own record is called another's")
          if take(record.batch, record.revision) == .load { try reload(client) }
        }
      case .folded: try reload(client)
      default: throw ContractError("\(model): \(result)")
      }
      number -= 1
    }
    throw ContractError("\(model): never stored")
  }

  /// Takes the model in as it is stored.
  package mutating func reload(_ client: SharedStoreClient) throws {
    let head = try client.load(model).head
    tail = SharedModelTail(head)
    version = head.version
  }
}
