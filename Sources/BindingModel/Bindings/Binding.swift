/// A borrowed, read-write view of a value that is stored elsewhere: in an observable, in a part of one, behind a
/// mapping, in a field shared with other processes.
///
/// A binding is a small value: copy it, store it, pass it to controls. It keeps no owner alive; when the owner is
/// gone, it shows the last value and refuses writes. `binding.name` is a binding to the member `name`.
/// `@Binding var story: Story` is a property that borrows.
@dynamicMemberLookup @propertyWrapper
public struct Binding<Value> {
  /// The location that this binding points at.
  public let location: any BindingLocation<Value>

  /// Creates a binding to a location of your own.
  @inlinable
  public init(_ location: some BindingLocation<Value>) { self.location = location }

  @usableFromInline
  init(erased location: any BindingLocation<Value>) { self.location = location }

  /// The current value. A write that the location refuses changes nothing, which the next read shows; use `set` to
  /// learn why.
  public var value: Value {
    get {
      location.track()
      return location.read()
    }
    nonmutating set { try? location.write(newValue, by: .unnamed) }
  }

  /// The current value, as the value of a property declared with `@Binding`.
  public var wrappedValue: Value {
    get { value }
    nonmutating set { value = newValue }
  }

  /// The binding itself, to be lent on: `$name` of a property declared with `@Binding`.
  public var projectedValue: Binding<Value> { self }

  /// Creates the binding of a parameter declared with `@Binding`.
  public init(projectedValue: Binding<Value>) { self = projectedValue }

  /// Writes the value on behalf of `writer`. Throws if the location changed nothing.
  public func set(_ value: Value, by writer: Writer = .unnamed) throws(BindingError) {
    try location.write(value, by: writer)
  }

  /// Reads, changes and writes the value as one operation. `body` may run more than once, so it should only compute.
  @discardableResult
  public func update<Result>(
    by writer: Writer = .unnamed, _ body: (inout Value) -> Result
  ) throws(BindingError) -> Result {
    var result: Result?
    try location.modify(by: writer) { value in
      result = body(&value)
      return true
    }
    if let result { return result }
    throw BindingError(.refused, "the location did not run the change")
  }

  /// A binding to a member of the value. Writing it leaves the other members as they are, even if they are written
  /// meanwhile.
  public subscript<Member>(dynamicMember path: any WritableKeyPath<Value, Member> & Sendable) -> Binding<Member> {
    Binding<Member>(erased: location.member(path, isRepeat: nil))
  }

  /// A binding to a member of the value. Its observers are notified of that member's changes only.
  public subscript<Member: Equatable & SendableMetatype>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> Binding<Member> {
    Binding<Member>(erased: location.member(path) { $0 == $1 })
  }

  /// A binding to a numeric member of the value. Its observers are notified of that member's changes only; NaN over
  /// NaN is no change.
  public subscript<Member: FloatingPoint & SendableMetatype>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> Binding<Member> {
    Binding<Member>(erased: location.member(path) { isRepetition($0, $1) })
  }

  /// A binding to this value, converted by a mapping.
  public func map<Conversion: Mapping>(_ mapping: Conversion) -> Binding<Conversion.Target>
  where Conversion.Source == Value {
    Binding<Conversion.Target>(erased: Self.mapped(location, by: mapping, isRepeat: nil))
  }

  /// A binding to this value, converted by a mapping. Its observers are notified only when the converted value
  /// changes.
  public func map<Conversion: Mapping>(_ mapping: Conversion) -> Binding<Conversion.Target>
  where Conversion.Source == Value, Conversion.Target: Equatable & SendableMetatype {
    Binding<Conversion.Target>(erased: Self.mapped(location, by: mapping) { $0 == $1 })
  }

  /// A binding to this value, converted to a number by a mapping. Its observers are notified only when that number
  /// changes; NaN over NaN is no change.
  public func map<Conversion: Mapping>(_ mapping: Conversion) -> Binding<Conversion.Target>
  where Conversion.Source == Value, Conversion.Target: FloatingPoint & SendableMetatype {
    Binding<Conversion.Target>(erased: Self.mapped(location, by: mapping) { isRepetition($0, $1) })
  }

  private static func mapped<Conversion: Mapping>(
    _ location: any BindingLocation<Value>, by mapping: Conversion,
    isRepeat: (@Sendable (Conversion.Target, Conversion.Target) -> Bool)?
  ) -> any BindingLocation<Conversion.Target> where Conversion.Source == Value {
    MappedLocation(root: location, mapping: mapping, isRepeat: isRepeat)
  }
}

extension Binding: Sendable where Value: Sendable {}

// MARK: - Observing

extension Binding {
  /// Observes until the token is cancelled or released. The body receives the current value now, and later values as
  /// they are written, on the writing thread or on the location's own lane.
  public func observe(
    from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: nil, writes.body(body))
  }

  /// Observes until `owner`, which is held weakly, is deallocated or passed to `remove(observer:)`.
  @discardableResult
  public func observe(
    on owner: AnyObject, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: owner, writes.body(body))
  }

  /// Observes until `owner`, which is held weakly, is deallocated, and passes it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: owner, writes.body(for: owner, body))
  }

  /// Ends every observation of this owner, also those through other bindings to the same observable.
  public func remove(observer owner: AnyObject) { location.remove(observer: owner) }
}
