/// Where observers leave values for one async iterator: bounded, oldest out first.
final class Mailbox<Element: Sendable>: Sendable {
  struct Letter: Sendable {
    var element: Element
    /// Values thrown away just before this one because the reader was behind.
    var dropped: Int
  }

  private struct Contents {
    var letters = Fifo<Letter>()
    var reader: CheckedContinuation<Letter?, Never>?
    var isClosed = false
  }

  private let limit: Int
  private let contents = Protected(Contents())

  init(limit: Int) { self.limit = max(1, limit) }

  /// Hands the value to a waiting reader, else keeps it.
  func post(_ element: Element) {
    let reader = contents.withLock { contents -> CheckedContinuation<Letter?, Never>? in
      guard !contents.isClosed else { return nil }
      if let reader = contents.reader {
        contents.reader = nil
        return reader
      }
      var letter = Letter(element: element, dropped: 0)
      if contents.letters.count == limit, let oldest = contents.letters.popFirst() {
        let dropped = oldest.dropped + 1
        if contents.letters.isEmpty { letter.dropped = dropped } else { contents.letters.first?.dropped += dropped }
      }
      contents.letters.append(letter)
      return nil
    }
    reader?.resume(returning: Letter(element: element, dropped: 0))
  }

  /// No more values. What was posted before can still be read, unless the reader gave up.
  func close(discarding: Bool = false) {
    let reader = contents.withLock { contents in
      contents.isClosed = true
      if discarding { contents.letters = Fifo() }
      let reader = contents.reader
      contents.reader = nil
      return reader
    }
    reader?.resume(returning: nil)
  }

  /// The next value, or nil when there will be none. A second reader at once ends the first one's wait with nil.
  func next() async -> Letter? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reader in
        let ready = contents.withLock { contents -> (letter: Letter?, reader: CheckedContinuation<Letter?, Never>?) in
          if let letter = contents.letters.popFirst() { return (letter, reader) }
          if contents.isClosed { return (nil, reader) }
          let displaced = contents.reader
          contents.reader = reader
          return (nil, displaced)
        }
        ready.reader?.resume(returning: ready.letter)
      }
    } onCancel: {
      close(discarding: true)
    }
  }
}

/// Ties a mailbox to one observation: whoever ends it, the other side hears of it.
final class Subscription<Element: Sendable>: Sendable {
  let mailbox: Mailbox<Element>
  private let token: ObserverToken

  init(to location: any BindingLocation<Element>, limit: Int) {
    let mailbox = Mailbox<Element>(limit: limit)
    let source = Source(mailbox)
    self.mailbox = mailbox
    token = location.observe(owner: nil) { value, _ in source.mailbox.post(value) }
  }

  deinit { token.cancel() }

  /// Held by the observation alone: when that is released, nothing more can come.
  private final class Source: Sendable {
    let mailbox: Mailbox<Element>

    init(_ mailbox: Mailbox<Element>) { self.mailbox = mailbox }

    deinit { mailbox.close() }
  }
}
