package import BindingProtocol

/// What has changed in the committed values of a model since the record before it in a keep file
/// (docs/reference/outbox-format.md).
package struct ReplicaRecord: Sendable, Equatable {
  /// The log, the model in it, and the state that the model has with these changes.
  package var log: LogID
  package var model: String
  package var epoch: Epoch
  package var version: Version
  /// The version of the record before; a record of another base ends the replica.
  package var base: Version
  /// Nothing before this record counts.
  package var isWhole: Bool
  /// The values were known to be complete when the record was written.
  package var isComplete: Bool
  /// When they were last known to be complete: the wall time, milliseconds since 1970.
  package var time: UInt64
  /// By identity of this program's runs: the highest number that the values contain, or know to be decided.
  package var marks: [SeenNumber]
  /// The highest numbers of the writers whose commits were seen since the record before, for a hub that has lost them.
  package var seen: [SeenNumber]
  /// The changed fields. One of version 0 was removed.
  package var fields: [CommittedField]

  /// The most identities that a record names: the file holds no more runs than that with writes in a model.
  static let maxMarks = 1_000
  /// The most writers that a record names; the writers of further fields are not kept.
  static let maxOrigins = 65_535
}

extension ReplicaRecord: WireContent {
  package init(from reader: inout WireReader) throws(WireError) {
    log = try reader.u64("log")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    base = try reader.u64("base")
    isWhole = try reader.flag("isWhole")
    isComplete = try reader.flag("isComplete")
    time = try reader.u64("time")
    model = try reader.text8("model")
    marks = try reader.elements(try reader.count16("marks", minimum: 12))
    seen = try reader.elements(try reader.count16("seen", minimum: 12))
    let origins: [KeptOrigin] = try reader.elements(try reader.count16("origins", minimum: 10))
    let count = try reader.count32("fields", minimum: 24)
    fields = []
    fields.reserveCapacity(count)
    for _ in 0..<count {
      let name = try reader.text8("fields")
      let version = try reader.u64("fields")
      let origin = Int(try reader.u16("fields"))
      guard origin < origins.count else { throw reader.error("fields", "names an unknown writer") }
      fields.append(
        CommittedField(
          name: name, value: nil, version: version, origin: origins[origin].origin, number: try reader.u32("fields"),
          time: try reader.u64("fields")))
      fields[fields.count - 1].value = try reader.value("fields")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(log)
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(base)
    writer.flag(isWhole)
    writer.flag(isComplete)
    writer.u64(time)
    writer.text8(model)
    writer.count16(min(marks.count, ReplicaRecord.maxMarks))
    writer.elements(Array(marks.prefix(ReplicaRecord.maxMarks)))
    writer.count16(min(seen.count, SeenNumber.maxCount))
    writer.elements(Array(seen.prefix(SeenNumber.maxCount)))
    var origins: [KeptOrigin] = []
    var indices: [Origin: UInt16] = [:]
    let indexOfField = fields.map { field -> UInt16 in
      if let known = indices[field.origin] { return known }
      // The last index is that of no writer.
      if origins.count == ReplicaRecord.maxOrigins { return UInt16(ReplicaRecord.maxOrigins - 1) }
      let isLast = origins.count == ReplicaRecord.maxOrigins - 1
      let index = UInt16(origins.count)
      origins.append(KeptOrigin(origin: isLast ? .none : field.origin))
      if !isLast { indices[field.origin] = index }
      return index
    }
    writer.count16(origins.count)
    writer.elements(origins)
    writer.count32(fields.count)
    for (field, origin) in zip(fields, indexOfField) {
      writer.text8(field.name)
      writer.u64(field.version)
      writer.u16(origin)
      writer.u32(field.number)
      writer.u64(field.time)
      writer.value(field.value)
    }
  }
}

/// A writer as a keep file names it.
private struct KeptOrigin: WireContent {
  let origin: Origin

  init(origin: Origin) { self.origin = origin }

  init(from reader: inout WireReader) throws(WireError) {
    let tag = Tag(rawValue: try reader.u64("origins"))
    let name = try reader.text8("origins")
    let user = try reader.text8("origins")
    origin = Origin(tag: tag, name: name, user: user.isEmpty ? nil : user)
  }

  func write(to writer: inout WireWriter) {
    writer.u64(origin.tag.rawValue)
    writer.text8(origin.name)
    writer.text8(origin.user ?? "")
  }
}
