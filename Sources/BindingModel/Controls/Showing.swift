/// A control without edits, such as a label: a value that refuses writes can be bound to it like any other.
@MainActor
public protocol DisplayControl: Bindable {}

extension DisplayControl {
  /// Shows a value that refuses writes (a derived value, a read-only view) until the control is bound again, unbound,
  /// or gone. Neither keeps the other's owner alive.
  @discardableResult @_disfavoredOverload
  public func bind(to source: some ValueSource<BindingType>) -> ObserverToken { source.show(in: self) }

  /// Shows a value that may be missing and refuses writes; nil clears the control.
  @discardableResult @_disfavoredOverload
  public func bind(to source: some ValueSource<BindingType?>) -> ObserverToken { source.show(in: self) }
}

extension ValueSource {
  /// Shows the value in a control, one way, whatever a person does there: `parity.show(in: label)`. This replaces the
  /// control's binding, and lasts as long as that would.
  @MainActor @discardableResult
  public func show<Control: Bindable>(in control: Control) -> ObserverToken where Control.BindingType == Value {
    control.show(ModelEnd(location, oneWay: { $0 }))
  }

  /// Shows a value that may be missing in a control, one way; the control is cleared when the value becomes nil.
  @MainActor @discardableResult
  public func show<Control: Bindable>(in control: Control) -> ObserverToken where Control.BindingType? == Value {
    control.show(ModelEnd(location, oneWay: { $0 }))
  }
}

// MARK: - Unavailable overloads, whose messages say what to write instead

extension Bindable {
  /// Unavailable: a control that a person can edit needs a value that can be written.
  @available(
    *, unavailable,
    message: "an edit would have nowhere to go: 'value.show(in: control)' shows it, or bind what it is computed from"
  )
  @discardableResult @_disfavoredOverload
  public func bind(to source: some ValueSource<BindingType>) -> ObserverToken {
    fatalError("unavailable")  // SAFETY: cannot be called
  }

  /// Unavailable: a value of another type needs a mapping.
  @available(
    *, unavailable, message: "the control shows another type: add a mapping, such as 'bind(to: age, map: NumberText())'"
  )
  @discardableResult @_disfavoredOverload
  public func bind<Other>(to source: some BindingSource<Other>, onProblem: ProblemReport? = nil) -> ObserverToken {
    fatalError("unavailable")  // SAFETY: cannot be called
  }
}
