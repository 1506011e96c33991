public import BindingModel

/// The `Dynamic` of the fifth article: a value of any type that calls its listeners, of which it may have many.
///
/// Listeners run where they were written. An equal value calls nobody. A listener ends with its token, with its owner
/// (`on:`), with `bind(nil)`, or with the Dynamic.
public final class Dynamic<T>: BindingSource {
  public typealias Listener = (T) -> Void

  private let core: BindingModel.Observable<T>

  public init(_ v: T) { core = BindingModel.Observable(v) }

  /// As above; what is equal to the present value is no change.
  public init(_ v: T) where T: Equatable { core = BindingModel.Observable(v) }

  public var value: T {
    get { core.value }
    set { core.value = newValue }
  }

  /// The value as the core's binding.
  public var binding: BindingModel.Binding<T> { core.binding }
  public var location: any BindingLocation<T> { core.location }

  /// Adds a listener for later values; nil ends all that were added without an owner.
  @discardableResult
  public func bind(isolation: isolated (any Actor)? = #isolation, _ listener: Listener?) -> ObserverToken {
    guard let listener else { return removeListeners() }
    return core.observeLaterHere(owner: self, isolation: isolation, listener)
  }

  /// Adds a listener and calls it with the present value; nil ends all that were added without an owner.
  @discardableResult
  public func bindAndFire(isolation: isolated (any Actor)? = #isolation, _ listener: Listener?) -> ObserverToken {
    guard let listener else { return removeListeners() }
    return core.observeHere(owner: self, isolation: isolation, listener)
  }

  /// As above, as long as `owner` lives. Binding for the same owner again replaces, so that a view that is given
  /// another view model is not driven by the old one, if it says so there: `old.title.unbind(self)`.
  @discardableResult
  public func bindAndFire(
    on owner: AnyObject, isolation: isolated (any Actor)? = #isolation, _ listener: @escaping Listener
  ) -> ObserverToken {
    core.remove(observer: owner)
    return core.observeHere(owner: owner, isolation: isolation, listener)
  }

  /// Ends the listeners of this owner.
  public func unbind(_ owner: AnyObject) { core.remove(observer: owner) }

  private func removeListeners() -> ObserverToken {
    core.remove(observer: self)
    return ObserverToken {}
  }
}

extension Dynamic: Sendable where T: Sendable {}
