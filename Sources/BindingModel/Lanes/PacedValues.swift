/// Values at a pace, for `for await`: the current one first, each with the number of changes that were coalesced into
/// it.
///
/// With `.latest(every:)` a loop receives the newest value no sooner than the interval after the one before, and
/// never misses the last; with `.everyChange(limit:)` it receives the values that it has missed, oldest first, up to
/// the limit. The sequence finishes as `Values` does.
public struct PacedValues<Value: Sendable>: AsyncSequence, Sendable {
  /// One value, with the number of changes coalesced into it.
  public struct Element: Sendable {
    /// The value that stands for all of these changes.
    public let value: Value
    /// How many changes between the element before and this one were coalesced; 0 when none was missed.
    public let coalesced: Int
  }

  let pace: Pace<Value>
  let subscribe: @Sendable (Mailbox<Value>) -> ObserverToken

  /// - Parameter subscribe: posts values to the mailbox, and closes it when there can be no more.
  package init(_ pace: Pace<Value>, subscribe: @escaping @Sendable (Mailbox<Value>) -> ObserverToken) {
    self.pace = pace
    self.subscribe = subscribe
  }

  public func makeAsyncIterator() -> Iterator {
    let mailbox = Mailbox<Value>(limit: pace.limit, coalesce: pace.coalesce)
    return Iterator(subscription: Subscription(mailbox, token: subscribe(mailbox)), limiter: PaceLimiter(pace))
  }

  /// Observes the value from its creation to its release.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Subscription<Value>
    var limiter: PaceLimiter<Value>

    public mutating func next() async -> Element? {
      while true {
        if let nanoseconds = limiter.wait(at: PaceClock.system.now()) {
          do {
            try await Task.sleep(nanoseconds: nanoseconds)
          } catch {
            subscription.mailbox.close(discarding: true)
            return nil
          }
        }
        guard let entry = await subscription.mailbox.next() else { return nil }
        let now = PaceClock.system.now()
        if let admitted = limiter.admit(entry.element, weight: entry.weight, at: now) {
          return Element(value: admitted.value, coalesced: Swift.max(admitted.weight - 1, 0))
        }
      }
    }
  }
}
