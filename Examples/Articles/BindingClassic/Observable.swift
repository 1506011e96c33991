public import BindingModel

/// The `Observable` of the first two articles: a value that may be unset, with observers by owner and by closure.
///
/// It is the core's `Observable` of an optional. Closures run where they were written: on the main actor if it was
/// there, else on their own actor; before the write returns if that was made there too. Nothing is lost or reordered,
/// an owner that died is called no more, an equal value notifies nobody, and a write from any thread is safe where the
/// value is `Sendable`.
public final class Observable<ObservedType>: BindingSource {
  public typealias Observer = (_ observable: Observable<ObservedType>, ObservedType) -> Void

  let core: BindingModel.Observable<ObservedType?>

  /// Starts with a value, or unset.
  public init(_ value: ObservedType? = nil) { core = BindingModel.Observable(value) }

  /// As above; what is equal to the present value is no change.
  public init(_ value: ObservedType? = nil) where ObservedType: Equatable { core = BindingModel.Observable(value) }

  /// The value; nil while it is unset. Unsetting it calls no observer of this kind; observe `binding` to hear of that.
  public var value: ObservedType? {
    get { core.value }
    set { core.value = newValue }
  }

  /// The value as the core's binding, to an optional.
  public var binding: BindingModel.Binding<ObservedType?> { core.binding }
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

  /// The same, under the name that the article's listing gives the closure.
  @discardableResult
  public func observe(
    on observer: AnyObject, isolation: isolated (any Actor)? = #isolation,
    observerBlock: @escaping (ObservedType) -> Void
  ) -> ObserverToken {
    observe(on: observer, isolation: isolation, completion: observerBlock)
  }

  /// Ends all that this owner observes here.
  public func remove(observer: AnyObject) { core.remove(observer: observer) }

  /// Calls `observer` with this observable and each later value, until the token is cancelled or the observable is
  /// gone. The present value is not told.
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
