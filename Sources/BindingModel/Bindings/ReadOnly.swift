/// A view of a value that refuses writes, for code that may read and observe the value but not change it.
/// ```swift
/// final class Player {
///   private let state = Observable(State())
///   var playing: ReadOnly<State> { state.readOnly }
/// }
/// ```
/// It is a small value: copy it, store it, pass it on. Any thread may use it if its value is `Sendable`. Like a
/// `Binding`, it keeps no owner of a value alive; a derived, debounced or throttled value behind it is kept alive.
/// `view.name` is a view of the member `name`, which may be a `let` or computed.
@dynamicMemberLookup
public struct ReadOnly<Value>: ValueSource {
  /// The location of the value, which refuses writes.
  public let location: any BindingLocation<Value>

  /// Creates a view of any source: an observable, a binding, a state, a field shared with other processes, a derived
  /// value.
  public init(_ source: some ValueSource<Value>) { self.init(root: source.location) }

  init(root: any BindingLocation<Value>) { location = ReadOnlyLocation(root: root, as: { $0 }, isRepeat: nil) }

  private init(part: any BindingLocation<Value>) { location = part }

  /// A view of a member, which need not be settable.
  public subscript<Member>(dynamicMember path: any KeyPath<Value, Member> & Sendable) -> ReadOnly<Member> {
    Self.member(of: location, path, isRepeat: nil)
  }

  /// A view of a member, which need not be settable. Its observers are notified of that member's changes only.
  public subscript<Member: Equatable & SendableMetatype>(
    dynamicMember path: any KeyPath<Value, Member> & Sendable
  ) -> ReadOnly<Member> {
    Self.member(of: location, path, isRepeat: repetition(of: Member.self))
  }

  private static func member<Member>(
    of root: any BindingLocation<Value>, _ path: any KeyPath<Value, Member> & Sendable,
    isRepeat: (@Sendable (Member, Member) -> Bool)?
  ) -> ReadOnly<Member> {
    ReadOnly<Member>(part: ReadOnlyLocation(root: root, as: { $0[keyPath: path] }, isRepeat: isRepeat))
  }
}

extension Binding {
  /// A view of a member that cannot be set, a `let` or a computed one: to read, to observe, to show in a label.
  @_disfavoredOverload
  public subscript<Member>(dynamicMember path: any KeyPath<Value, Member> & Sendable) -> ReadOnly<Member> {
    readOnly[dynamicMember: path]
  }

  /// A view of a member that cannot be set, a `let` or a computed one. Its observers are notified of that member's
  /// changes only.
  @_disfavoredOverload
  public subscript<Member: Equatable & SendableMetatype>(
    dynamicMember path: any KeyPath<Value, Member> & Sendable
  ) -> ReadOnly<Member> {
    readOnly[dynamicMember: path]
  }
}

extension ReadOnly: Sendable where Value: Sendable {}

extension ValueSource {
  /// A view of this value that refuses writes.
  public var readOnly: ReadOnly<Value> { ReadOnly(self) }
}

/// What every source of a value can do, even one known only as `some ValueSource<Value>`.
extension ValueSource {
  /// The current value. A read inside a `Derived` makes it a source of that one; a read inside
  /// `withObservationTracking`, or in a SwiftUI view, is tracked.
  public var value: Value {
    let location = location
    location.track()
    return location.read()
  }

  /// Observes until the token is cancelled or released. The body receives the current value now, and later values as
  /// they are written, on the writing thread.
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    location.observe(owner: nil) { value, _ in body(value) }
  }

  /// Observes until `owner`, which is held weakly, is deallocated. The body receives the current value now, and later
  /// values as they are written, on the writing thread.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    location.observe(owner: owner) { value, _ in body(value) }
  }

  /// Ends every observation of this owner, made here or through any view or binding of this value.
  public func remove(observer owner: AnyObject) { location.remove(observer: owner) }
}

/// A read-only location of a value, or of a part of it.
private struct ReadOnlyLocation<Whole, Value>: UnwritableLocation {
  let root: any BindingLocation<Whole>
  let form: @Sendable (Whole) -> Value
  let isRepeat: (@Sendable (Value, Value) -> Bool)?

  init(
    root: any BindingLocation<Whole>, as form: @escaping @Sendable (Whole) -> Value,
    isRepeat: (@Sendable (Value, Value) -> Bool)?
  ) {
    self.root = root
    self.form = form
    self.isRepeat = isRepeat
  }

  func read() -> Value { form(root.read()) }

  func track() { root.track() }

  var target: AnyObject? { root.target }

  var refusal: BindingError { BindingError(.refused, "this binding is read-only") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let distinct = Distinct(isRepeat: isRepeat)
    let form = form
    return root.observe(owner: owner) { whole, writer in
      let value = form(whole)
      if distinct.isNew(value) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { root.remove(observer: owner) }
}
