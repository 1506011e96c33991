/// Owns a value and lends it out: `@State var story = Story()`, then `$story` is a binding to it and `$story.text` one
/// to a part.
///
/// Whoever holds the `State` owns the value; a `Binding` borrows it and keeps it no longer alive. Copies of a `State`
/// share the value.
@propertyWrapper
public struct State<Value> {
  /// The value with its observers.
  public let observable: Observable<Value>

  /// Every write is delivered, because the values cannot be compared.
  public init(wrappedValue: Value) { observable = Observable(wrappedValue) }

  /// A write of an equal value changes nothing.
  public init(wrappedValue: Value) where Value: Equatable { observable = Observable(wrappedValue) }

  /// As above for a number; another NaN in place of NaN changes nothing either.
  public init(wrappedValue: Value) where Value: FloatingPoint { observable = Observable(wrappedValue) }

  /// The present value. Assigning works from a `let` too: it changes what the state owns, not the state.
  public var wrappedValue: Value {
    get { observable.value }
    nonmutating set { observable.value = newValue }
  }

  /// A borrowed, read-write view of the value.
  public var projectedValue: Binding<Value> { observable.binding }
}

extension State: Sendable where Value: Sendable {}
