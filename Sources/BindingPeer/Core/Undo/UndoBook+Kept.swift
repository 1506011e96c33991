import BindingProtocol

/// Steps as an outbox file keeps them (docs/reference/outbox-format.md, kind 32).
extension UndoBook {
  private static let format: UInt8 = 1

  /// The records that the file lacks, by step; an empty payload: the step is gone.
  mutating func takeRecords() -> [(step: UInt64, payload: [UInt8])] {
    guard !dirty.isEmpty, log != nil else { return [] }
    var records: [(step: UInt64, payload: [UInt8])] = []
    for id in dirty.sorted() {
      if let (step, stack) = find(id), step.fields.contains(where: \.hasEffect), let log {
        records.append((id, UndoBook.encode(step, in: stack, of: log)))
        kept.insert(id)
      } else if kept.remove(id) != nil {
        records.append((id, []))
      }
    }
    dirty.removeAll(keepingCapacity: true)
    return records
  }

  /// Steps that an earlier run left in the file. What cannot be read is dropped.
  mutating func restore(_ records: [UInt64: [UInt8]]) {
    for (id, payload) in records.sorted(by: { $0.key < $1.key }) {
      kept.insert(id)
      lastStep(atLeast: id)
      guard let (step, stack, log) = UndoBook.decode(payload, id: id), self.log == nil || self.log == log else {
        dirty.insert(id)
        continue
      }
      self.log = log
      insert(step, in: stack)
      dirty.remove(id)
    }
    keepLimits()
  }

  /// The hub's log is this one: steps of another one are void.
  mutating func belong(to log: LogID) {
    if let known = self.log, known != log { removeAll() }
    self.log = log
  }

  static func encode(_ step: UndoStep, in stack: Stack, of log: LogID) -> [UInt8] {
    var writer = WireWriter()
    writer.u8(format)
    writer.u8(stack.rawValue)
    writer.u64(log)
    let fields = step.fields.filter(\.hasEffect)
    writer.count8(fields.count)
    for field in fields { field.write(to: &writer) }
    return writer.withUnsafeBytes { Array($0) }
  }

  static func decode(_ payload: [UInt8], id: UInt64) -> (step: UndoStep, stack: Stack, log: LogID)? {
    payload.withUnsafeBytes { bytes in
      var reader = WireReader(bytes, message: "undo")
      do throws(WireError) {
        guard try reader.u8("version") == format, let stack = Stack(rawValue: try reader.u8("stack")) else {
          return nil
        }
        let log = try reader.u64("log")
        var step = UndoStep(id: id)
        for _ in 0..<(try reader.count8("fields", minimum: 37)) {
          guard let field = try UndoField(from: &reader), step[field.name] == nil else { return nil }
          step[field.name] = field
        }
        try reader.end()
        return step.fields.isEmpty ? nil : (step, stack, log)
      } catch {
        return nil
      }
    }
  }
}

extension UndoField {
  private enum Flags {
    static let isBeforeKnown: UInt8 = 1
    static let hasDigest: UInt8 = 2
    static let leftNothing: UInt8 = 4
    static let isLost: UInt8 = 8
    static let hasPlace: UInt8 = 16
    static let isMoved: UInt8 = 32
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.u8(kind.rawValue)
    var flags: UInt8 = isBeforeKnown ? Flags.isBeforeKnown : 0
    if case .digest = left { flags |= Flags.hasDigest }
    if left == .absent { flags |= Flags.leftNothing }
    if isLost { flags |= Flags.isLost }
    if place != nil { flags |= Flags.hasPlace }
    if isMoved { flags |= Flags.isMoved }
    writer.u8(flags)
    writer.value(before)
    writer.point(beforeAt)
    writer.point(at)
    if case .digest(let digest) = left { writer.u64(digest) }
    writer.value(sum)
    writer.value(after)
    if let place {
      writer.text8(place.after ?? "")
      writer.text8(place.before ?? "")
    }
  }

  /// nil: it is not what this version writes.
  fileprivate init?(from reader: inout WireReader) throws(WireError) {
    let name = try reader.text8("name")
    if name != Names.description { try Names.checkField(name) }
    guard let kind = Kind(rawValue: try reader.u8("kind")) else { return nil }
    self.init(name, kind)
    let flags = try reader.u8("flags")
    guard flags < 64, flags & (Flags.hasDigest | Flags.leftNothing) != Flags.hasDigest | Flags.leftNothing else {
      return nil
    }
    isBeforeKnown = flags & Flags.isBeforeKnown != 0
    isLost = flags & Flags.isLost != 0
    isMoved = flags & Flags.isMoved != 0
    before = try reader.value("before")
    beforeAt = try reader.point("beforeAt")
    at = try reader.point("at")
    if flags & Flags.hasDigest != 0 { left = .digest(try reader.u64("left")) }
    if flags & Flags.leftNothing != 0 { left = .absent }
    sum = try reader.value("sum")
    after = try reader.value("after")
    guard hasEffect, [before, sum, after].allSatisfy({ $0?.isValid ?? true }) else { return nil }
    guard flags & Flags.hasPlace != 0 else { return }
    let neighbours = [try reader.text8("after"), try reader.text8("before")].map { $0.isEmpty ? nil : $0 }
    guard neighbours.allSatisfy({ $0.map(ListElements.isID) ?? true }) else { return nil }
    place = ListOperand(after: neighbours[0], before: neighbours[1])
  }
}

extension WireWriter {
  fileprivate mutating func point(_ point: UndoPoint?) {
    u64(point?.epoch ?? 0)
    u64(point?.version ?? 0)
  }
}

extension WireReader {
  fileprivate mutating func point(_ place: StaticString) throws(WireError) -> UndoPoint? {
    let (epoch, version) = (try u64(place), try u64(place))
    return epoch == 0 && version == 0 ? nil : UndoPoint(epoch: epoch, version: version)
  }
}
