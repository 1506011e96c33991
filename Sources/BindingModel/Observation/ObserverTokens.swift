/// A bag of tokens: what is kept in it lasts as long as the bag, or until `cancelAll()`.
/// ```swift
/// final class Screen {
///   private let tokens = ObserverTokens()
///   func show(_ lamp: Lamp) { lamp.$level.observe { print($0) }.store(in: tokens) }
/// }
/// ```
/// Any thread may add and cancel. What an owner holds (`observe(on:)`) is ended by `cancelAll()` too, but not by
/// letting go of the bag.
public final class ObserverTokens: Sendable {
  private let tokens = Protected<[ObserverToken]>([])

  /// An empty bag.
  public init() {}

  /// Keeps a token.
  public func add(_ token: ObserverToken) {
    tokens.withLock { tokens in
      // Those that were cancelled one by one are let go of when the room would have to grow.
      if tokens.count == tokens.capacity { tokens.removeAll { $0.isCancelled } }
      tokens.append(token)
    }
  }

  /// Cancels what is kept, in the order in which it came, and lets go of it. The bag may be used again.
  public func cancelAll() {
    let kept = tokens.withLock { tokens in
      defer { tokens = [] }
      return tokens
    }
    for token in kept { token.cancel() }
  }
}

extension ObserverToken {
  /// Has a bag keep this token.
  public func store(in tokens: ObserverTokens) { tokens.add(self) }

  /// Has a set keep this token: `count.observe { … }.store(in: &tokens)`.
  public func store(in tokens: inout Set<ObserverToken>) { tokens.insert(self) }
}

/// A token is equal to itself alone.
extension ObserverToken: Hashable {
  public static func == (left: ObserverToken, right: ObserverToken) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
