/// A bag of tokens, whose observations last as long as the bag, or until `cancelAll()`.
/// ```swift
/// final class Screen {
///   private let tokens = ObserverTokens()
///   func show(_ lamp: Lamp) { lamp.$level.observe { print($0) }.store(in: tokens) }
/// }
/// ```
/// Any thread may add and cancel. An observation held by an owner (`observe(on:)`) is ended by `cancelAll()`, but not
/// by releasing the bag.
public final class ObserverTokens: Sendable {
  private let tokens = Protected<[ObserverToken]>([])

  /// An empty bag.
  public init() {}

  /// Stores a token.
  public func add(_ token: ObserverToken) {
    tokens.withLock { tokens in
      // Tokens that were cancelled one by one are released when the storage would have to grow.
      if tokens.count == tokens.capacity { tokens.removeAll { $0.isCancelled } }
      tokens.append(token)
    }
  }

  /// Cancels and releases all stored tokens, in the order in which they were added. The bag may be used again.
  public func cancelAll() {
    let kept = tokens.withLock { tokens in
      defer { tokens = [] }
      return tokens
    }
    for token in kept { token.cancel() }
  }
}

extension ObserverToken {
  /// Stores this token in a bag.
  public func store(in tokens: ObserverTokens) { tokens.add(self) }

  /// Stores this token in a set: `count.observe { … }.store(in: &tokens)`.
  public func store(in tokens: inout Set<ObserverToken>) { tokens.insert(self) }
}

/// A token is equal to itself alone.
extension ObserverToken: Hashable {
  public static func == (left: ObserverToken, right: ObserverToken) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
