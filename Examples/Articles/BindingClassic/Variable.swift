public import BindingModel

/// The common part of the fourth article's `State` and `Binding`: a value, its members, and the stream of its changes.
@dynamicMemberLookup
public class Variable<T> {
  /// The value as the core's binding: to bind controls to, to map, to observe.
  public let core: BindingModel.Binding<T>

  fileprivate init(_ core: BindingModel.Binding<T>) { self.core = core }

  /// The present value, to read and to write.
  public var value: T {
    get { core.value }
    set { core.value = newValue }
  }

  /// The present value, then each later one.
  public var stream: Stream<T> { Stream(core) }

  /// Reads and writes a member of the value: `story.text = "…"`.
  public subscript<P>(dynamicMember keyPath: WritableKeyPath<T, P>) -> P {
    get { value[keyPath: keyPath] }
    set {
      // The member is changed in place, so writes of others to other members are kept. Once the owner is gone the
      // write has no effect.
      _ = try? core.update { $0[keyPath: keyPath] = newValue }
    }
  }
}

/// Owns a value, which each `Binding` to it borrows. Write `State(Story())`, or `@State var story = Story()`, whose
/// `$story` is the binding.
@propertyWrapper
public final class State<T>: Variable<T> {
  private let owner: BindingModel.Observable<T>

  /// Owns a value; every write notifies.
  public init(_ value: T) {
    owner = BindingModel.Observable(value)
    super.init(owner.binding)
  }

  /// Owns a value; a write that equals the present value is no change.
  public init(_ value: T) where T: Equatable {
    owner = BindingModel.Observable(value)
    super.init(owner.binding)
  }

  /// Owns the property's initial value; every write notifies.
  public convenience init(wrappedValue: T) { self.init(wrappedValue) }
  /// Owns the property's initial value; a write that equals the present value is no change.
  public convenience init(wrappedValue: T) where T: Equatable { self.init(wrappedValue) }

  /// The present value, to read and to write.
  public var wrappedValue: T {
    get { value }
    set { value = newValue }
  }

  /// A binding to the value, `$story`.
  public var projectedValue: Binding<T> { Binding(self) }
}

/// Borrows the value of a `State` to read and write it, without keeping it alive: once its owner is gone it shows
/// the last value. Only a state, or another binding for a part of its value, can lend one.
@propertyWrapper
public final class Binding<T>: Variable<T> {
  /// Borrows the value of a state.
  public init(_ state: State<T>) { super.init(state.core) }

  fileprivate init(part: BindingModel.Binding<T>) { super.init(part) }

  /// The present value. A write has no effect once the owner is gone.
  public var wrappedValue: T {
    get { value }
    set { value = newValue }
  }

  /// The binding itself, to lend on.
  public var projectedValue: Binding<T> { self }

  /// Borrows what is passed to a property or parameter marked `@Binding`.
  public init(projectedValue: Binding<T>) { super.init(projectedValue.core) }
}

extension Variable {
  /// A binding to one member, which notifies of that member's own changes only.
  public func binding<P: Equatable & SendableMetatype>(
    to keyPath: any WritableKeyPath<T, P> & Sendable
  ) -> Binding<P> {
    Binding<P>(part: core[dynamicMember: keyPath])
  }
}

extension State {
  /// A binding to the whole value.
  public var binding: Binding<T> { Binding(self) }
}
