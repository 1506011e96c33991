/// Keeps one control and one value equal, on the main actor. Nothing is compared by time, only by value: the values
/// that both sides showed when they last agreed tell an edit from an echo.
package final class TypedLink<Shown: Equatable>: ControlLink {
  private let model: ModelEnd<Shown>
  private let control: ControlEnd<Shown>
  private let commit: CommitTrigger
  private var onProblem: ProblemReport?
  /// The writer of edits, whose echo is left out.
  private let writer = Writer()
  /// What the control showed when it was last read: another value now is an edit.
  private var seen: Shown?
  /// The model had a value when that was last shown.
  private var wasThere = false
  /// The model refused what the control shows.
  private var isRefused = false
  private var hasProblem = false
  private var isOver = false
  /// The editing session of the person in the control; 0: nobody edits.
  private var session: UInt64 = 0
  /// The object that the model's value belongs to. Another one is another model: an edit in progress was meant for
  /// the former.
  private var target: AnyObject?
  private var tokens: [ObserverToken] = []

  package init(
    _ model: ModelEnd<Shown>, _ control: ControlEnd<Shown>, commit: CommitTrigger = .eachEdit,
    _ onProblem: ProblemReport?
  ) {
    self.model = model
    self.control = control
    self.commit = commit
    self.onProblem = onProblem
  }

  package override func start() {
    guard let object = control.object else { return }
    if let editable = control.editable {
      tokens.append(editable.onEdit { [weak self] in self?.controlEdited() })
    }
    target = model.target()
    // The observation's first call shows the current value, unless a person is editing.
    tokens.append(model.observe(object, writer, whenWritten))
    if !isOver { show() }
  }

  package override func end() {
    isOver = true
    for token in tokens { token.cancel() }
    tokens = []
    // A problem of this model, which the control no longer shows.
    report(nil)
    // Releases what it captured.
    onProblem = nil
    target = nil
  }

  // MARK: From the model

  package override func modelChanged() {
    guard !isOver else { return }
    guard turnsToAnother() || (editing == .idle && !(commit == .onDemand && hasUncommittedEdit)) else { return }
    showAfresh()
  }

  /// Shows the model's value, whatever was shown, and clears the problem.
  private func showAfresh() {
    isRefused = false
    report(nil)
    if !isOver { show() }
  }

  /// Whether the value belongs to another object than at the last check.
  private func turnsToAnother() -> Bool {
    let present = model.target()
    guard present !== target else { return false }
    target = present
    return true
  }

  /// Shows the model's value, if the control shows another. A control is cleared when its value is gone, so that no
  /// later edit brings that back. What the control shows then is no edit, even if the model has no value.
  private func show() {
    if let value = model.read() {
      if control.shown() != value { control.show(value) }
      wasThere = true
    } else if wasThere {
      control.clear()
      wasThere = false
    }
    seen = control.shown()
  }

  // MARK: From the control

  private var editing: Editing { control.editable?.editing ?? .idle }

  package override var hasUncommittedEdit: Bool {
    guard !isOver, control.isTwoWay, let value = control.shown() else { return false }
    return value != seen || isRefused
  }

  package override func commitEdit() {
    if editing != .composing { writeEdit(editing) }
  }

  package override func discardEdit() {
    if !isOver { showAfresh() }
  }

  package override func controlEdited() {
    let editing = editing
    if editing != .idle, session == 0 { session = EditSession.begin() }
    defer { if editing == .idle { session = 0 } }
    guard editing != .composing else { return }
    switch commit {
    case .eachEdit: writeEdit(editing)
    case .onLeave where editing == .idle: writeEdit(editing)
    case .onDemand where editing == .idle && !hasUncommittedEdit: writeEdit(editing)
    case .onLeave, .onDemand:
      // The control keeps what is typed, unless another model was chosen.
      if !isOver, turnsToAnother() { showAfresh() }
    }
  }

  /// Writes what the control shows, if it was edited.
  private func writeEdit(_ editing: Editing) {
    guard !isOver else { return }
    // An edit in progress when another model was chosen belongs to neither.
    if turnsToAnother() { return showAfresh() }
    guard let value = control.shown() else { return }
    let isEdit = value != seen
    if isEdit {
      seen = value
      write(value)
    }
    // The edit may have led to another binding of this control.
    guard !isOver, editing == .idle, !isRefused else { return }
    show()
    // Left after a correction, it shows the model's value: there is no problem any more.
    if !isEdit { report(nil) }
  }

  private func write(_ value: Shown) {
    isRefused = false
    guard model.read() != value else { return report(nil) }
    do {
      try EditSession.writing(in: session) { () throws(BindingError) in try model.write(value, writer) }
      let accepted = model.read()
      let isAccepted = accepted.map { $0 == value || model.isSame($0, value) } ?? false
      report(isAccepted ? nil : .corrected(value, to: accepted.map { "\($0)" } ?? "nothing"))
    } catch {
      isRefused = true
      report(error)
    }
  }

  private func report(_ problem: BindingError?) {
    guard problem != nil || hasProblem else { return }
    hasProblem = problem != nil
    onProblem?(problem)
  }
}
