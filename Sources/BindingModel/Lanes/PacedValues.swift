/// Values at a pace, for `for await`: the present one first, each with the number of changes that were folded into it.
///
/// With `.latest(every:)` a loop gets the newest value no sooner than the interval after the one before, and never
/// misses the last; with `.everyChange(limit:)` it finds what it has missed, oldest first, up to the limit. The
/// sequence ends as `Values` does.
public struct PacedValues<Value: Sendable>: AsyncSequence, Sendable {
  public struct Element: Sendable {
    public let value: Value
    /// How many changes between the element before and this one are not told; 0 when nothing was missed.
    public let coalesced: Int
  }

  let pace: Pace<Value>
  let subscribe: @Sendable (Mailbox<Value>) -> ObserverToken

  /// - Parameter subscribe: leaves what comes in the mailbox, and closes it when nothing more can.
  package init(_ pace: Pace<Value>, subscribe: @escaping @Sendable (Mailbox<Value>) -> ObserverToken) {
    self.pace = pace
    self.subscribe = subscribe
  }

  public func makeAsyncIterator() -> Iterator {
    let mailbox = Mailbox<Value>(limit: pace.limit, coalesce: pace.coalesce)
    return Iterator(subscription: Subscription(mailbox, token: subscribe(mailbox)), limiter: PaceLimiter(pace))
  }

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
