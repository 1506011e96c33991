import BindingModel

/// The values of a variable over time, the present one first; the stream never fails. `sink` and `assign` run where
/// they were written, until their `AnyCancellable` is cancelled or released.
public struct Stream<Output> {
  private let observe: (_ isolation: (any Actor)?, _ receive: @escaping (Output) -> Void) -> ObserverToken

  init(_ binding: BindingModel.Binding<Output>) {
    observe = { isolation, receive in
      let holder = Holder()
      let token = binding.observeHere(owner: holder, isolation: isolation, receive)
      return ObserverToken {
        token.cancel()
        withExtendedLifetime(holder) {}
      }
    }
  }

  private init(_ observe: @escaping ((any Actor)?, @escaping (Output) -> Void) -> ObserverToken) {
    self.observe = observe
  }

  /// Transforms each value.
  public func map<Other>(_ transform: @escaping (Output) -> Other) -> Stream<Other> {
    Stream<Other> { isolation, receive in observe(isolation) { receive(transform($0)) } }
  }

  /// Omits a value that equals the one before.
  public func removeDuplicates() -> Stream<Output> where Output: Equatable {
    Stream { isolation, receive in
      var last: Output?
      return observe(isolation) { value in
        guard value != last else { return }
        last = value
        receive(value)
      }
    }
  }

  /// Calls `receiveValue` with each value until the result is cancelled or released.
  public func sink(
    isolation: isolated (any Actor)? = #isolation, receiveValue: @escaping (Output) -> Void
  ) -> AnyCancellable {
    AnyCancellable(observe(isolation, receiveValue))
  }

  /// Sets a property of an object, which is held weakly, to each value.
  public func assign<Root: AnyObject>(
    to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root, isolation: isolated (any Actor)? = #isolation
  ) -> AnyCancellable {
    AnyCancellable(observe(isolation) { [weak object] value in object?[keyPath: keyPath] = value })
  }
}

/// Ends its subscription when it is cancelled or released.
public final class AnyCancellable: Hashable, Sendable {
  private let token: ObserverToken

  init(_ token: ObserverToken) { self.token = token }

  deinit { token.cancel() }

  /// Ends the subscription.
  public func cancel() { token.cancel() }

  /// Adds this object to a set, which keeps it alive.
  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  public static func == (one: AnyCancellable, other: AnyCancellable) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

private final class Holder: Sendable {}
