public import BindingModel

/// What `State` and `Binding` of the fourth article share: a value, its members, and the stream of its changes.
@dynamicMemberLookup
public class Variable<T> {
  /// The value as the core's binding: to bind controls to, to map, to observe.
  public let core: BindingModel.Binding<T>

  fileprivate init(_ core: BindingModel.Binding<T>) { self.core = core }

  public var value: T {
    get { core.value }
    set { core.value = newValue }
  }

  /// The present value, then each later one.
  public var stream: Stream<T> { Stream(core) }

  /// A member of the value, to read and to write: `story.text = "…"`.
  public subscript<P>(dynamicMember keyPath: WritableKeyPath<T, P>) -> P {
    get { value[keyPath: keyPath] }
    set {
      // A part is changed in place, so that what others write to other parts meanwhile stays. Whose owner is gone
      // takes no writes.
      _ = try? core.update { $0[keyPath: keyPath] = newValue }
    }
  }
}

/// Owns a value: whoever holds it is its owner, whoever holds a `Binding` to it borrows. `State(Story())`, or
/// `@State var story = Story()`, whose `$story` is the binding.
@propertyWrapper
public final class State<T>: Variable<T> {
  private let owner: BindingModel.Observable<T>

  public init(_ value: T) {
    owner = BindingModel.Observable(value)
    super.init(owner.binding)
  }

  /// As above; what is equal to the present value is no change.
  public init(_ value: T) where T: Equatable {
    owner = BindingModel.Observable(value)
    super.init(owner.binding)
  }

  public convenience init(wrappedValue: T) { self.init(wrappedValue) }
  public convenience init(wrappedValue: T) where T: Equatable { self.init(wrappedValue) }

  public var wrappedValue: T {
    get { value }
    set { value = newValue }
  }

  public var projectedValue: Binding<T> { Binding(self) }
}

/// Borrows the value of a `State`, to read and to write, and does not keep it alive: once its owner is gone it shows
/// the last value. Only a state can lend one, or another binding a part of its own.
@propertyWrapper
public final class Binding<T>: Variable<T> {
  public init(_ state: State<T>) { super.init(state.core) }

  fileprivate init(part: BindingModel.Binding<T>) { super.init(part) }

  public var wrappedValue: T {
    get { value }
    set { value = newValue }
  }

  public var projectedValue: Binding<T> { self }

  /// What is lent to a property or parameter that wears `@Binding`.
  public init(projectedValue: Binding<T>) { super.init(projectedValue.core) }
}

extension Variable {
  /// A binding to one member, which hears of that member's own changes only.
  public func binding<P: Equatable & SendableMetatype>(
    to keyPath: any WritableKeyPath<T, P> & Sendable
  ) -> Binding<P> {
    Binding<P>(part: core[dynamicMember: keyPath])
  }
}

extension State {
  /// The whole value, lent.
  public var binding: Binding<T> { Binding(self) }
}
