/// Values that observers leave for one async iterator. Bounded; the oldest leaves first.
package final class Mailbox<Element: Sendable>: Sendable {
  package typealias Entry = CoalescingQueue<Element>.Entry

  private struct Contents {
    var entries: CoalescingQueue<Element>
    var reader: CheckedContinuation<Entry?, Never>?
    var isClosed = false
  }

  private let contents: Protected<Contents>

  package init(limit: Int, coalesce: @escaping @Sendable (inout Element, Element) -> Void = { $0 = $1 }) {
    contents = Protected(Contents(entries: CoalescingQueue(limit: limit, coalesce: coalesce)))
  }

  /// Passes the value to a waiting reader, or stores it.
  package func post(_ element: Element, weight: Int = 1) {
    let reader = contents.withLock { contents -> CheckedContinuation<Entry?, Never>? in
      guard !contents.isClosed else { return nil }
      if let reader = contents.reader {
        contents.reader = nil
        return reader
      }
      contents.entries.append(element, weight: weight)
      return nil
    }
    reader?.resume(returning: Entry(element: element, weight: weight))
  }

  /// Accepts no more values. Values posted before can still be read, unless `discarding` drops them.
  package func close(discarding: Bool = false) {
    let reader = contents.withLock { contents in
      contents.isClosed = true
      if discarding { contents.entries.removeAll() }
      let reader = contents.reader
      contents.reader = nil
      return reader
    }
    reader?.resume(returning: nil)
  }

  /// The next value, or nil when there will be none. A second concurrent reader ends the first one's wait with nil.
  func next() async -> Entry? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reader in
        let ready = contents.withLock { contents -> (entry: Entry?, reader: CheckedContinuation<Entry?, Never>?) in
          if let entry = contents.entries.popFirst() { return (entry, reader) }
          if contents.isClosed { return (nil, reader) }
          let displaced = contents.reader
          contents.reader = reader
          return (nil, displaced)
        }
        ready.reader?.resume(returning: ready.entry)
      }
    } onCancel: {
      close(discarding: true)
    }
  }
}

/// Connects a mailbox to one observation: when one ends, so does the other.
final class Subscription<Element: Sendable>: Sendable {
  let mailbox: Mailbox<Element>
  private let token: ObserverToken

  init(_ mailbox: Mailbox<Element>, token: ObserverToken) {
    self.mailbox = mailbox
    self.token = token
  }

  convenience init(to location: any BindingLocation<Element>, limit: Int) {
    let mailbox = Mailbox<Element>(limit: limit)
    let source = MailboxSource(mailbox)
    self.init(mailbox, token: location.observe(owner: nil) { value, _ in source.mailbox.post(value) })
  }

  deinit { token.cancel() }
}

/// Held by an observation alone: when that is released, no more values can arrive.
package final class MailboxSource<Element: Sendable>: Sendable {
  package let mailbox: Mailbox<Element>

  package init(_ mailbox: Mailbox<Element>) { self.mailbox = mailbox }

  deinit { mailbox.close() }
}
