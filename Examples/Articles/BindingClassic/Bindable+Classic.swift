public import BindingModel

extension Bindable {
  /// Calls back on the main actor with each value of an observable, as long as this object lives: for something
  /// derived from a value, beside the control that is bound to it.
  @discardableResult
  public func observe<Observed>(
    for observable: Observable<Observed>, _ observer: @escaping @MainActor (Observed) -> Void
  ) -> ObserverToken {
    observable.observe(on: self, completion: observer)
  }

  /// Registers the control for `setBinderValue` and `getBinderValue`, without showing the value.
  public func register(for observable: Observable<BindingType>) { binders[self] = observable }

  /// The value of the observable that the control is bound to or registered for.
  public func getBinderValue() -> BindingType? { binder?.value }

  /// Sets the value of the observable that the control is bound to or registered for.
  public func setBinderValue(with value: BindingType?) { binder?.value = value }

  /// Binds the control both ways, and registers it for `setBinderValue`.
  @discardableResult
  public func bind(with observable: Observable<BindingType>) -> ObserverToken {
    register(for: observable)
    return bind(to: observable)
  }

  /// The observable that the control is bound to or registered for. Each control has its own, held weakly.
  public var binder: Observable<BindingType>? { binders[self] as? Observable<BindingType> }
}

@MainActor private let binders = ObjectAssociation<AnyObject>(weakly: true)
