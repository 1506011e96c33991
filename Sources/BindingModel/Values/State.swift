/// Owns a value and lends it: after `@State var story = Story()`, `$story` is a binding to the value and
/// `$story.text` a binding to a part of it.
///
/// The `State` owns the value; a `Binding` borrows it without keeping it alive. Copies of a `State` share the value.
@propertyWrapper
public struct State<Value> {
  /// The value with its observers.
  public let observable: Observable<Value>

  /// Creates a state that delivers every write, because its values cannot be compared.
  public init(wrappedValue: Value) { observable = Observable(wrappedValue) }

  /// Creates a state on which a write of an equal value changes nothing.
  public init(wrappedValue: Value) where Value: Equatable { observable = Observable(wrappedValue) }

  /// Creates a state of a number, on which a write of an equal value changes nothing, nor does NaN over NaN.
  public init(wrappedValue: Value) where Value: FloatingPoint { observable = Observable(wrappedValue) }

  /// The current value. It can be assigned through a `let`, because that changes the owned value, not the state.
  public var wrappedValue: Value {
    get { observable.value }
    nonmutating set { observable.value = newValue }
  }

  /// A borrowed, read-write view of the value.
  public var projectedValue: Binding<Value> { observable.binding }
}

extension State: Sendable where Value: Sendable {}
