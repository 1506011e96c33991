/// An object with one value that can be bound: `slider.bind(to: lamp.$level)`.
///
/// A class needs two lines for it: what it shows, and how it shows something else. If it is `Editable` too, the
/// binding works both ways; if not, `valueChanged()` may be called by hand.
///
/// Rules that hold for every control:
/// - The model's value is shown at once, and again whenever it changes, whoever writes it, on whatever thread.
/// - A control that shows the value already is not written: cursors and selections stay.
/// - A control that somebody is at (`Editable.editing`) is left alone until that person has left it.
/// - An edit is written to the model once. If the model does not take it, what was typed stays, and `onProblem` is
///   told why; if it takes another value, the control shows that.
/// - Binding again replaces, so that a row that is used for another model needs nothing else. Neither model nor control
///   keeps the other alive.
@MainActor
public protocol Bindable: AnyObject {
  associatedtype BindingType: Equatable

  /// What it shows now; nil if it has nothing to say.
  func observingValue() -> BindingType?

  /// Shows a value, which is not an edit.
  func updateValue(with value: BindingType)

  /// Shows that there is nothing any more, which is not an edit. Implemented already, to leave what is shown.
  func clearValue()
}

/// Told when the model does not take an edit, or takes it as another value; nil when it takes one again.
///
/// It lives as long as the binding, so let it capture weakly whoever owns the control.
public typealias ProblemReport = @MainActor (BindingError?) -> Void

extension Bindable {
  public func clearValue() {}

  /// Binds the control, both ways if it is `Editable`, until it is unbound or bound to something else, or one of the
  /// two is gone.
  /// - Parameters:
  ///   - source: what is shown and written: an observable, a binding, a state, a field shared with other processes.
  ///   - commit: when an edit is written: as it comes, when the control is left, or on demand.
  ///   - onProblem: told when the model does not take an edit, and nil when all is well again.
  @discardableResult
  public func bind(
    to source: some BindingSource<BindingType>, commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    bind(ModelEnd(source.binding), commit, onProblem)
  }

  /// As above, for a value that may be missing: a control that is bound while it is stays as it is, and is cleared when
  /// a value that was there goes.
  @discardableResult
  public func bind(
    to source: some BindingSource<BindingType?>, commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    bind(ModelEnd(optional: source.binding), commit, onProblem)
  }

  /// Binds to a value in another form: a text field to a number, a slider of 0 to 100 to a level of 0 to 1.
  @discardableResult
  public func bind<Conversion: Mapping>(
    to source: some BindingSource<Conversion.Source>, map: Conversion, commit: CommitTrigger = .eachEdit,
    onProblem: ProblemReport? = nil
  ) -> ObserverToken where Conversion.Target == BindingType {
    bind(ModelEnd(source.binding, map: map), commit, onProblem)
  }

  /// `bind(to:)` as the articles say it.
  @discardableResult
  public func bind(with source: some BindingSource<BindingType>) -> ObserverToken { bind(to: source) }

  /// `bind(to:)` as the articles say it.
  @discardableResult
  public func bind(with source: some BindingSource<BindingType?>) -> ObserverToken { bind(to: source) }

  /// Ends every binding of this control, that of its properties too. Harmless where there is none.
  public func unbind() { ControlLink.end(of: self) }

  /// Says that a person has changed the control; for a control that does not say so itself.
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
