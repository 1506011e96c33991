// The names of SwiftUI that Sources/BindingModel/Bridges use, to type-check that file where SwiftUI is absent, and
// those that both have, to try how they live side by side.
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
