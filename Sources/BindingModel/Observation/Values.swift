/// The values of an observable or a binding, for `for await`: the current one first, then, at each iteration, the
/// newest if there is a new one. A slow loop skips values, never the last.
///
/// Each iterator observes by itself, from its creation to its release. The sequence finishes when the owner of the
/// value is gone or the reading task is cancelled. Neither sequence nor iterator keeps the owner alive.
public struct Values<Element: Sendable>: AsyncSequence, Sendable {
  let location: any BindingLocation<Element>

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Subscription(to: location, limit: 1)) }

  /// Observes the value from its creation to its release.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Subscription<Element>

    public mutating func next() async -> Element? { await subscription.mailbox.next()?.element }
  }
}

/// Every value of an observable or a binding, for `for await`, up to a limit.
///
/// Like `Values`, but a lagging loop receives the values that it has missed, oldest first. Past `limit` of them the
/// oldest are dropped, and the next element reports how many.
public struct EveryValue<Value: Sendable>: AsyncSequence, Sendable {
  /// One value, with the number of values dropped before it.
  public struct Element: Sendable {
    /// The value that was written.
    public let value: Value
    /// How many values were dropped just before this one; 0 when none was missed.
    public let dropped: Int
  }

  let location: any BindingLocation<Value>
  let limit: Int

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Subscription(to: location, limit: limit)) }

  /// Observes the value from its creation to its release.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Subscription<Value>

    public mutating func next() async -> Element? {
      guard let entry = await subscription.mailbox.next() else { return nil }
      return Element(value: entry.element, dropped: entry.weight - 1)
    }
  }
}
