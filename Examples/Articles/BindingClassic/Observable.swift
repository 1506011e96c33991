public import BindingModel

/// The `Observable` of the first two articles: a value that may be unset, with observers by owner and by closure.
///
/// It is the core's `Observable` of an optional. A closure runs where it was written: on the main actor or on its
/// own actor, and before the write returns if the write is made there too. Values are neither lost nor reordered,
/// the observers of a dead owner are not called, an equal value notifies nobody, and any thread can write if the
/// value is `Sendable`.
public final class Observable<ObservedType>: BindingSource {
  /// A closure that receives the observable and each later value.
  public typealias Observer = (_ observable: Observable<ObservedType>, ObservedType) -> Void

  let core: BindingModel.Observable<ObservedType?>

  /// Starts with a value or unset; every write notifies.
  public init(_ value: ObservedType? = nil) { core = BindingModel.Observable(value) }

  /// Starts with a value or unset; a write that equals the present value is no change.
  public init(_ value: ObservedType? = nil) where ObservedType: Equatable { core = BindingModel.Observable(value) }

  /// The value; nil while it is unset. Unsetting it calls no observer of this type; observe `binding` to detect it.
  public var value: ObservedType? {
    get { core.value }
    set { core.value = newValue }
  }

  /// The value as the core's binding, to an optional.
  public var binding: BindingModel.Binding<ObservedType?> { core.binding }
  /// The location of the value in the core.
  public var location: any BindingLocation<ObservedType?> { core.location }

  /// Calls `completion` with the present value, if there is one, and with each later one, as long as `observer` lives.
  @discardableResult
  public func observe(
    on observer: AnyObject, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (ObservedType) -> Void
  ) -> ObserverToken {
    core.observeHere(owner: observer, isolation: isolation) { value in
      if let value { completion(value) }
    }
  }

  /// Calls `observerBlock`, the label in the article's listing, with the present value, if there is one, and with
  /// each later one, as long as `observer` lives.
  @discardableResult
  public func observe(
    on observer: AnyObject, isolation: isolated (any Actor)? = #isolation,
    observerBlock: @escaping (ObservedType) -> Void
  ) -> ObserverToken {
    observe(on: observer, isolation: isolation, completion: observerBlock)
  }

  /// Ends all observations of this owner.
  public func remove(observer: AnyObject) { core.remove(observer: observer) }

  /// Calls `observer` with this observable and each later value, but not the present one, until the token is
  /// cancelled or the observable is released.
  @discardableResult
  public func bind(
    isolation: isolated (any Actor)? = #isolation, observer: @escaping Observer
  ) -> ObserverToken {
    core.observeLaterHere(owner: self, isolation: isolation) { [weak self] value in
      if let self, let value { observer(self, value) }
    }
  }
}

extension Observable: Sendable where ObservedType: Sendable {}
