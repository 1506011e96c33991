public import BindingModel

/// The `Dynamic` of the fifth article: a value of any type that calls any number of listeners.
///
/// A listener runs where it was written. An equal value calls no listener. A listener ends with its token, with its
/// owner (`on:`), with `bind(nil)`, or with the Dynamic.
public final class Dynamic<T>: BindingSource {
  /// A closure that receives each value.
  public typealias Listener = (T) -> Void

  private let core: BindingModel.Observable<T>

  /// Starts with a value; every write calls the listeners.
  public init(_ v: T) { core = BindingModel.Observable(v) }

  /// Starts with a value; a write that equals the present value is no change.
  public init(_ v: T) where T: Equatable { core = BindingModel.Observable(v) }

  /// The present value, to read and to write.
  public var value: T {
    get { core.value }
    set { core.value = newValue }
  }

  /// The value as the core's binding.
  public var binding: BindingModel.Binding<T> { core.binding }
  /// The location of the value in the core.
  public var location: any BindingLocation<T> { core.location }

  /// Adds a listener for later values; nil ends all listeners that were added without an owner.
  @discardableResult
  public func bind(isolation: isolated (any Actor)? = #isolation, _ listener: Listener?) -> ObserverToken {
    guard let listener else { return removeListeners() }
    return core.observeLaterHere(owner: self, isolation: isolation, listener)
  }

  /// Adds a listener and calls it with the present value; nil ends all listeners that were added without an owner.
  @discardableResult
  public func bindAndFire(isolation: isolated (any Actor)? = #isolation, _ listener: Listener?) -> ObserverToken {
    guard let listener else { return removeListeners() }
    return core.observeHere(owner: self, isolation: isolation, listener)
  }

  /// Adds a listener that lives as long as `owner`, and calls it with the present value. A listener that the same
  /// owner added before is replaced. A view that gets another view model first ends the old one's listener with
  /// `old.title.unbind(self)`.
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
