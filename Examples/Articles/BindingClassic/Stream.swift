import BindingModel

/// The values of a variable over time, the present one first; they never fail. What is set up at its end (`sink`,
/// `assign`) runs where it was written, until its `AnyCancellable` is cancelled or released.
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

  public func map<Other>(_ transform: @escaping (Output) -> Other) -> Stream<Other> {
    Stream<Other> { isolation, receive in observe(isolation) { receive(transform($0)) } }
  }

  /// Leaves out a value that equals the one before.
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

/// Ends what it stands for when it is cancelled or released.
public final class AnyCancellable: Hashable, Sendable {
  private let token: ObserverToken

  init(_ token: ObserverToken) { self.token = token }

  deinit { token.cancel() }

  public func cancel() { token.cancel() }

  public func store(in set: inout Set<AnyCancellable>) { set.insert(self) }

  public static func == (one: AnyCancellable, other: AnyCancellable) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

private final class Holder: Sendable {}
