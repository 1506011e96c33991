/// The values of an observable or a binding, for `for await`: the present one first, then, each time the loop comes
/// back, the newest if there is a new one. A slow loop skips values, never the last.
///
/// Each iterator observes by itself, from its making to its release. The sequence finishes when the owner of the value
/// is gone or the reading task is cancelled. Neither sequence nor iterator keeps the owner alive.
public struct Values<Element: Sendable>: AsyncSequence, Sendable {
  let location: any BindingLocation<Element>

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Subscription(to: location, limit: 1)) }

  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Subscription<Element>

    public mutating func next() async -> Element? { await subscription.mailbox.next()?.element }
  }
}

/// Every value of an observable or a binding, for `for await`, as far as its buffer reaches.
///
/// Like `Values`, but a loop that is behind finds the values that it has missed, oldest first. Past `limit` of them the
/// oldest are thrown away, and the next element says how many.
public struct EveryValue<Value: Sendable>: AsyncSequence, Sendable {
  public struct Element: Sendable {
    /// What was written.
    public let value: Value
    /// How many values were thrown away just before this one; 0 when nothing was missed.
    public let dropped: Int
  }

  let location: any BindingLocation<Value>
  let limit: Int

  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Subscription(to: location, limit: limit)) }

  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Subscription<Value>

    public mutating func next() async -> Element? {
      guard let entry = await subscription.mailbox.next() else { return nil }
      return Element(value: entry.element, dropped: entry.weight - 1)
    }
  }
}
