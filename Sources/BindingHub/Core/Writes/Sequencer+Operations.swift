import BindingProtocol

/// Applies a proposal's operations to the pending batch of its model.
extension Sequencer {
  /// - Returns: how many fields change.
  mutating func change(
    _ operations: OperationCursor, to version: Version, by writer: Int, in model: ModelLog
  ) throws(Verdict) -> Int {
    var operations = operations
    var changed = 0
    var violation: String?
    ordinal &+= 1
    while (try? operations.next()) == true {
      let verb = try verb(of: operations)
      if verb == .clear {
        try checkRightToClear(model)
        changed += try clear(to: version, by: writer, in: model)
        continue
      }
      if model.ephemeral != nil, let name = operations.name, name.elementsEqual(Names.me.utf8) {
        try checkRight(to: verb, Names.me, in: model)
        changed += try announce(operations.value, verb, version, writer, in: model)
        continue
      }
      let known = try field(operations.id, operations.name, in: model)
      if verb.isOfList || known.map({ model.fields[$0].isElement }) == true {
        try changeList(verb, known, operations, &violation, in: model)
        continue
      }
      if let known, model.ephemeral != nil { try checkHolder(of: known, writer, in: model) }
      if let known { try checkNamedOnce(known, version, in: model) }
      if verb == .delete {
        guard let known, model.fields.decided(known).hasValue else { continue }
        try checkRight(to: verb, model.fields[known].name, in: model)
        if deleteList(known, in: model) { continue }
        try decide(nil, for: known, version, writer, in: model)
        changed += 1
        continue
      }
      if verb == .setIfAbsent, let known, model.fields.decidedVersion(known) > 0 {
        if known == model.fields.descriptionID { record(operations.value, declaredBy: writer, of: model) }
        continue
      }
      guard let operand = operations.value else { continue }
      if verb == .describe {
        changed += try describe(operand, as: known, operations.name, version, writer, in: model)
        continue
      }
      try checkRight(to: verb, name(known, operations.name, in: model), in: model)
      if isShared, model.ephemeral != nil {
        try checkOwnable(name(known, operations.name, in: model), writer, in: model)
      }
      let id = if let known { known } else { try introduce(operations.name, in: model) }
      if operand.count > limits.maxValueBytes { try checkLength(operand.count, of: id, in: model) }
      if verb == .set || verb == .setIfAbsent {
        guard JSON.isValid(operand) else { throw malformed(operand, model.fields[id].name) }
        if model.ephemeral != nil, verb == .set, model.isDecided(id, as: operand), !model.isTaken(id) { continue }
        if model.isRuled(id), try renews(id, operand, verb, version, &violation, in: model) { continue }
        if let stored = model.ephemeral?.stored { try check(operand, for: model.fields[id].name, by: stored) }
        try decide(operand, for: id, version, writer, in: model)
        if verb == .setIfAbsent { model.batch.pending.weakFields.append((id, version)) }
      } else if try !merge(verb, operand, into: id, version, writer, &violation, in: model) {
        continue
      }
      changed += 1
    }
    if !edits.isEmpty { changed += try writeLists(to: version, by: writer, in: model) }
    try checkDescribed(version, violation, in: model)
    return changed
  }

  @inline(__always)
  private func verb(of operation: OperationCursor) throws(Verdict) -> Verb {
    guard let verb = operation.verb else {
      throw .refused(.unknownVerb, "verb \(operation.verbNumber) is unknown to this hub")
    }
    let takesNone = verb == .delete || verb == .clear
    guard (operation.value == nil) == takesNone else {
      throw .refused(.malformedValue, takesNone ? "\(verb) takes no value" : "\(verb) needs a value")
    }
    return verb
  }

  @inline(__always)
  private func checkDescribed(_ version: Version, _ violation: String?, in model: ModelLog) throws(Verdict) {
    // The values must fit the description that the proposal leaves, wherever in the proposal that is set.
    if model.rules.current.version == version {
      try checkAll(in: model)
      try DescriptionCheck(model: model).aliases()
      try DescriptionCheck(model: model).lists()
    } else if let violation {
      throw .refused(.doesNotFit, violation)
    }
  }

  /// Refuses a second operation on a field.
  @inline(__always)
  private func checkNamedOnce(_ field: FieldID, _ version: Version, in model: ModelLog) throws(Verdict) {
    guard model.fields[field].namedBy != ordinal, model.fields.decidedVersion(field) != version else {
      throw .refused(.duplicateField, "\(model.fields[field].name) appears twice in one proposal")
    }
    model.fields[field].namedBy = ordinal
  }

  /// Records a description proposed with `setIfAbsent` for a model that has one.
  @inline(never)
  private mutating func record(_ value: UnsafeRawBufferPointer?, declaredBy writer: Int, of model: ModelLog) {
    guard let value, value.count <= limits.maxDescriptionBytes, declared.count < Self.mostDeclared else { return }
    declared.append(Declared(origin: model.origin(ofWriter: writer), model: model, value: FieldValue(value)))
  }

  /// Deletes all fields; of an ephemeral model only the writer's.
  private mutating func clear(to version: Version, by writer: Int, in model: ModelLog) throws(Verdict) -> Int {
    var changed = 0
    try clearLists(in: model)
    for id in 0..<FieldID(model.fields.count) where model.fields.decided(id).hasValue {
      if model.ephemeral != nil {
        guard model.holder(of: id)?.tag == model.origin(ofWriter: writer).tag else { continue }
        // Slots are the hub's: only the announcement in them is deleted.
        if model.fields[id].name.hasPrefix(Names.presencePrefix) {
          changed += try announce(nil, .delete, version, writer, in: model)
          continue
        }
      }
      try decide(nil, for: id, version, writer, in: model)
      changed += 1
    }
    return changed
  }

  /// Checks a value against the description, or adopts it as the new description. `violation` receives the first
  /// violation.
  @inline(never)
  func check(
    _ value: UnsafeRawBufferPointer, for id: FieldID, _ version: Version, _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) {
    if id == model.fields.descriptionID {
      model.rules.describe(try rules(of: value, in: model), at: version)
      return
    }
    guard violation == nil, let rule = model.rule(of: id) else { return }
    if rule.isAlias {
      violation = DescriptionCheck(model: model).violation(ofAlias: model.fields[id].name)
    } else if rule.isList {
      violation = wordsOfList(value, for: id, rule, in: model)
    } else if rule.isEphemeral {
      let field = "\(model.id).\(model.fields[id].name)"
      violation = "\(field) is ephemeral: it belongs to the peer that writes it, and is not stored"
    } else if let words = rule.words(against: value) {
      violation = "\(model.id).\(model.fields[id].name): \(words)"
    }
  }

  private func check(
    _ value: FieldValue, for id: FieldID, _ version: Version, _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) {
    try value.bytes.withUnsafeBytes { bytes in
      Result { () throws(Verdict) in try check(bytes, for: id, version, &violation, in: model) }
    }.get()
  }

  /// Checks everything that the present commit writes against the description that it sets.
  private func checkAll(in model: ModelLog) throws(Verdict) {
    for (id, _) in model.batch.pending.touched[model.batch.pending.begun...] where id != model.fields.descriptionID {
      // `DescriptionCheck` knows what a list may hold.
      if !model.fields[id].isElement, model.rule(of: id)?.isList == true { continue }
      guard let value = model.decidedValue(id) else { continue }
      var violation: String?
      try check(value, for: id, 0, &violation, in: model)
      if let violation { throw .refused(.doesNotFit, violation) }
    }
  }

  /// Applies a merging verb. `violation` receives the first violation of the description by a result.
  /// - Returns: whether the field changes.
  private func merge(
    _ verb: Verb, _ operand: UnsafeRawBufferPointer, into id: FieldID, _ version: Version, _ writer: Int,
    _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) -> Bool {
    try checkNoList(id, in: model)
    let slot = model.fields[id]
    let present = model.fields.isDecided(id) ? model.decidedValue(id) : slot.fieldValue
    let value = FieldValue(operand)
    guard let merged = Merge.apply(verb, operand: value, to: present) else {
      let words = Merge.violation(verb, operand: value, to: present)
      throw .refused(verb == .union ? .malformedValue : .notANumber, "\(slot.name): \(words)")
    }
    if merged == present { return false }
    guard merged.bytes.count <= limits.maxBytes(of: slot.name) else {
      throw .refused(
        .valueTooLarge, "\(slot.name): \(verb) makes the value \(merged.bytes.count) bytes long; \(mostBytes)")
    }
    if model.isRuled(id), violation == nil || id == model.fields.descriptionID {
      try check(merged, for: id, version, &violation, in: model)
      if let words = violation, id != model.fields.descriptionID, model.rule(of: id)?.isAlias != true {
        let text = String(decoding: operand, as: UTF8.self)
        violation = "\(words) (\(verb) of \(text.prefix(40)) to \(present?.description.prefix(40) ?? "nothing"))"
      }
    }
    let fits = model.batch.pending.commits.change(id, merged)
    try record(fits, merged.bytes.count, for: id, version, writer, in: model)
    return true
  }

  var mostBytes: String { "a value may have \(limits.maxValueBytes) (maxValueBytes)" }

  func malformed(_ value: UnsafeRawBufferPointer, _ field: String) -> Verdict {
    .refused(.malformedValue, "\(field): \(JSON.fault(in: value) ?? "not JSON")")
  }

  /// Writes a value, or nil for a deletion, into the batch and records it.
  func decide(
    _ value: UnsafeRawBufferPointer?, for id: FieldID, _ version: Version, _ writer: Int, in model: ModelLog
  ) throws(Verdict) {
    if value == nil, id == model.fields.descriptionID { model.rules.describe(ModelRules(), at: version) }
    let fits = model.batch.pending.commits.change(id, value)
    try record(fits, value?.count, for: id, version, writer, in: model)
  }

  func record(
    _ fits: Bool, _ byteCount: Int?, for id: FieldID, _ version: Version, _ writer: Int, in model: ModelLog
  ) throws(Verdict) {
    guard fits else { throw .refused(.tooManyFields, "the proposal changes more fields than a commit can contain") }
    model.record(id, version, value: byteCount.map { model.batch.pending.commits.lastValue(of: $0) }, by: writer)
  }

  /// The field that an operation names; nil: the name is new.
  func field(
    _ id: FieldID?, _ name: UnsafeRawBufferPointer?, in model: ModelLog
  ) throws(Verdict) -> FieldID? {
    if let name { return model.fields.id(of: name) }
    guard let id, Int(id) < model.fields.count else {
      throw .refused(.unknownField, "there is no field \(id ?? 0); use its name")
    }
    return id
  }

  /// The name of a field by its id, or as an operation gives it.
  private func name(_ id: FieldID?, _ name: UnsafeRawBufferPointer?, in model: ModelLog) -> String {
    if let id { return model.fields[id].name }
    return name.map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// The last writer of the first field that a proposal sets, named in the report of a loop.
  func writerAnswered(by proposal: ProposalCursor, in model: ModelLog, _ time: HubTime) -> String {
    var operations = proposal.operations
    guard (try? operations.next()) == true, let field = try? field(operations.id, operations.name, in: model) else {
      return "others"
    }
    let other = model.conflict(on: field, now: time.wall).origin
    return other.tag == .none ? "others" : other.fullName
  }

  /// Why a model has no room for a new field, and the remedy.
  private func full(_ model: ModelLog) -> String {
    let (limit, deleted) = (limits.maxModelFields, model.fields.count - model.fields.valueCount)
    guard deleted > 0 else {
      return
        "the model has \(model.fields.count) fields; maxModelFields is \(limit). Delete unused fields, many at a time"
    }
    let cure = "Delete more fields: their names are released when \(max(limit / 8, 1)) fields are deleted"
    return "the model has \(model.fields.valueCount) fields and the names of \(deleted) deleted ones; maxModelFields, "
      + "for both, is \(limit). \(cure)"
  }

  func introduce(_ name: UnsafeRawBufferPointer?, in model: ModelLog) throws(Verdict) -> FieldID {
    if let name, Names.separator(in: name) != nil, Names.isElement(name) { throw notOfList(name, in: model) }
    return try introduceAny(name, in: model)
  }

  /// Gives a new name an id, also that of an element.
  func introduceAny(_ name: UnsafeRawBufferPointer?, in model: ModelLog) throws(Verdict) -> FieldID {
    guard let name else { throw .refused(.badName, "a new field needs a name") }
    do throws(WireError) {
      try Names.checkField(name)
    } catch {
      throw .refused(.badName, error.problem)
    }
    let ours = model.ephemeral == nil ? Names.description : Names.owner
    if name.first == UInt8(ascii: "@"), !name.elementsEqual(ours.utf8) {
      let text = String(decoding: name, as: UTF8.self)
      throw .refused(.badName, "\(text) is not a field of this model; its only reserved name is \(ours)")
    }
    guard model.fields.count < limits.maxModelFields else {
      throw .refused(.modelFull, full(model))
    }
    let id = model.fields.add(String(decoding: name, as: UTF8.self))
    _ = model.batch.pending.commits.introduce(name)
    return id
  }
}
