import BindingProtocol

/// The steps that can be undone and redone in one model, in the order in which they were made.
///
/// A step is made when its first write is, and stays open until the write's commit arrives: only then the value before
/// it and its version are known. An undo or redo is a write that makes a step on the other stack, in the same way.
struct UndoBook: Sendable {
  enum Stack: UInt8, Sendable {
    case undo = 0
    case redo

    var other: Stack { self == .undo ? .redo : .undo }
  }

  /// A write that belongs to a step and whose commit has not arrived.
  struct Note: Sendable {
    let step: UInt64
    var parts: [Part]
    /// Its number, if this run sends it.
    var number: ProposalNumber?
    /// Where the hub committed it, once that is known.
    var committed: UndoPoint?
    /// The step that it takes back, and where that stood.
    var source: (step: UndoStep, stack: Stack)?
  }

  /// What a write does to one field.
  struct Part: Sendable {
    let field: String
    let kind: UndoField.Kind
    /// What `add` adds.
    var operand: FieldValue?
    /// The value that it leaves, where that does not depend on the one before.
    var left = UndoField.Left.unknown
  }

  private(set) var undo: [UndoStep] = []
  private(set) var redo: [UndoStep] = []
  /// By write; few, since each waits for its commit.
  var notes: [WriteID: Note] = [:]
  /// The write of each number in `notes`.
  private var numbers: [ProposalNumber: WriteID] = [:]
  /// The step that the next restoring write takes back.
  private(set) var taken: (step: UndoStep, stack: Stack)?
  /// The open group, and how often it was begun.
  private var group: (number: UInt64, depth: Int) = (0, 0)
  private(set) var lastStep: UInt64
  /// The steps that an outbox file has to record anew, and those that it has.
  var dirty: Swift.Set<UInt64> = []
  var kept: Swift.Set<UInt64> = []
  var questions: [PastQuestion] = []
  /// Why restoring writes were given up before they were sent.
  private(set) var failures: [WriteID: UndoFailure] = [:]
  /// The log that the steps belong to; nil: not known yet.
  var log: LogID?

  /// - Parameter lastStep: no step has a higher number.
  init(after lastStep: UInt64) { self.lastStep = lastStep }

  // MARK: Reading

  var state: UndoState { UndoState(undoes: undo.last?.names, redoes: redo.last?.names) }

  func top(_ stack: Stack) -> UndoStep? { stack == .undo ? undo.last : redo.last }

  /// The step that a write takes back; nil: it is an ordinary one.
  func source(of write: WriteID) -> UndoStep? { notes[write]?.source?.step }

  func write(numbered number: ProposalNumber) -> WriteID? { numbers[number] }

  /// A step and where it stands, that of a write that takes it back included.
  func find(_ id: UInt64) -> (step: UndoStep, stack: Stack)? {
    if let step = undo.last(where: { $0.id == id }) { return (step, .undo) }
    if let step = redo.last(where: { $0.id == id }) { return (step, .redo) }
    return notes.values.lazy.compactMap(\.source).first { $0.step.id == id }
  }

  // MARK: Changing steps

  /// Changes a step wherever it is.
  mutating func change(_ id: UInt64, _ body: (inout UndoStep) -> Void) {
    if let index = undo.lastIndex(where: { $0.id == id }) {
      body(&undo[index])
    } else if let index = redo.lastIndex(where: { $0.id == id }) {
      body(&redo[index])
    } else if let write = notes.first(where: { $0.value.source?.step.id == id })?.key {
      if var source = notes[write]?.source {
        body(&source.step)
        notes[write]?.source = source
      }
    } else {
      return
    }
    dirty.insert(id)
  }

  /// Changes all steps, those being taken back included.
  mutating func changeAll(_ body: (inout UndoStep) -> Bool) {
    for index in undo.indices where body(&undo[index]) { dirty.insert(undo[index].id) }
    for index in redo.indices where body(&redo[index]) { dirty.insert(redo[index].id) }
    for write in Array(notes.keys) {
      guard var source = notes[write]?.source, body(&source.step) else { continue }
      notes[write]?.source = source
      dirty.insert(source.step.id)
    }
  }

  /// All steps, those being taken back included.
  var all: [UndoStep] { undo + redo + notes.values.compactMap { $0.source?.step } }

  mutating func newStep() -> UndoStep {
    lastStep += 1
    return UndoStep(id: lastStep)
  }

  /// Puts a step on top of a stack; beyond the limits the oldest go.
  mutating func push(_ step: UndoStep, on stack: Stack) {
    dirty.insert(step.id)
    if stack == .undo { undo.append(step) } else { redo.append(step) }
  }

  /// Puts a step where its number belongs.
  mutating func insert(_ step: UndoStep, in stack: Stack) {
    lastStep = max(lastStep, step.id)
    push(step, on: stack)
    if stack == .undo { undo.sort { $0.id < $1.id } } else { redo.sort { $0.id < $1.id } }
  }

  /// Replaces the top step of undo.
  mutating func replaceTop(by step: UndoStep) {
    undo[undo.count - 1] = step
    dirty.insert(step.id)
  }

  mutating func pop(_ stack: Stack) -> UndoStep? {
    let step = stack == .undo ? undo.popLast() : redo.popLast()
    if let step { dirty.insert(step.id) }
    return step
  }

  /// Takes the top step off a stack: the write recorded next takes it back.
  mutating func take(_ stack: Stack) { taken = pop(stack).map { ($0, stack) } }

  /// The write could not be made: the step stays where it was, or goes.
  mutating func putBack(dropping isDropped: Bool) {
    if let (step, stack) = consumeTaken(), !isDropped { push(step, on: stack) }
  }

  /// Removes a step whose writes are about to end unsent. What it took back stands again; what it did first can be
  /// done again.
  mutating func withdraw(
    _ step: UndoStep, on stack: Stack, over replica: Replica, shown: [String: FieldValue],
    place: (String) -> ListOperand?
  ) {
    let source = step.writes.compactMap { notes[$0]?.source }.first
    let again = source ?? (repetition(of: step, in: replica, shown: shown, place: place), stack.other)
    for write in step.writes { _ = removeNote(write) }
    remove(step.id)
    push(again.step, on: again.stack)
  }

  mutating func takeQuestions() -> [PastQuestion] {
    defer { questions.removeAll() }
    return questions
  }

  mutating func remove(_ id: UInt64) {
    undo.removeAll { $0.id == id }
    redo.removeAll { $0.id == id }
    dirty.insert(id)
  }

  mutating func removeRedo() {
    for step in redo { dirty.insert(step.id) }
    redo.removeAll()
  }

  /// Removes all steps: they belong to another log, or to a model that this peer may not read any more.
  mutating func removeAll() {
    for step in all { dirty.insert(step.id) }
    undo.removeAll()
    redo.removeAll()
    notes.removeAll()
    numbers.removeAll()
    questions.removeAll()
  }

  /// Drops the oldest steps beyond the limits, those to undo first.
  mutating func keepLimits() {
    var bytes = undo.reduce(0) { $0 + $1.bytes } + redo.reduce(0) { $0 + $1.bytes }
    while undo.count + redo.count > UndoLimits.maxSteps || bytes > UndoLimits.maxBytes {
      guard let oldest = undo.first ?? redo.first else { return }
      bytes -= oldest.bytes
      remove(oldest.id)
    }
  }

  // MARK: Groups

  /// The writes until `endGroup` are one step. Groups nest; the outermost one counts.
  mutating func beginGroup() {
    if group.depth == 0 {
      lastStep += 1
      group.number = lastStep
    }
    group.depth += 1
  }

  mutating func endGroup() { group.depth = max(group.depth - 1, 0) }

  /// The number of the open group; 0: none.
  var openGroup: UInt64 { group.depth > 0 ? group.number : 0 }

  /// No later write joins the present step.
  mutating func close() {
    if let last = undo.indices.last { undo[last].writtenAt = nil }
  }

  /// No step has a higher number than the last one, nor this one.
  mutating func lastStep(atLeast id: UInt64) { lastStep = max(lastStep, id) }

  /// The hub has given an element, which the write does not name, another rank to make room beside it. It is where it
  /// was among the others, so the steps that left it there still may be taken back.
  mutating func spread(
    _ name: String, over before: FieldValue?, at former: UndoPoint, to value: FieldValue?, at point: UndoPoint
  ) {
    guard ListElements.parts(of: name) != nil, let before = before.flatMap(PendingElement.element),
      let now = value.flatMap(PendingElement.element), FieldValue.isSame(before, now)
    else { return }
    changeAll { step in
      guard var field = step[name], field.at == former else { return false }
      field.at = point
      field.left = .init(value)
      step[name] = field
      return true
    }
  }

  /// The final operations of a write that takes a step back: it leaves the other fields alone.
  mutating func restrict(_ write: WriteID, to operations: [FieldOperation]) {
    guard let note = notes[write] else { return }
    let left = note.parts.map(\.field).filter { name in !operations.contains { $0.field == name } }
    change(note.step) { step in
      for part in note.parts {
        step[part.field]?.isMoved = operations.contains { $0.field == part.field && $0.verb == .move }
      }
    }
    guard !left.isEmpty else { return }
    notes[write]?.parts.removeAll { left.contains($0.field) }
    change(note.step) { step in for name in left where step[name]?.at == nil { step[name] = nil } }
  }

  // MARK: Numbers and failures

  /// The write gets this number; a write that lost a comparison gets another one.
  mutating func number(_ write: WriteID, _ number: ProposalNumber) {
    guard notes[write] != nil else { return }
    if let former = notes[write]?.number { numbers[former] = nil }
    notes[write]?.number = number
    numbers[number] = write
  }

  /// The step that the write being recorded takes back.
  mutating func consumeTaken() -> (step: UndoStep, stack: Stack)? { taken.take() }

  mutating func removeNote(_ write: WriteID) -> Note? {
    guard let note = notes.removeValue(forKey: write) else { return nil }
    if let number = note.number { numbers[number] = nil }
    if let source = note.source { dirty.insert(source.step.id) }
    return note
  }

  /// A write that was to take back a step is given up.
  mutating func fail(_ write: WriteID, _ failure: UndoFailure) {
    // Each is asked for once its write has ended; a program that asks for none keeps none.
    if failures.count >= UndoLimits.maxSteps { failures.removeAll() }
    failures[write] = failure
  }

  mutating func takeFailure(of write: WriteID) -> UndoFailure? { failures.removeValue(forKey: write) }
}
