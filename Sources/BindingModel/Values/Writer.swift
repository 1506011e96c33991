/// Who makes a write, so that its author can leave out the echo. Other libraries call it *origin* or *source*.
///
/// A control, a two-way link or a network layer holds one and passes it with its writes; an observer that asks for
/// writes `.others(than:)` is not told of them. It costs eight bytes and no allocation after it was made.
public struct Writer: Hashable, Sendable {
  @usableFromInline let number: UInt64

  @inlinable
  init(number: UInt64) { self.number = number }

  /// A new writer, different from every other of this process.
  public init() {
    number = Writer.count.withLock { count in
      count += 1
      return count
    }
  }

  /// Nobody in particular: the writer of plain assignments. Observers that leave out a writer still see these.
  @inlinable
  public static var unnamed: Writer { Writer(number: 0) }

  /// The writer of a link, which says nothing of its own.
  static func link() -> Writer { Writer(number: Writer().number | 1 << 63) }

  var isLink: Bool { number >> 63 != 0 }

  /// The writer of somebody who may want to hear when what was taken is refused after all: see `LateRefusals`.
  static func observingRefusals() -> Writer { Writer(number: Writer().number | 1 << 62) }

  var observesRefusals: Bool { number >> 62 & 1 != 0 }

  private static let count = Protected<UInt64>(0)
}

/// Which writes an observer wants to be told of.
public enum ObservedWrites: Sendable {
  /// Every write, one's own as well.
  case all
  /// All but those made by this writer.
  ///
  /// One's own write is still delivered when another's write was undelivered at that moment; what arrives last is
  /// then the present value, so that nobody is left showing an overtaken one.
  case others(than: Writer)
}
