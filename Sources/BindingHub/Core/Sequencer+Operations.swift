import BindingWire

/// Carrying out a proposal's operations, each in the hand of its model.
extension Sequencer {
  /// - Returns: how many fields change.
  mutating func change(
    _ operations: OperationCursor, to version: Version, by writer: Int, in model: ModelLog
  ) throws(Verdict) -> Int {
    var operations = operations
    var changed = 0
    var misfit: String?
    ordinal &+= 1
    while (try? operations.next()) == true {
      guard let verb = operations.verb else {
        throw .refused(.unknownVerb, "verb \(operations.verbNumber) is not known here")
      }
      let takesNone = verb == .delete || verb == .clear
      guard (operations.value == nil) == takesNone else {
        throw .refused(.malformedValue, takesNone ? "\(verb) takes no value" : "\(verb) needs a value")
      }
      if verb == .clear {
        for id in 0..<FieldID(model.fields.count) where model.fields[id].decided.hasValue {
          try decide(nil, for: id, version, writer, in: model)
          changed += 1
        }
        continue
      }
      let known = try field(operations.id, operations.name, in: model)
      if let known {
        guard model.fields[known].namedBy != ordinal, model.fields[known].decided.version != version else {
          throw .refused(.duplicateField, "\(model.fields[known].name) stands twice in one proposal")
        }
        model.fields[known].namedBy = ordinal
      }
      if verb == .delete {
        guard let known, model.fields[known].decided.hasValue else { continue }
        try decide(nil, for: known, version, writer, in: model)
        changed += 1
        continue
      }
      if verb == .whenUnset, let known, model.fields[known].decided.version > 0 { continue }
      guard let operand = operations.value else { continue }
      let id = if let known { known } else { try introduce(operations.name, in: model) }
      if operand.count > limits.maxValueBytes {
        throw .refused(
          .valueTooLarge,
          "\(model.fields[id].name) has \(operand.count) bytes; maxValueBytes is \(limits.maxValueBytes)")
      }
      if verb == .set || verb == .whenUnset {
        guard JSON.isValid(operand) else { throw .refused(.malformedValue, "\(model.fields[id].name) is no JSON text") }
        if model.isRuled(id) { try check(operand, for: id, version, &misfit, in: model) }
        try decide(operand, for: id, version, writer, in: model)
        if verb == .whenUnset { model.hand.weakFields.append((id, version)) }
      } else {
        try merge(verb, operand, into: id, version, writer, &misfit, in: model)
      }
      changed += 1
    }
    // What a proposal writes has to fit the description that it leaves, wherever in it that stands.
    if model.rules.version == version {
      try checkAll(in: model)
    } else if let misfit {
      throw .refused(.doesNotFit, misfit)
    }
    return changed
  }

  /// Holds a value that is decided against the description, or takes it in as the new description. `misfit` becomes why
  /// it does not fit, if that is the first.
  @inline(never)
  private func check(
    _ value: UnsafeRawBufferPointer, for id: FieldID, _ version: Version, _ misfit: inout String?, in model: ModelLog
  ) throws(Verdict) {
    if id == model.fields.descriptionID {
      do throws(DescriptionFault) {
        model.describe(try ModelRules(describedBy: value), at: version)
        return
      } catch {
        throw .refused(.malformedValue, "\(model.id).\(Names.description): \(error)")
      }
    }
    guard misfit == nil, let rule = model.rule(of: id), let fault = rule.misfit(value) else { return }
    let json = (try? JSON(parsing: value)) ?? .null
    misfit = "\(model.id).\(model.fields[id].name): \(rule.words(fault, of: json))"
  }

  private func check(
    _ value: FieldValue, for id: FieldID, _ version: Version, _ misfit: inout String?, in model: ModelLog
  ) throws(Verdict) {
    try value.bytes.withUnsafeBytes { bytes in
      Result { () throws(Verdict) in try check(bytes, for: id, version, &misfit, in: model) }
    }.get()
  }

  /// Holds everything that the commit in hand writes against the description that came with it.
  private func checkAll(in model: ModelLog) throws(Verdict) {
    for (id, _) in model.hand.before where id != model.fields.descriptionID {
      guard let value = model.decidedValue(model.fields[id]) else { continue }
      var misfit: String?
      try check(value, for: id, 0, &misfit, in: model)
      if let misfit { throw .refused(.doesNotFit, misfit) }
    }
  }

  /// `misfit` becomes why the result does not fit the description, if that is the first.
  private func merge(
    _ verb: Verb, _ operand: UnsafeRawBufferPointer, into id: FieldID, _ version: Version, _ writer: Int,
    _ misfit: inout String?, in model: ModelLog
  ) throws(Verdict) {
    let slot = model.fields[id]
    let present = slot.isDecided ? model.decidedValue(slot) : slot.fieldValue
    guard let merged = Merge.apply(verb, operand: FieldValue(bytes: Array(operand)), to: present) else {
      throw verb == .union
        ? .refused(.malformedValue, "\(slot.name): union takes a list and a field that holds one")
        : .refused(.notANumber, "\(slot.name): \(verb) takes a number and a field that holds one")
    }
    guard merged.bytes.count <= limits.maxValueBytes else {
      throw .refused(.valueTooLarge, "\(slot.name): \(verb) makes it longer than \(limits.maxValueBytes) bytes")
    }
    if model.isRuled(id), misfit == nil || id == model.fields.descriptionID {
      try check(merged, for: id, version, &misfit, in: model)
      if let words = misfit, id != model.fields.descriptionID {
        let text = String(decoding: operand, as: UTF8.self)
        misfit = "\(words) (\(verb) of \(text.prefix(40)) to \(present?.description.prefix(40) ?? "nothing"))"
      }
    }
    let isTaken = model.hand.commits.change(id, merged)
    try note(isTaken, merged.bytes.count, for: id, version, writer, in: model)
  }

  /// Writes a value (nil: a deletion) into the batch and notes it.
  private func decide(
    _ value: UnsafeRawBufferPointer?, for id: FieldID, _ version: Version, _ writer: Int, in model: ModelLog
  ) throws(Verdict) {
    if value == nil, id == model.fields.descriptionID { model.describe(ModelRules(), at: version) }
    let isTaken = model.hand.commits.change(id, value)
    try note(isTaken, value?.count, for: id, version, writer, in: model)
  }

  private func note(
    _ isTaken: Bool, _ byteCount: Int?, for id: FieldID, _ version: Version, _ writer: Int, in model: ModelLog
  ) throws(Verdict) {
    guard isTaken else { throw .refused(.tooManyFields, "the proposal changes more fields than a commit holds") }
    model.note(id, version, value: byteCount.map { model.hand.commits.lastValue(of: $0) }, by: writer)
  }

  /// The field that is meant; nil if nobody has named it before.
  func field(
    _ id: FieldID?, _ name: UnsafeRawBufferPointer?, in model: ModelLog
  ) throws(Verdict) -> FieldID? {
    if let name { return model.fields.id(of: name) }
    guard let id, Int(id) < model.fields.count else {
      throw .refused(.unknownField, "there is no field \(id ?? 0); name it")
    }
    return id
  }

  /// Who wrote last what a proposal sets first, for who has to find a loop.
  func writerAnswered(by proposal: ProposalCursor, in model: ModelLog, _ time: HubTime) -> String {
    var operations = proposal.operations
    guard (try? operations.next()) == true, let field = try? field(operations.id, operations.name, in: model) else {
      return "others"
    }
    let other = model.conflict(on: field, now: time.wall).origin
    return other.tag == .none ? "others" : "\(other.name)-\(other.tag.short)"
  }

  private func introduce(_ name: UnsafeRawBufferPointer?, in model: ModelLog) throws(Verdict) -> FieldID {
    guard let name else { throw .refused(.badName, "a new field needs a name") }
    do throws(WireError) {
      try Names.checkField(name)
    } catch {
      throw .refused(.badName, error.problem)
    }
    guard model.fields.count < limits.maxModelFields else {
      throw .refused(
        .modelFull, "the model has \(model.fields.count) fields; maxModelFields is \(limits.maxModelFields)")
    }
    let id = model.fields.add(String(decoding: name, as: UTF8.self))
    _ = model.hand.commits.introduce(name)
    return id
  }
}
