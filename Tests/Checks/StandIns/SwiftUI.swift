// The names of SwiftUI used by Sources/BindingModel/Bridges, to type-check that file where SwiftUI is absent, and
// the names that both declare, to test how they coexist.
@propertyWrapper
public struct Binding<Value> {
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {}
  public var wrappedValue: Value { fatalError("a stand-in runs nothing") }
}

@propertyWrapper
public struct State<Value> {
  public init(wrappedValue: Value) {}
  public var wrappedValue: Value { fatalError("a stand-in runs nothing") }
}

@propertyWrapper
public struct Bindable<Value> {
  public init(wrappedValue: Value) {}
  public var wrappedValue: Value { fatalError("a stand-in runs nothing") }
}
