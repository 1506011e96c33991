import BindingProtocol

/// What the pending batch makes of a model: decisions that are not stored yet.
extension ModelLog {
  /// The version that the next commit gets.
  var nextVersion: Version { (batch.pending.isOpen ? batch.pending.commits.version : version) + 1 }

  /// The number of fields that were named before the pending batch.
  var storedNames: Int { batch.pending.isOpen ? batch.pending.fieldsBefore : fields.count }

  func origin(ofWriter index: Int) -> Origin { writers.records[index].origin }

  /// Borrows a pending batch, and opens it for commits. Clocks of several hubs differ, and a clock may be set back: the
  /// times of one log never go back.
  func openBatch(epoch: Epoch, time: UInt64) {
    guard !batch.pending.isOpen else { return }
    batch.borrow()
    batch.pending.commits.begin(
      epoch: epoch, previous: version, time: max(time, position.time), namesKnown: FieldID(fields.count))
    batch.pending.fieldsBefore = fields.count
    batch.pending.isOpen = true
  }

  /// Gives a field the next id.
  func introduce(_ name: String) -> FieldID {
    _ = batch.pending.commits.introduce(name)
    return fields.add(name)
  }

  /// Records what the present commit makes of a field; `value` is its range in the body, nil a deletion.
  func record(_ id: FieldID, _ version: Version, value: Range<Int>?, by writer: Int) {
    batch.pending.touched.append((id, fields.decided(id)))
    fields.decide(id, .init(version: version, hasValue: value != nil, value: value ?? 0..<0, writer: writer))
  }

  /// The value that the pending batch gives a field.
  func decidedValue(_ id: FieldID) -> FieldValue? {
    let decided = fields.decided(id)
    return decided.hasValue ? FieldValue(bytes: batch.pending.commits.value(at: decided.value)) : nil
  }

  /// A field's value once the pending batch is stored.
  func decided(_ id: FieldID) -> FieldValue? { fields.isDecided(id) ? decidedValue(id) : fields[id].fieldValue }

  /// Whether a field has exactly this value.
  func isDecided(_ id: FieldID, as value: UnsafeRawBufferPointer) -> Bool {
    let slot = fields[id]
    guard fields.decided(id).hasValue else { return false }
    return fields.isDecided(id)
      ? decidedValue(id)?.bytes.elementsEqual(value) ?? false : slot.value.elementsEqual(value)
  }

  /// The holder of a field in an ephemeral model; nil: the field is free.
  func holder(of id: FieldID) -> Origin? {
    let decided = fields.decided(id)
    guard decided.hasValue else { return nil }
    return fields.isDecided(id) ? origin(ofWriter: decided.writer) : fields[id].origin
  }

  /// A field's decided state, for the writer that lost a comparison on it.
  func conflict(on field: FieldID, now: UInt64) -> Conflict {
    let slot = fields[field]
    if fields.isDecided(field) {
      let decided = fields.decided(field)
      return Conflict(
        field: slot.name, version: decided.version, origin: origin(ofWriter: decided.writer),
        ageMilliseconds: 0, value: decidedValue(field))
    }
    return Conflict(
      field: slot.name, version: slot.version, origin: slot.origin,
      ageMilliseconds: now > slot.time && slot.time > 0 ? now - slot.time : 0,
      value: slot.fieldValue)
  }

  // MARK: Rules

  /// Whether a value of this field needs a check against the rules, or is the description.
  @inline(__always)
  func isRuled(_ id: FieldID) -> Bool { rules.current.turn != 0 || id == fields.descriptionID }

  /// The rule of a field; nil: none.
  func rule(of id: FieldID) -> FieldRule? {
    rules.rule(of: id, count: fields.count, name: fields[id].name)
  }

  /// Removes the names from this id on. The next field with such an id is another one, with another rule.
  func dropNames(from id: Int) {
    fields.truncate(to: id)
    rules.dropFields(from: id)
  }

  // MARK: Ending the batch

  /// Closes the pending batch for the store; its answers stay until `appended`.
  /// - Parameter isShared: whether other hubs are told what its writers have confirmed.
  func finishBatch(epoch: Epoch, isShared: Bool = false) -> Batch {
    if isShared { SharedWriters.tellConfirmed(in: self) }
    batch.isAppending = true
    let pending = batch.pending
    let isEmpty = !pending.isOpen || pending.commits.isEmpty
    return Batch(
      model: id, record: position.record + 1, epoch: epoch, previous: version,
      version: isEmpty ? version : pending.commits.version,
      body: isEmpty ? [] : pending.commits.finish(), decisions: pending.decisions)
  }

  /// Undoes every decision that is not stored (R1).
  func dropBatch() {
    let namesStored = storedNames
    for (field, _) in batch.pending.touched where Int(field) < namesStored {
      fields.forgetDecision(field)
    }
    dropNames(from: namesStored)
    writers.undo(batch.pending.touchedWriters)
    rules.revertToStored()
    batch.lists.forget()
    clearBatch()
  }

  func clearBatch() {
    fields.endDecisions()
    batch.giveBack()
  }
}
