import BindingProtocol

/// Recording: what this peer writes, and what its commits replace.
extension UndoBook {
  // MARK: Writes

  /// Records a write. An ordinary one empties the redo stack.
  /// - Parameters:
  ///   - operations: what it does to each field.
  ///   - rules: its rules; a text has its own.
  ///   - shown: what each operation's field shows without the write.
  ///   - place: between which others the element of a list stands that a field is.
  mutating func record(
    _ write: WriteID, _ operations: [FieldOperation], _ rules: [String: RuledWrite], as role: UndoRole,
    shown: [FieldValue?], place: (String) -> ListOperand?, now: UInt64
  ) {
    let source = consumeTaken()
    guard role != .notUndoable,
      let parts = UndoBook.parts(of: operations, rules, isRestoring: source != nil)
    else { return }
    var step: UndoStep
    if let source {
      step = newStep()
      push(step, on: source.stack.other)
    } else {
      removeRedo()
      step = stepToJoin(parts, as: role, isPlacing: operations.contains(where: \.isPlacing), now: now)
    }
    for part in parts {
      let shown = operations.firstIndex { $0.field == part.field }.flatMap { shown[$0] }
      var field = step[part.field] ?? UndoField(part.field, part.kind)
      if part.kind == .text {
        field.edit(from: rules[part.field]?.base, to: part.operand)
      } else if step[part.field] == nil {
        (field.before, field.place) = (shown, place(part.field))
      }
      step[part.field] = field
    }
    for operation in operations where operation.verb == .move { step[operation.field]?.isMoved = true }
    step.writes.append(write)
    let changed = step
    change(step.id) { $0 = changed }
    notes[write] = Note(step: step.id, parts: parts, source: source)
    keepLimits()
  }

  /// The step to which a write belongs: the last one if it joins that, else a new one on top.
  /// - Parameter isPlacing: elements of lists come, go or move.
  private mutating func stepToJoin(
    _ parts: [Part], as role: UndoRole, isPlacing: Bool, now: UInt64
  ) -> UndoStep {
    var edit: UInt64 = 0
    if case .step(let session) = role { edit = session }
    // What is soon done to the same element is one step only if an editing session or a group says so.
    let isAlone = isPlacing && edit == 0 && openGroup == 0
    if var last = undo.last, !isAlone, last.isJoined(by: parts, group: openGroup, edit: edit, now: now) {
      last.writtenAt = now
      replaceTop(by: last)
      return last
    }
    var step = newStep()
    (step.group, step.edit) = (openGroup, edit)
    // Additions are steps of their own, and so is what a group or a restoring write does.
    step.writtenAt = isAlone ? nil : now
    push(step, on: .undo)
    return step
  }

  /// What a write does to each field; nil if it cannot be undone.
  private static func parts(
    of operations: [FieldOperation], _ rules: [String: RuledWrite], isRestoring: Bool
  ) -> [Part]? {
    var parts: [Part] = []
    for operation in operations {
      let part: Part
      switch operation.verb {
      case .set where rules[operation.field]?.rule == .text:
        part = Part(field: operation.field, kind: .text, operand: operation.value)
      case .set:
        part = Part(field: operation.field, kind: .set, operand: operation.value, left: .init(operation.value))
      // A `clear` comes as the deletions that it means.
      case .delete, .clear: part = Part(field: operation.field, kind: .set, left: .absent)
      case .max, .min: part = Part(field: operation.field, kind: .set)
      case .add: part = Part(field: operation.field, kind: .add, operand: operation.value)
      case .insert, .move, .replace: part = Part(field: operation.field, kind: .set)
      case .setIfAbsent, .union, .describe: return nil
      }
      // The protocol's own fields return only with a model that was removed.
      if operation.field.hasPrefix("@"), operation.verb != .delete, !isRestoring { return nil }
      // An element may be moved and replaced.
      if operation.verb == .move || operation.verb == .replace, parts.contains(where: { $0.field == part.field }) {
        continue
      }
      parts.append(part)
    }
    // Each comes back on a condition.
    return parts.isEmpty || parts.count > Condition.maxCount ? nil : parts
  }

  // MARK: Commits

  /// A commit of this peer changes a field. Called before the replica applies it.
  mutating func commit(
    _ write: WriteID, _ name: String, over before: Replica.Field, in epoch: Epoch, to value: FieldValue?,
    at point: UndoPoint
  ) {
    guard let note = notes[write] else { return }
    let beforeAt = UndoPoint(epoch: epoch, version: before.version)
    guard let part = note.parts.first(where: { $0.field == name }) else {
      return spread(name, over: before.value, at: beforeAt, to: value, at: point)
    }
    change(note.step) { step in
      guard var field = step[name] else { return }
      field.commit(part, over: before.value, at: beforeAt)
      field.at = point
      field.left = .init(value)
      step[name] = field
    }
    if let source = note.source?.step[name] { follow(source, name, to: point, left: .init(value)) }
  }

  /// A write has taken a step back: what stood before that step stands again, now at `point`. Steps that left it may
  /// be taken back in their turn.
  mutating func follow(
    _ source: UndoField, _ name: String, to point: UndoPoint, left: UndoField.Left
  ) {
    guard let former = source.beforeAt, former.version > 0 else { return }
    changeAll { step in
      guard var field = step[name], field.at == former else { return false }
      // An element is back in its place, perhaps with another rank.
      guard field.left == left || field.isElement else { return false }
      field.at = point
      field.left = left
      step[name] = field
      return true
    }
  }

  /// The commit of a write has been applied.
  mutating func finish(_ write: WriteID, over replica: Replica) {
    followUnwritten(write, over: replica)
    guard let note = removeNote(write) else { return }
    change(note.step) { $0.writes.removeAll { $0 == write } }
    removeIfEmpty(note.step)
    keepLimits()
  }

  /// A write has its outcome. Its commit may be in the replica already, folded with others.
  mutating func settle(_ write: WriteID, as outcome: Outcome, over replica: Replica) {
    guard notes[write] != nil else { return }
    switch outcome {
    case .committed(let epoch, let version):
      notes[write]?.committed = UndoPoint(epoch: epoch, version: version)
      fold(into: replica)
    case .superseded: detach(write, isFailed: false)
    case .unchanged:
      followUnwritten(write, over: replica)
      detach(write, isFailed: true)
    case .refused, .conflict, .expired, .unknown: detach(write, isFailed: true)
    }
  }

  /// The write takes no effect, or a later one has it too.
  private mutating func detach(_ write: WriteID, isFailed: Bool) {
    guard let note = removeNote(write) else { return }
    if isFailed, note.source != nil { return remove(note.step) }
    let pending = notes.values.filter { $0.step == note.step }.flatMap { $0.parts.map(\.field) }
    change(note.step) { step in
      step.writes.removeAll { $0 == write }
      for part in note.parts where step[part.field]?.at == nil && !pending.contains(part.field) {
        if part.kind != .text || isFailed { step[part.field] = nil }
      }
    }
    removeIfEmpty(note.step)
  }

  private mutating func removeIfEmpty(_ id: UInt64) {
    if let (step, _) = find(id), step.isEmpty { remove(id) }
  }

  // MARK: Folded commits

  /// Notes that commits of this peer are in the replica without having been applied one by one: what stood before them
  /// is not known here, and is asked.
  mutating func fold(into replica: Replica) {
    for (write, note) in notes {
      guard let point = note.committed,
        point.epoch < replica.epoch
          || point.epoch == replica.epoch && point.version <= replica.version
      else {
        continue
      }
      for part in note.parts { fold(part, of: note, at: point, replica.field(part.field), in: replica.epoch) }
      finish(write, over: replica)
    }
  }

  private mutating func fold(
    _ part: Part, of note: Note, at point: UndoPoint, _ present: Replica.Field?, in epoch: Epoch
  ) {
    // The commit has left the field alone: an element stood where it was moved to.
    if point.epoch == epoch, let present, present.value != nil, present.version < point.version { return }
    let isThere = point.epoch == epoch && present?.version == point.version
    let left = isThere ? UndoField.Left(present?.value) : part.left
    change(note.step) { step in
      guard var field = step[part.field], field.at != point else { return }
      field.fold(part)
      field.at = point
      field.left = left
      step[part.field] = field
    }
    if isThere, let source = note.source?.step[part.field] { follow(source, part.field, to: point, left: left) }
    guard isThere, part.kind == .set, let field = find(note.step)?.step[part.field], !field.isBeforeKnown else {
      return
    }
    questions.append(PastQuestion(step: note.step, field: part.field, epoch: point.epoch, version: point.version))
  }

  /// The answer to a question about the past. Without it the step fails when it is its turn.
  mutating func answer(_ question: PastQuestion, with answer: PastAnswer) {
    let point = UndoPoint(epoch: question.epoch, version: question.version)
    guard case .value(let value, let version) = answer, version < point.version else { return }
    change(question.step) { step in
      guard var field = step[question.field], field.at == point, !field.isBeforeKnown else { return }
      field.before = value
      field.beforeAt = UndoPoint(epoch: point.epoch, version: version)
      field.isBeforeKnown = true
      step[question.field] = field
    }
  }
}

extension UndoStep {
  /// Whether a write joins the step: it is in the same group or editing session, or sets the same fields soon after.
  fileprivate func isJoined(by parts: [UndoBook.Part], group: UInt64, edit: UInt64, now: UInt64) -> Bool {
    // A text has its edits, other fields what was committed: the two do not mix.
    let fits = parts.allSatisfy { part in
      self[part.field].map { ($0.kind == .text) == (part.kind == .text) } ?? true
    }
    guard fits, let writtenAt else { return false }
    if group != 0 || self.group != 0 { return group == self.group }
    guard fields.count == parts.count, parts.allSatisfy({ $0.kind != .add && self[$0.field] != nil }),
      fields.allSatisfy({ $0.kind != .add }), edit == self.edit
    else { return false }
    return edit != 0 || now < writtenAt + UndoLimits.joinMilliseconds
  }
}

extension UndoField {
  /// Adds an edit of a text. What others wrote since the last one is no edit of this peer.
  fileprivate mutating func edit(from base: FieldValue?, to text: FieldValue?) {
    if let after {
      if !FieldValue.isSame(after, base) {
        before = FieldValue.mergedText(base: after, first: base, second: before) ?? base
      }
    } else {
      before = base
    }
    after = text
    isBeforeKnown = true
  }

  /// One more commit. What a foreign commit overwrote in between cannot be taken back: the value before the last one
  /// counts.
  fileprivate mutating func commit(_ part: UndoBook.Part, over value: FieldValue?, at point: UndoPoint) {
    let isFirst = at == nil
    let follows = at == point
    if part.kind == .text {
      if isFirst { beforeAt = point }
      return
    }
    if !isFirst, kind == .add, part.kind == .add {
      sum = sum.flatMap { sum in part.operand.flatMap { Merge.apply(.add, operand: $0, to: sum) } }
      return
    }
    if follows, !isFirst {
      // An addition and a set in one group: the value before both comes back.
      (kind, sum) = (.set, nil)
      return
    }
    (kind, sum) = (part.kind, part.kind == .add ? part.operand : nil)
    (before, beforeAt, isBeforeKnown) = (value, point, true)
  }

  /// One more commit, of which only the result is known.
  fileprivate mutating func fold(_ part: UndoBook.Part) {
    if part.kind == .text { return }
    if part.kind == .add, at == nil || kind == .add {
      let former = at == nil ? nil : sum
      kind = .add
      sum = part.operand.flatMap { Merge.apply(.add, operand: $0, to: former) }
      beforeAt = nil
      return
    }
    (kind, sum) = (.set, nil)
    (beforeAt, isBeforeKnown) = (nil, false)
  }
}
