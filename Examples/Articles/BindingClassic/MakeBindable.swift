public import BindingModel

/// The `MakeBindable` of the first article: a value that binds itself to properties of any object.
///
/// It is the core's `Observable` of an optional with key-path bindings. Several controls can be bound, each read
/// through its own key path and none kept alive; a mapped one is written back if its mapping can be reversed.
public final class MakeBindable<BindingType>: BindingSource {
  private let core: BindingModel.Observable<BindingType?>

  /// Starts with a value or unset; every write notifies.
  public init(_ value: BindingType? = nil) { core = BindingModel.Observable(value) }

  /// Starts with a value or unset; a write that equals the present value is no change.
  public init(_ value: BindingType? = nil) where BindingType: Equatable { core = BindingModel.Observable(value) }

  /// The value as the core's binding, to an optional.
  public var binding: BindingModel.Binding<BindingType?> { core.binding }
  /// The location of the value in the core.
  public var location: any BindingLocation<BindingType?> { core.location }

  /// Sets the value, and all that is bound shows it.
  public func update(with value: BindingType) { core.value = value }

  /// The value; nil while it is unset.
  public func currentValue() -> BindingType? { core.value }

  /// Calls `completion` with the object and the present value, if there is one, and with each later value, as long
  /// as the object lives.
  @discardableResult
  public func addObserver<Object: AnyObject>(
    for object: Object, isolation: isolated (any Actor)? = #isolation,
    completion: @escaping (Object, BindingType) -> Void
  ) -> ObserverToken {
    core.observeHere(owner: object, isolation: isolation) { [weak object] value in
      if let object, let value { completion(object, value) }
    }
  }

  // MARK: Binding properties

  /// Binds a part of the value, or all of it (`\String.self`), to an optional property of an object; two-way if the
  /// object is `Editable`, as controls are, and the part is writable.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part: Equatable>(
    _ part: KeyPath<BindingType, Part>, to object: Object, _ property: ReferenceWritableKeyPath<Object, Part?>
  ) -> ObserverToken {
    tie(object, property, .optional(object, property), model(part, forward: { $0 }, back: { $0 }))
  }

  /// Binds a part of the value to a property that is not optional; two-way if the object is `Editable`, as controls
  /// are, and the part is writable.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part: Equatable>(
    _ part: KeyPath<BindingType, Part>, to object: Object, _ property: ReferenceWritableKeyPath<Object, Part>
  ) -> ObserverToken {
    tie(object, property, .present(object, property), model(part, forward: { $0 }, back: { $0 }))
  }

  /// Binds a mapped part of the value to an optional property; two-way with `reverse`, which throws `BindingError`
  /// for values that it cannot map back.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part, Shown: Equatable>(
    _ part: KeyPath<BindingType, Part>, to object: Object, _ property: ReferenceWritableKeyPath<Object, Shown?>,
    mapper: @escaping (Part) -> Shown?, reverse: ((Shown) throws(BindingError) -> Part)? = nil
  ) -> ObserverToken {
    tie(
      object, property, .optional(object, property, isTwoWay: reverse != nil),
      model(part, forward: mapper, back: reverse))
  }

  /// Binds a mapped part of the value to a property that is not optional; two-way with `reverse`, which throws
  /// `BindingError` for values that it cannot map back.
  @MainActor @discardableResult @_disfavoredOverload
  public func bind<Object: AnyObject, Part, Shown: Equatable>(
    _ part: KeyPath<BindingType, Part>, to object: Object, _ property: ReferenceWritableKeyPath<Object, Shown>,
    mapper: @escaping (Part) -> Shown, reverse: ((Shown) throws(BindingError) -> Part)? = nil
  ) -> ObserverToken {
    tie(
      object, property, .present(object, property, isTwoWay: reverse != nil),
      model(part, forward: mapper, back: reverse))
  }

  /// Reports that a person has changed a bound object, for objects that emit no events.
  @MainActor
  public func valueChanged(sender: AnyObject) {
    guard let links = ControlLink.links[sender] else { return }
    for link in links.properties.values { link.controlEdited() }
  }

  /// Ends all bindings to this object.
  @MainActor
  public func unbind(from object: AnyObject) {
    core.remove(observer: object)
    ControlLink.end(of: object)
  }

  @MainActor
  private func tie<Object: AnyObject, Shown: Equatable>(
    _ object: Object, _ property: AnyKeyPath, _ control: ControlEnd<Shown>, _ model: ModelEnd<Shown>
  ) -> ObserverToken {
    ControlLink.tie(object, property: property, TypedLink(model, control, nil))
  }

  @MainActor
  private func model<Part, Shown>(
    _ part: KeyPath<BindingType, Part>, forward: @escaping (Part) -> Shown?,
    back: ((Shown) throws(BindingError) -> Part)?
  ) -> ModelEnd<Shown> {
    let location = core.binding.location
    let writable = part as? WritableKeyPath<BindingType, Part>
    return ModelEnd(
      location,
      read: { location.read().flatMap { forward($0[keyPath: part]) } },
      write: { shown, writer throws(BindingError) in
        guard let back, let writable else { throw BindingError(.refused, "this control is read-only") }
        let value = try back(shown)
        var isUnset = false
        try location.modify(by: writer) { whole in
          if let all = value as? BindingType, part == \BindingType.self {
            whole = all
          } else {
            whole?[keyPath: writable] = value
          }
          isUnset = whole == nil
          return !isUnset
        }
        if isUnset { throw BindingError(.refused, "there is no value yet of which this is a part") }
      })
  }
}

extension MakeBindable: Sendable where BindingType: Sendable {}
