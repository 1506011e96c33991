/// Identifies who makes a write, so that its author can leave out the echo. Other libraries call it *origin* or
/// *source*.
///
/// A control, a two-way link or a network layer creates one and passes it with its writes; an observer that leaves
/// out its writes (`.others(than:)`) does not receive them. A writer takes eight bytes; passing it allocates nothing.
public struct Writer: Hashable, Sendable {
  @usableFromInline let number: UInt64

  @inlinable
  init(number: UInt64) { self.number = number }

  /// Creates a writer different from every other writer of this process.
  public init() {
    number = Writer.count.withLock { count in
      count += 1
      return count
    }
  }

  /// No particular writer: that of plain assignments. Observers that leave out a writer still receive these.
  @inlinable
  public static var unnamed: Writer { Writer(number: 0) }

  /// Creates the writer of a link, which only carries the values of others.
  static func link() -> Writer { Writer(number: Writer().number | 1 << 63) }

  var isLink: Bool { number >> 63 != 0 }

  /// Creates a writer that may observe the late refusal of an accepted write: see `LateRefusals`.
  static func observingRefusals() -> Writer { Writer(number: Writer().number | 1 << 62) }

  var observesRefusals: Bool { number >> 62 & 1 != 0 }

  private static let count = Protected<UInt64>(0)
}

/// Which writes an observer receives.
public enum ObservedWrites: Sendable {
  /// Every write, one's own as well.
  case all
  /// Every write except those of this writer.
  ///
  /// One's own write is still delivered if another writer's write was undelivered at that moment: the value received
  /// last is then the current one, not a superseded one.
  case others(than: Writer)
}
