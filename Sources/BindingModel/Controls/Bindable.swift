/// An object with one value that can be bound: `slider.bind(to: lamp.$level)`.
///
/// A class needs two lines for it: the value it shows, and how it shows another. If it is `Editable` too, the binding
/// works both ways; if not, call `valueChanged()` after an edit.
///
/// Rules for every control:
/// - The model's value is shown when the control is bound, and again on every change, whichever code writes it, on
///   any thread.
/// - A control that shows the value already is not written: cursors and selections stay.
/// - A control that a person is editing (`Editable.editing`) is not written until that person has left it.
/// - An edit is written to the model once. If the model refuses it, what was typed stays, and `onProblem` receives
///   the reason; if the model stores another value, the control shows that.
/// - A new binding replaces the one before, so that a row can be reused for another model. Neither model nor control
///   keeps the other alive.
@MainActor
public protocol Bindable: AnyObject {
  associatedtype BindingType: Equatable

  /// The value that is shown now; nil if there is none.
  func observingValue() -> BindingType?

  /// Shows a value; this is not an edit.
  func updateValue(with value: BindingType)

  /// Shows that there is no value; this is not an edit. The default implementation leaves what is shown.
  func clearValue()
}

/// Called when the model refuses an edit, or stores it as another value; with nil when it accepts one again.
///
/// It lives as long as the binding, so it should capture the control's owner weakly.
public typealias ProblemReport = @MainActor (BindingError?) -> Void

extension Bindable {
  /// Leaves what is shown.
  public func clearValue() {}

  /// Binds the control, both ways if it is `Editable`, until it is unbound or bound again, or one of the two is gone.
  /// - Parameters:
  ///   - source: the value to show and write: an observable, a binding, a state, a field shared with other processes.
  ///   - commit: when an edit is written: immediately, when the control is left, or on demand.
  ///   - onProblem: called when the model refuses or corrects an edit, and with nil when the problem is gone.
  @discardableResult
  public func bind(
    to source: some BindingSource<BindingType>, commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    bind(ModelEnd(source.binding), commit, onProblem)
  }

  /// Binds the control to a value that may be missing, both ways if it is `Editable`. A control bound while the value
  /// is nil keeps what it shows; it is cleared when the value becomes nil.
  @discardableResult
  public func bind(
    to source: some BindingSource<BindingType?>, commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    bind(ModelEnd(optional: source.binding), commit, onProblem)
  }

  /// Binds to a converted value: a text field to a number, a slider of 0 to 100 to a level of 0 to 1.
  @discardableResult
  public func bind<Conversion: Mapping>(
    to source: some BindingSource<Conversion.Source>, map: Conversion, commit: CommitTrigger = .eachEdit,
    onProblem: ProblemReport? = nil
  ) -> ObserverToken where Conversion.Target == BindingType {
    bind(ModelEnd(source.binding, map: map), commit, onProblem)
  }

  /// Binds the control to a value, under the name of the articles for `bind(to:)`.
  @discardableResult
  public func bind(with source: some BindingSource<BindingType>) -> ObserverToken { bind(to: source) }

  /// Binds the control to a value that may be missing, under the name of the articles for `bind(to:)`.
  @discardableResult
  public func bind(with source: some BindingSource<BindingType?>) -> ObserverToken { bind(to: source) }

  /// Ends every binding of this control, those of its properties too. Harmless if there is none.
  public func unbind() { ControlLink.end(of: self) }

  /// Reports that a person has changed the control; for a control that does not report edits itself.
  public func valueChanged() { ControlLink.links[self]?.own?.controlEdited() }

  func show(_ model: ModelEnd<BindingType>) -> ObserverToken {
    ControlLink.tie(self, property: nil, TypedLink(model, end(isTwoWay: false), nil))
  }

  private func bind(
    _ model: ModelEnd<BindingType>, _ commit: CommitTrigger, _ onProblem: ProblemReport?
  ) -> ObserverToken {
    ControlLink.tie(self, property: nil, TypedLink(model, end(isTwoWay: true), commit: commit, onProblem))
  }

  private func end(isTwoWay: Bool) -> ControlEnd<BindingType> {
    ControlEnd<BindingType>(
      object: self, isTwoWay: isTwoWay, shown: { [weak self] in self?.observingValue() },
      show: { [weak self] in self?.updateValue(with: $0) }, clear: { [weak self] in self?.clearValue() })
  }
}
