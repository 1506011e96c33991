/// A borrowed, read-write view of a value that lives elsewhere: in an observable, in a part of one, on the other side
/// of a mapping, in a field shared with other processes.
///
/// A binding is a small value; copy it, keep it, hand it to controls. It keeps no owner alive: when the owner is gone
/// it shows the last value and takes no more writes. `binding.name` is a binding to the member `name`.
/// `@Binding var story: Story` is a property that borrows.
@dynamicMemberLookup @propertyWrapper
public struct Binding<Value> {
  /// The place that it points at.
  public let location: any BindingLocation<Value>

  /// A binding to a place of one's own.
  @inlinable
  public init(_ location: some BindingLocation<Value>) { self.location = location }

  @usableFromInline
  init(erased location: any BindingLocation<Value>) { self.location = location }

  /// The present value. A write that the location does not take changes nothing, which a read then shows; use `set` to
  /// hear why.
  public var value: Value {
    get {
      location.track()
      return location.read()
    }
    nonmutating set { try? location.write(newValue, by: .unnamed) }
  }

  /// The present value, as the property that wears `@Binding`.
  public var wrappedValue: Value {
    get { value }
    nonmutating set { value = newValue }
  }

  /// The binding itself, to be lent on: `$name` of a property that wears `@Binding`.
  public var projectedValue: Binding<Value> { self }

  /// What is borrowed by a function or an initializer whose parameter wears `@Binding`.
  public init(projectedValue: Binding<Value>) { self = projectedValue }

  /// Writes, in somebody's name, and throws when nothing was changed.
  public func set(_ value: Value, by writer: Writer = .unnamed) throws(BindingError) {
    try location.write(value, by: writer)
  }

  /// Reads, changes and writes as one. `body` may run more than once, so let it do nothing but compute.
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

  /// A binding to a part of this one's value. Writing it leaves the other parts as they are, whoever writes them.
  public subscript<Member>(dynamicMember path: any WritableKeyPath<Value, Member> & Sendable) -> Binding<Member> {
    Binding<Member>(erased: location.member(path, isRepeat: nil))
  }

  /// As above; observers of the part hear of its own changes only.
  public subscript<Member: Equatable & SendableMetatype>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> Binding<Member> {
    Binding<Member>(erased: location.member(path) { $0 == $1 })
  }

  /// As above for a number, where another NaN in place of NaN is no change either.
  public subscript<Member: FloatingPoint & SendableMetatype>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> Binding<Member> {
    Binding<Member>(erased: location.member(path) { isRepetition($0, $1) })
  }

  /// A binding to this value in another form.
  public func map<Conversion: Mapping>(_ mapping: Conversion) -> Binding<Conversion.Target>
  where Conversion.Source == Value {
    Binding<Conversion.Target>(erased: Self.mapped(location, by: mapping, isRepeat: nil))
  }

  /// As above; observers hear only when the form of the value changes too.
  public func map<Conversion: Mapping>(_ mapping: Conversion) -> Binding<Conversion.Target>
  where Conversion.Source == Value, Conversion.Target: Equatable & SendableMetatype {
    Binding<Conversion.Target>(erased: Self.mapped(location, by: mapping) { $0 == $1 })
  }

  /// As above for a number, where another NaN in place of NaN is no change either.
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
  /// Observes until the token is cancelled or released: the present value now, later ones as they are written.
  public func observe(
    from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: nil, writes.body(body))
  }

  /// Observes as long as `owner` lives, which is held weakly, or until `remove(observer:)`.
  @discardableResult
  public func observe(
    on owner: AnyObject, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: owner, writes.body(body))
  }

  /// Observes as long as `owner` lives, and hands it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, from writes: ObservedWrites = .all, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: owner, writes.body(for: owner, body))
  }

  /// Ends every observation of this owner, also those through other bindings to the same observable.
  public func remove(observer owner: AnyObject) { location.remove(observer: owner) }
}
