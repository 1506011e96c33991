import BindingProtocol

/// A model as bytes. A chunk begins with the number of this format and the kind of its contents:
///
///     chunk   = format:u8(1 or 2) kind:u8 …
///     head    (0) record:u64 version:u64 epoch:u64 time:u64 [deltasFrom:u64]     the last in format 2
///     writers (1) list32 of: origin mark:u32 confirmed:u32 decidedAt:u64 list16 of outcome
///     fields  (2) list16 of origin, list32 of: name:text8 flags:u8 version:u64 [epoch:u64] time:u64 number:u32
///                 origin:u16 [value]     flags: 1 it has a value, 2 its epoch is not the head's
///     seen    (3) list32 of: tag number:u32     only if there are any
///     owner   (4) origin hub:u32                only in a log of several hubs, if the model has one
///
/// Types and outcomes are those of `docs/reference/protocol.md`; an outcome's topic has no meaning here. Fields are
/// in the order of their ids, deleted ones included: a batch refers to them by id.
extension ModelLog {
  private static let format: UInt8 = 2
  private enum ChunkKind: UInt8 {
    case head, writers, fields, seen, owner
  }
  private static let hasValue: UInt8 = 1
  private static let hasEpoch: UInt8 = 2

  // MARK: Writing

  /// The next chunk, of about `limit` bytes; nil: all are written.
  func chunk(after written: inout ModelCompactor.Written, _ limit: Int) -> [UInt8]? {
    var writer = WireWriter(reserving: limit + 1_024)
    writer.u8(ModelLog.format)
    if !written.isHeadWritten {
      written.isHeadWritten = true
      writer.u8(ChunkKind.head.rawValue)
      for number in [position.record, version, position.epoch, position.time, position.deltasFrom] {
        writer.u64(number)
      }
    } else if written.writers < writers.records.count {
      writer.u8(ChunkKind.writers.rawValue)
      written.writers = write(writersFrom: written.writers, to: &writer, limit)
    } else if written.fields < fields.count {
      writer.u8(ChunkKind.fields.rawValue)
      written.fields = write(fieldsFrom: written.fields, to: &writer, limit)
    } else if !written.areSeenWritten, !writers.seenNumbers.isEmpty {
      written.areSeenWritten = true
      writer.u8(ChunkKind.seen.rawValue)
      let seen = writers.seenNumbers.map { SeenNumber(tag: $0.key, number: $0.value) }
      writer.count32(seen.count)
      writer.elements(seen.sorted { $0.tag.rawValue < $1.tag.rawValue })
    } else if !written.isOwnerWritten, let owner = approval.recorded {
      written.isOwnerWritten = true
      writer.u8(ChunkKind.owner.rawValue)
      writer.origin(owner.origin)
      writer.u32(owner.hub)
    } else {
      return nil
    }
    return writer.bytes
  }

  private func write(writersFrom first: Int, to writer: inout WireWriter, _ limit: Int) -> Int {
    let countAt = writer.count
    writer.u32(0)
    var index = first
    // At least one, however small the limit.
    while index < writers.records.count, index == first || writer.count < limit {
      let record = writers.records[index]
      let outcomes = record.outcomes(from: record.lastStored - min(record.lastStored, ModelCompactor.outcomesKept) + 1)
      writer.origin(record.origin)
      writer.u32(record.lastStored)
      writer.u32(record.confirmed)
      writer.u64(record.decidedAt)
      writer.count16(outcomes.count)
      for (number, rest) in outcomes {
        WireOutcome(topic: Topics.firstModel, number: number, rest).write(to: &writer)
      }
      index += 1
    }
    writer.patch32(at: countAt, UInt32(index - first))
    return index
  }

  private func write(fieldsFrom first: Int, to writer: inout WireWriter, _ limit: Int) -> Int {
    // The origins come first, so the chunk's fields are selected before any is written.
    var origins: [Origin] = []
    var originIndices: [Origin: UInt16] = [:]
    var (end, bytes) = (first, 0)
    while end < fields.count, bytes < limit, origins.count < 4_096 {
      let slot = fields[FieldID(end)]
      if originIndices[slot.origin] == nil {
        originIndices[slot.origin] = UInt16(origins.count)
        origins.append(slot.origin)
      }
      bytes += slot.name.utf8.count + slot.value.count + 40
      end += 1
    }
    writer.count16(origins.count)
    for origin in origins { writer.origin(origin) }
    writer.count32(end - first)
    for index in first..<end {
      let slot = fields[FieldID(index)]
      let isOld = slot.epoch != position.epoch
      writer.text8(slot.name)
      writer.u8((slot.hasValue ? ModelLog.hasValue : 0) | (isOld ? ModelLog.hasEpoch : 0))
      writer.u64(slot.version)
      if isOld { writer.u64(slot.epoch) }
      writer.u64(slot.time)
      writer.u32(slot.number)
      writer.u16(originIndices[slot.origin] ?? 0)
      if slot.hasValue { slot.value.withUnsafeBytes { writer.value($0) } }
    }
    return end
  }

  // MARK: Reading

  /// Restores all that a store has of the model; skips what is here already.
  func restore(_ stored: StoredModel, recentLimit: Int) throws(StoreError) {
    for chunk in stored.chunks { try load(chunk) }
    for batch in stored.batches where batch.record > position.record { apply(batch, recentLimit: recentLimit) }
  }

  /// Loads a chunk in the format above.
  func load(_ chunk: [UInt8]) throws(StoreError) {
    do throws(WireError) {
      try chunk.withUnsafeBytes { bytes in
        Result { () throws(WireError) in
          var reader = WireReader(bytes, message: "chunk")
          let format = try reader.u8("format")
          guard format == 1 || format == ModelLog.format else {
            throw reader.error("format", "is \(format); this build reads up to \(ModelLog.format)")
          }
          let kind: ChunkKind = try reader.choice("kind", try reader.u8("kind"), "0 to 4")
          switch kind {
          case .head: try loadHead(&reader, hasFloor: format > 1)
          case .writers: try loadWriters(&reader)
          case .fields: try loadFields(&reader)
          case .seen:
            let seen: [SeenNumber] = try reader.elements(try reader.count32("seen", minimum: 12))
            for entry in seen { writers.see(entry.number, of: entry.tag) }
          case .owner:
            let origin = try reader.origin("origin")
            approval.recorded = RecordedOwner(origin: origin, hub: try reader.u32("hub"))
          }
          try reader.end()
        }
      }.get()
    } catch {
      throw StoreError("\(id): the stored state cannot be read: \(error)")
    }
  }

  private func loadHead(_ reader: inout WireReader, hasFloor: Bool) throws(WireError) {
    position.record = try reader.u64("record")
    position.version = try reader.u64("version")
    position.epoch = try reader.u64("epoch")
    position.time = try reader.u64("time")
    position.deltasFrom = hasFloor ? try reader.u64("deltasFrom") : 0
    approval.recorded = nil
    // Earlier changes are no longer known by commit.
    forgetRecent()
  }

  private func loadWriters(_ reader: inout WireReader) throws(WireError) {
    for _ in 0..<(try reader.count32("writers", minimum: 27)) {
      let index = writers.index(for: try reader.origin("origin"))
      let (lastStored, confirmed) = (try reader.u32("mark"), try reader.u32("confirmed"))
      let decidedAt = try reader.u64("decidedAt")
      var outcomes: [WireOutcome] = []
      for _ in 0..<(try reader.count16("outcomes", minimum: 9)) {
        let outcome = try WireOutcome(from: &reader)
        guard outcome.isWithinNumbers else {
          throw reader.error("outcomes", "go beyond the last number at \(outcome.number)")
        }
        outcomes.append(outcome)
      }
      writers.with(index) { $0.restore(lastStored: lastStored, confirmed: confirmed, decidedAt: decidedAt, outcomes) }
    }
  }

  private func loadFields(_ reader: inout WireReader) throws(WireError) {
    var origins: [Origin] = []
    for _ in 0..<(try reader.count16("origins", minimum: 9)) { origins.append(try reader.origin("origin")) }
    for _ in 0..<(try reader.count32("fields", minimum: 24)) {
      // A reloaded model has most of them already, under the same ids: it is the same log.
      let field = fields.introduce(try reader.text8Bytes("name"))
      let flags = try reader.u8("flags")
      let version = try reader.u64("version")
      let epoch = flags & ModelLog.hasEpoch == 0 ? position.epoch : try reader.u64("epoch")
      let time = try reader.u64("time")
      let number = try reader.u32("number")
      let origin = Int(try reader.u16("origin"))
      guard origin < origins.count else {
        throw reader.error("origin", "is \(origin); \(origins.count) origins are listed")
      }
      let value = flags & ModelLog.hasValue == 0 ? nil : try reader.valueBytes("value")
      fields.store(
        value, in: field, from: fields.source(of: origins[origin], in: epoch), version: version, number: number,
        time: time)
    }
    adoptStoredRules()
  }
}

extension WireOutcome {
  /// Whether all numbers and versions that it concerns exist.
  fileprivate var isWithinNumbers: Bool {
    guard case .committed(let count, let version) = rest else { return true }
    return number - 1 <= ProposalNumber.max - ProposalNumber(count) && version <= Version.max - Version(count)
  }
}
