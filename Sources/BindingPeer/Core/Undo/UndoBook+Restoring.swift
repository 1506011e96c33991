import BindingProtocol

/// Taking steps back: whether one still may be, and by which operations.
extension UndoBook {
  private struct Place: Hashable {
    let field: String
    let point: UndoPoint
  }

  // MARK: Epochs

  /// The replica has another epoch: the versions that the steps know are of the past. A field that has the value that
  /// its last step left is taken to be unchanged, at its present version; what any other field had is lost.
  mutating func rebase(onto replica: Replica) {
    var followers: [Place: UndoField] = [:]
    for step in all {
      for field in step.fields where field.at != nil {
        if let before = field.beforeAt { followers[Place(field: field.name, point: before)] = field }
      }
    }
    changeAll { step in
      var isChanged = false
      for index in step.fields.indices {
        let field = step.fields[index]
        guard let at = field.at, at.epoch != replica.epoch, !field.isLost, field.kind != .text else { continue }
        // The value that stands is that of the last step in the chain.
        var (last, length) = (field, 0)
        while length < UndoLimits.maxSteps, let point = last.at,
          let next = followers[Place(field: last.name, point: point)]
        {
          (last, length) = (next, length + 1)
        }
        let present = replica.field(field.name)
        if last.left != UndoField.Left(present?.value) {
          step.fields[index].isLost = true
        } else if length == 0 {
          step.fields[index].at = UndoPoint(epoch: replica.epoch, version: replica.unchangedSince(present))
        } else {
          continue
        }
        isChanged = true
      }
      return isChanged
    }
  }

  // MARK: Taking a step back

  /// Why a step cannot be taken back, as far as it is known here; nil: nothing stands in the way.
  /// - Parameters:
  ///   - isPending: whether a write of this peer over a field has no commit yet: that is waited for.
  ///   - isOwn: whether a writer is this peer.
  static func obstacle(
    to step: UndoStep, in replica: Replica, isPending: (String) -> Bool, isOwn: (Tag) -> Bool
  ) -> UndoFailure? {
    for field in step.fields where field.kind != .text {
      if field.isLost { return lost(field, replica.field(field.name), isOwn) }
      // Before a hub was seen nothing can be compared.
      guard field.kind == .set, field.at != nil, replica.epoch != 0, !isPending(field.name) else { continue }
      guard field.isUnchanged(in: replica) else {
        let present = replica.field(field.name)
        let origin = present?.origin ?? .none
        return UndoFailure(
          field: field.name,
          cause: .changed(by: origin, isOwn: isOwn(origin.tag), isDeleted: present?.value == nil))
      }
      guard field.isBeforeKnown else { return UndoFailure(field: field.name, cause: .unknownBefore) }
    }
    return nil
  }

  /// A new epoch has another value than the step left: somebody wrote it, or the step was lost.
  private static func lost(
    _ field: UndoField, _ present: Replica.Field?, _ isOwn: (Tag) -> Bool
  ) -> UndoFailure {
    guard field.kind == .set, let present, present.value != nil, !isOwn(present.origin.tag) else {
      return UndoFailure(field: field.name, cause: .lost)
    }
    return UndoFailure(field: field.name, cause: .changed(by: present.origin, isOwn: false, isDeleted: false))
  }

  /// The operations that take a step back, as they show now, with their rules. A field whose commit is under way gets
  /// its final value when it is sent (`finalize`).
  func restoration(
    of step: UndoStep, in replica: Replica, _ lists: ModelLists, shown: (String) -> FieldValue?
  ) -> (Proposal, [String: RuledWrite]) {
    var proposal = Proposal(operations: [])
    var rules: [String: RuledWrite] = [:]
    for field in step.fields where !field.isElement {
      switch field.kind {
      case .set:
        proposal.operations.append(FieldOperation(restoring: field.name, to: field.before))
        rules[field.name] = RuledWrite(.restore, base: nil)
      case .add:
        guard let amount = added(to: field, by: step)?.negated else { continue }
        proposal.operations.append(FieldOperation(.add, field.name, amount))
        rules[field.name] = RuledWrite(.restore, base: nil)
      case .text:
        let now = shown(field.name)
        guard let text = FieldValue.mergedText(base: field.after, first: now, second: field.before) else { continue }
        proposal.operations.append(FieldOperation(.set, field.name, text))
        rules[field.name] = RuledWrite(.text, base: now)
      }
    }
    // Elements come last: the description of their list may come back before them.
    var elements = ElementRestoration(over: replica) { lists[$0]?.ids ?? [] }
    for operation in elements.operations(for: step.fields.filter(\.isElement), present: shown) {
      proposal.operations.append(operation)
      rules[operation.field] = RuledWrite(.restore, base: nil)
    }
    return (proposal, rules)
  }

  /// What a step has added to a field, including what is not committed yet.
  private func added(to field: UndoField, by step: UndoStep) -> FieldValue? {
    let pending = step.writes.compactMap { write in
      notes[write]?.parts.first { $0.field == field.name && $0.kind == .add }?.operand
    }
    return pending.reduce(field.sum) { sum, operand in Merge.apply(.add, operand: operand, to: sum) }
  }

  /// Gives a write that takes a step back its final values and conditions, now that the commits of the step are known.
  /// - Returns: why it must not be sent; nil: it may be.
  static func finalize(
    _ write: inout Pending, from step: UndoStep, in replica: Replica, isOwn: (Tag) -> Bool
  ) -> UndoFailure? {
    if let failure = obstacle(to: step, in: replica, isPending: { _ in false }, isOwn: isOwn) { return failure }
    for operation in write.proposal.operations
    where write.rules[operation.field] == .restore && ListElements.parts(of: operation.field) == nil {
      // A field without an effect has nothing to take back: its write failed.
      guard let field = step[operation.field], let at = field.at else {
        write.remove(operation.field)
        continue
      }
      switch field.kind {
      case .set:
        write.replace(operation.field, by: FieldOperation(restoring: field.name, to: field.before))
        write.proposal.conditions.append(Condition(field: field.name, epoch: at.epoch, version: at.version))
      case .add:
        if let amount = field.sum?.negated {
          write.replace(operation.field, by: FieldOperation(.add, field.name, amount))
        }
      case .text: break
      }
    }
    finalizeElements(&write, from: step, in: replica)
    return nil
  }

  /// `finalize` for elements of lists: where they go depends on what is there now.
  private static func finalizeElements(_ write: inout Pending, from step: UndoStep, in replica: Replica) {
    let names = write.proposal.operations.map(\.field).filter { name in
      write.rules[name] == .restore && ListElements.parts(of: name) != nil
    }
    guard !names.isEmpty else { return }
    // An element without an effect has nothing to take back: its write failed.
    let fields = step.fields.filter { $0.at != nil && names.contains($0.name) }
    var restoration = ElementRestoration(over: replica) { replica.order(of: $0) }
    let operations = restoration.operations(for: fields) { replica.field($0)?.value }
    write.replaceElements(names, by: operations)
    for field in fields {
      guard let at = field.at, operations.contains(where: { $0.field == field.name }) else { continue }
      write.proposal.conditions.append(Condition(field: field.name, epoch: at.epoch, version: at.version))
    }
  }

  // MARK: Without effect

  /// What a write that takes a step back did not have to change was as before that step already.
  mutating func followUnwritten(_ write: WriteID, over replica: Replica) {
    followUnwritten(notes[write]?.source?.step.fields ?? [], over: replica)
  }

  private mutating func followUnwritten(_ fields: [UndoField], over replica: Replica) {
    for field in fields where field.kind == .set {
      guard let at = field.at, field.isUnchanged(in: replica) else { continue }
      follow(field, field.name, to: at, left: .init(replica.field(field.name)?.value))
    }
  }

  /// Drops a step whose fields are as they were before it, so that nothing has to be written.
  /// - Returns: whether it is one.
  mutating func dropIfVoid(_ step: UndoStep, over replica: Replica) -> Bool {
    guard step.fields.allSatisfy({ $0.isUnchanged(in: replica) }) else { return false }
    followUnwritten(step.fields, over: replica)
    remove(step.id)
    return true
  }

  /// A step that writes again what this peer wrote and withdrew before it was sent.
  /// - Parameters:
  ///   - shown: what each field shows with the write.
  ///   - place: where the element of a list stands that a field is, with the write.
  mutating func repetition(
    of step: UndoStep, in replica: Replica, shown: [String: FieldValue], place: (String) -> ListOperand?
  ) -> UndoStep {
    var repetition = newStep()
    for field in step.fields {
      var again = UndoField(field.name, field.kind)
      let present = replica.field(field.name)
      again.at = UndoPoint(epoch: replica.epoch, version: replica.unchangedSince(present))
      again.left = UndoField.Left(present?.value)
      (again.before, again.isBeforeKnown, again.place) = (shown[field.name], true, place(field.name))
      again.isMoved = field.isMoved
      if field.kind == .add { again.sum = added(to: field, by: step)?.negated }
      repetition.fields.append(again)
    }
    return repetition
  }
}

extension UndoField {
  /// Whether the field is as the step left it.
  fileprivate func isUnchanged(in replica: Replica) -> Bool {
    guard let at, at.epoch == replica.epoch else { return false }
    let present = replica.field(name)
    guard let present, present.value != nil else {
      // A snapshot does not say when a field was deleted: the condition finds out.
      return left == .absent && (present?.version ?? 0) <= at.version
    }
    return present.version == at.version
  }
}

extension Replica {
  /// The version since which a field is known to be unchanged; for one without a value that of the replica.
  func unchangedSince(_ field: Field?) -> Version {
    guard let field, field.version > 0 else { return version }
    return field.value == nil ? version : field.version
  }
}

extension FieldOperation {
  fileprivate init(restoring field: String, to value: FieldValue?) {
    if let value { self.init(.set, field, value) } else { self.init(.delete, field) }
  }
}

extension FieldValue {
  /// The number with the other sign; nil if that is no finite number.
  fileprivate var negated: FieldValue? {
    switch jsonIfValid {
    case .integer(let number)? where number != .min: FieldValue(json: .integer(-number))
    case .integer(let number)?: FieldValue(json: .number(-Double(number)))
    case .number(let number)? where number.isFinite: FieldValue(json: .number(-number))
    default: nil
    }
  }
}

extension Pending {
  fileprivate mutating func replace(_ field: String, by operation: FieldOperation) {
    for index in proposal.operations.indices where proposal.operations[index].field == field {
      guard proposal.operations[index] != operation else { continue }
      proposal.operations[index] = operation
      merging.isRewritten = true
    }
    for index in overlay.indices where overlay[index].field == field { overlay[index] = operation }
  }

  /// As `replace`, for elements of lists, which may have several operations each.
  fileprivate mutating func replaceElements(_ fields: [String], by operations: [FieldOperation]) {
    proposal.operations.removeAll { fields.contains($0.field) }
    overlay.removeAll { fields.contains($0.field) }
    proposal.operations += operations
    overlay += operations
    for field in fields where !operations.contains(where: { $0.field == field }) {
      overlay.append(FieldOperation(.setIfAbsent, field, nil))
    }
    merging.isRewritten = true
  }

  /// The write leaves the field alone. The overlay keeps an operation for each field, which finds the write: it sets
  /// nothing.
  fileprivate mutating func remove(_ field: String) {
    proposal.operations.removeAll { $0.field == field }
    for index in overlay.indices where overlay[index].field == field {
      overlay[index] = FieldOperation(.setIfAbsent, field, nil)
    }
    merging.isRewritten = true
  }
}
