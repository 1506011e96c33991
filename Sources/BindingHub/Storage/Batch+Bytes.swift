package import BindingProtocol

/// A batch as bytes, for stores:
///
///     batch = model:text8 record:u64 epoch:u64 previous:u64 version:u64 length:u32 body list32 of decision
///             or 0:u8 form:u8(1) model:text8 record:u64 epoch:u64 version:u64          the model is removed
///             or 0:u8 form:u8(2) model:text8 record:u64 epoch:u64 version:u64 list32(u32)
///                                                 only the fields with these rising ids remain, renumbered from 0
///     decision = origin number:u32 kind:u8 [outcome]     kind: 0 a raised mark, 1 an outcome, 2 a number seen;
///                                                        in a log of several hubs: 3 confirmed, 4 forgotten,
///                                                        5 owner, whose number is that of its hub's start, or 0
///
/// Types and outcomes are those of `docs/reference/protocol.md`; an outcome's topic has no meaning here.
extension Batch {
  private static let removalForm: UInt8 = 1
  private static let renumberingForm: UInt8 = 2

  /// Writes the batch in this format.
  package func write(to writer: inout WireWriter) {
    switch form {
    case .ordinary: writeDecided(to: &writer)
    case .removal: write(Batch.removalForm, to: &writer)
    case .renumbering(let kept):
      write(Batch.renumberingForm, to: &writer)
      writer.count32(kept.count)
      for id in kept { writer.u32(id) }
    }
  }

  private func write(_ form: UInt8, to writer: inout WireWriter) {
    // No model has an empty id.
    writer.text8("")
    writer.u8(form)
    writer.text8(model)
    for number in [record, epoch, version] { writer.u64(number) }
  }

  private func writeDecided(to writer: inout WireWriter) {
    writer.text8(model)
    for number in [record, epoch, previous, version] { writer.u64(number) }
    writer.count32(body.count)
    writer.raw(body)
    writer.count32(decisions.count)
    for decision in decisions {
      writer.origin(decision.origin)
      writer.u32(decision.number)
      writer.u8(decision.outcome == nil ? decision.form.rawValue : 1)
      if let outcome = decision.outcome {
        WireOutcome(topic: Topics.firstModel, number: decision.number, outcome).write(to: &writer)
      }
    }
  }

  /// Reads a batch in this format.
  /// - Throws: `WireError` for bytes that do not follow it.
  package init(from reader: inout WireReader) throws(WireError) {
    let name = try reader.text8("model")
    if name.isEmpty {
      self = try Batch(ofFormFrom: &reader)
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
        let outcome = try WireOutcome(from: &reader)
        guard outcome.number == number else {
          throw reader.error("outcome", "is that of number \(outcome.number), not of \(number)")
        }
        decisions.append(Decision(origin: origin, number: number, outcome: outcome.rest))
      case 2: decisions.append(Decision(seen: number, of: origin.tag))
      case 3: decisions.append(Decision(number, of: origin, form: .confirmed))
      case 4: decisions.append(Decision(number, of: origin, form: .forgotten))
      case 5: decisions.append(Decision(number, of: origin, form: .owner))
      case let kind: throw reader.error("kind", "is \(kind); 0 to 5 are known")
      }
    }
  }

  /// Reads a batch of another form than the ordinary one, beginning with its form.
  private init(ofFormFrom reader: inout WireReader) throws(WireError) {
    let form = try reader.u8("form")
    let model = try reader.text8("model")
    let (record, epoch, version) = (try reader.u64("record"), try reader.u64("epoch"), try reader.u64("version"))
    switch form {
    case Batch.removalForm: self = .removal(of: model, record: record, epoch: epoch, version: version)
    case Batch.renumberingForm:
      var kept: [FieldID] = []
      for _ in 0..<(try reader.count32("kept", minimum: 4)) {
        let id = try reader.u32("kept")
        guard kept.last.map({ $0 < id }) ?? true else { throw reader.error("kept", "does not rise at \(id)") }
        kept.append(id)
      }
      self = .renumbering(of: model, record: record, epoch: epoch, version: version, kept: kept)
    default: throw reader.error("form", "is \(form), must be 1 or 2")
    }
  }
}
