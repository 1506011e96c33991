/// Keeps one control and one value together. Everything happens on the main actor; nothing is compared by time, only by
/// value: what both sides showed when they last agreed tells an edit from an echo.
package final class TypedLink<Shown: Equatable>: ControlLink {
  private let model: ModelEnd<Shown>
  private let control: ControlEnd<Shown>
  private var onProblem: ProblemReport?
  /// In whose name edits are written, to be spared their echo.
  private let writer = Writer()
  /// What the control showed when it was last looked at: another value now is an edit.
  private var seen: Shown?
  /// The model had a value when it was last shown.
  private var wasThere = false
  /// The model did not take what the control shows.
  private var isRefused = false
  private var hasProblem = false
  private var isOver = false
  private var tokens: [ObserverToken] = []

  package init(_ model: ModelEnd<Shown>, _ control: ControlEnd<Shown>, _ onProblem: ProblemReport?) {
    self.model = model
    self.control = control
    self.onProblem = onProblem
  }

  package override func start() {
    guard let object = control.object else { return }
    if let editable = control.editable {
      tokens.append(editable.onEdit { [weak self] in self?.controlEdited() })
    }
    // The observation's first call shows the present value.
    tokens.append(model.observe(object, writer, whenWritten))
  }

  package override func end() {
    isOver = true
    for token in tokens { token.cancel() }
    tokens = []
    // What it captured is not needed any more.
    onProblem = nil
  }

  // MARK: From the model

  package override func modelChanged() {
    guard !isOver, (control.editable?.editing ?? .idle) == .idle else { return }
    isRefused = false
    tell(nil)
    show()
  }

  /// Shows what the model holds, if the control shows something else. A value that was there and is gone is cleared, so
  /// that no later edit brings it back.
  private func show() {
    if let value = model.read() {
      if control.shown() != value { control.show(value) }
      wasThere = true
    } else if wasThere {
      control.clear()
      wasThere = false
    } else {
      return
    }
    seen = control.shown()
  }

  // MARK: From the control

  package override func controlEdited() {
    let editing = control.editable?.editing ?? .idle
    guard !isOver, editing != .composing, let value = control.shown() else { return }
    if value != seen {
      seen = value
      write(value)
    }
    if editing == .idle, !isRefused { show() }
  }

  private func write(_ value: Shown) {
    isRefused = false
    guard model.read() != value else { return tell(nil) }
    do {
      try model.write(value, writer)
      let taken = model.read()
      tell(taken == value ? nil : .corrected(value, to: taken.map { "\($0)" } ?? "nothing"))
    } catch {
      isRefused = true
      tell(error)
    }
  }

  private func tell(_ problem: BindingError?) {
    guard problem != nil || hasProblem else { return }
    hasProblem = problem != nil
    onProblem?(problem)
  }
}
