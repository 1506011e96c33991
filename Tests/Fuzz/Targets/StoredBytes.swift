import BindingHub
import BindingProtocol

@testable import BindingPeer

/// What is read back from a disk: outbox files, a store's batches and chunks.
extension FuzzTarget {
  static let outbox = FuzzTarget(
    name: "outbox",
    seeds: {
      let identity = Identity(secret: Secret(high: 1, low: 2), name: "me")
      let proposal = Proposal(
        operations: [FieldOperation(.set, "level", FieldValue(json: 1))],
        conditions: [Condition(field: "level", epoch: 3, version: 4)])
      let write = KeptWrite(
        id: WriteID(rawValue: 1), model: "lamp", proposal: proposal, time: 5,
        seen: [KeptSight(field: "level", epoch: 3, version: 4, digest: 9)])
      let contents: [OutboxRecord.Content] = [
        .began(identity), .entry(.welcomed(log: 3, epoch: 4)), .counted(model: "lamp", last: 2),
        .entry(.written(write)),
        .entry(.numbered(WriteID(rawValue: 1), 3, conditions: proposal.conditions)),
        .entry(.withdrawn(WriteID(rawValue: 1))), .entry(.decided(WriteID(rawValue: 1), .committed)), .left,
      ]
      let records = contents.map { content in
        var writer = WireWriter()
        OutboxRecord(run: 1, content: content).write(to: &writer)
        return writer.bytes
      }
      return [InputParts.joined(records.map { ($0, false) })] + records.map { InputParts.joined($0) }
    }, run: { bytes in outboxFinding(bytes) })

  /// The input is a file as it is, and records that get their checksums here: no fuzzer finds those by itself.
  private static func outboxFinding(_ bytes: UnsafeRawBufferPointer) -> String? {
    _ = try? OutboxLog.parse(bytes)
    var writer = WireWriter()
    writer.raw(OutboxLog.header)
    for (part, isOther) in InputParts(bytes) where !part.isEmpty {
      let start = writer.count
      writer.u64(0)
      writer.raw(Array(part))
      writer.patch32(at: start + 4, UInt32(part.count))
      let checksum = writer.withUnsafeBytes { Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[(start + 4)...])) }
      writer.patch32(at: start, isOther ? ~checksum : checksum)
    }
    return writer.withUnsafeBytes { file in
      guard let read = try? OutboxLog.parse(file) else { return nil }
      var content = read.content
      _ = content.adoptUnproven()
      content.forgetFinished()
      let compacted = content.compacted
      guard let again = compacted.withUnsafeBytes({ try? OutboxLog.parse($0).content }) else {
        return "a compacted outbox cannot be read"
      }
      guard again.unfinished == content.unfinished else { return "a compacted outbox holds other writes" }
      var session: Session?
      for run in again.unfinished { session = Session(resuming: run, seed: 1, now: 10, wall: 20) }
      var effects = PeerEffects()
      session?.opened(now: 11, into: &effects)
      return nil
    }
  }

  static let storedBatch = FuzzTarget(
    name: "stored-batch",
    seeds: { batches.map { bytes(of: $0) } },
    run: { input in
      var reader = WireReader(input, message: "batch")
      guard let batch = try? Batch(from: &reader), (try? reader.end()) != nil else { return nil }
      let written = bytes(of: batch)
      let again = written.withUnsafeBytes { bytes in
        var reader = WireReader(bytes, message: "batch")
        return try? Batch(from: &reader)
      }
      guard again == batch else { return "a batch is written otherwise than it was read" }
      var compactor = ModelCompactor(batch.model)
      for batch in batches where batch.model == compactor.model { try? compactor.apply(batch) }
      try? compactor.apply(batch)
      while compactor.nextChunk() != nil {}
      return nil
    })

  static let storedChunk = FuzzTarget(
    name: "stored-chunk",
    seeds: {
      chunks.map { InputParts.joined($0) } + [InputParts.joined(chunks.map { ($0, false) })]
    },
    run: { input in
      var compactor = ModelCompactor("lamp")
      for (chunk, _) in InputParts(input) {
        do throws(StoreError) { try compactor.load(Array(chunk)) } catch {
          return error.description.isEmpty ? "a refusal says nothing" : nil
        }
      }
      for batch in batches { try? compactor.apply(batch) }
      var again = ModelCompactor("lamp")
      while let chunk = compactor.nextChunk() {
        do throws(StoreError) { try again.load(chunk) } catch { return "a written chunk cannot be read: \(error)" }
      }
      return again.fieldCount == compactor.fieldCount ? nil : "fields are lost in writing"
    })

  private static func bytes(of batch: Batch) -> [UInt8] {
    var writer = WireWriter()
    batch.write(to: &writer)
    return writer.bytes
  }

  /// What a hub stores of two writers, a description, deletions, refusals, a removal and a renumbering.
  private static let batches: [Batch] = FuzzedStore.batches
  private static let chunks: [[UInt8]] = {
    var compactor = ModelCompactor("lamp")
    for batch in batches where batch.model == "lamp" && batch.form == .ordinary { try? compactor.apply(batch) }
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    return chunks
  }()
}

/// Collects what a hub stores.
private final class FuzzedStore {
  static var batches: [Batch] {
    var hub = Recorder()
    let set: [(WireOperation)] = [
      operation(.set, "level", "1"), operation(.set, "label", "\"Größe\""), operation(.add, "count", "2"),
      operation(.delete, "label", nil), operation(.union, "tags", "[1]"),
      operation(.set, "@description", #"{"fields":{"level":{"type":"number","maximum":5}}}"#),
      operation(.set, "level", "9"),
    ]
    for writer in 1...2 as ClosedRange<UInt64> {
      hub.begin(writer)
      for (index, operation) in set.enumerated() { hub.propose(writer, ProposalNumber(index + 1), operation) }
    }
    let last = hub.batches.last
    return hub.batches + [
      .renumbering(of: "lamp", record: (last?.record ?? 0) + 1, epoch: Recorder.epoch, version: 20, kept: [0, 2]),
      .removal(of: "lamp", record: (last?.record ?? 0) + 2, epoch: Recorder.epoch, version: 21),
    ]
  }

  private static func operation(_ verb: Verb, _ field: String, _ value: String?) -> WireOperation {
    WireOperation(verb: verb, field: .name(field), value: value.map { FieldValue(bytes: Array($0.utf8)) })
  }

  /// A hub's machine whose batches are kept.
  private struct Recorder {
    static let epoch: Epoch = 5 << 32 | 9
    private(set) var batches: [Batch] = []
    private var machine: HubMachine
    private let store: MemoryStore
    private let time = HubTime(monotonic: 1_000, wall: 500_000)

    init() {
      machine = HubMachine(
        configuration: HubMachineConfiguration(),
        birth: HubBirth(logID: 3, epoch: Recorder.epoch, start: 77, tailProven: true), time: time, epochSeed: 11)
      store = MemoryStore(logID: 3, epoch: Recorder.epoch)
    }

    mutating func begin(_ writer: UInt64) {
      let identity = Identity(secret: Secret(high: writer, low: writer), name: "writer-\(writer)")
      if writer == 1 { machine.identify(writer, as: .named("anna", role: nil)) }
      send(writer, .hello(Hello(identity: identity, capabilities: [Capability.users])))
      send(writer, .join([Join(request: 1, model: "lamp")]))
    }

    mutating func propose(_ writer: UInt64, _ number: ProposalNumber, _ operation: WireOperation) {
      send(writer, .propose([NumberedProposal(topic: Topics.firstModel, number: number, operations: [operation])]))
    }

    private mutating func send(_ writer: UInt64, _ message: PeerMessage) {
      var output = HubOutput()
      message.encode(session: 100 + writer, start: 77).withUnsafeBytes {
        machine.receive($0, on: writer, time: time, into: &output)
      }
      machine.finishDrain(time: time, into: &output)
      while !output.batches.isEmpty {
        let new = output.batches
        output.batches.removeAll()
        guard let results = try? store.append(new) else { return }
        batches += new
        machine.appended(results, of: new, time: time, into: &output)
      }
    }
  }
}
