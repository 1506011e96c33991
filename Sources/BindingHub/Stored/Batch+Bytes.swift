public import BindingWire

/// A batch as bytes, for stores:
///
///     batch = model:text8 record:u64 epoch:u64 previous:u64 version:u64 length:u32 body list32 of decision
///             or 0:u8 form:u8(1) model:text8 record:u64 epoch:u64 version:u64          the model is removed
///     decision = origin number:u32 kind:u8 [outcome]     kind: 0 a raised mark, 1 an outcome, 2 a number seen
///
/// Types and outcomes are those of `docs/protocol.md`; an outcome's topic means nothing here.
extension Batch {
  private static let removalForm: UInt8 = 1

  public func write(to writer: inout WireWriter) {
    if form == .removal {
      // No model has an empty id.
      writer.text8("")
      writer.u8(Batch.removalForm)
      writer.text8(model)
      for number in [record, epoch, version] { writer.u64(number) }
      return
    }
    writer.text8(model)
    for number in [record, epoch, previous, version] { writer.u64(number) }
    writer.count32(body.count)
    writer.raw(body)
    writer.count32(decisions.count)
    for decision in decisions {
      writer.origin(decision.origin)
      writer.u32(decision.number)
      writer.u8(decision.isSeen ? 2 : decision.outcome == nil ? 0 : 1)
      if let outcome = decision.outcome {
        WireOutcome(topic: Topics.firstModel, number: decision.number, outcome).write(to: &writer)
      }
    }
  }

  public init(from reader: inout WireReader) throws(WireError) {
    let name = try reader.text8("model")
    if name.isEmpty {
      let form = try reader.u8("form")
      guard form == Batch.removalForm else { throw reader.error("form", "is \(form), must be 1") }
      self = .removal(
        of: try reader.text8("model"), record: try reader.u64("record"), epoch: try reader.u64("epoch"),
        version: try reader.u64("version"))
      return
    }
    model = name
    record = try reader.u64("record")
    epoch = try reader.u64("epoch")
    previous = try reader.u64("previous")
    version = try reader.u64("version")
    body = Array(try reader.bytes(try reader.count32("length", minimum: 1), "body"))
    decisions = []
    for _ in 0..<(try reader.count32("decisions", minimum: 14)) {
      let origin = try reader.origin("origin")
      let number = try reader.u32("number")
      switch try reader.u8("kind") {
      case 0: decisions.append(Decision(origin: origin, number: number, outcome: nil))
      case 1:
        let outcome = try WireOutcome(from: &reader).rest
        decisions.append(Decision(origin: origin, number: number, outcome: outcome))
      case 2: decisions.append(Decision(seen: number, of: origin.tag))
      case let kind: throw reader.error("kind", "is \(kind); 0 to 2 are known")
      }
    }
  }
}
