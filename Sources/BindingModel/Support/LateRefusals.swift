/// Who hears when a write that a place took at once is refused after all: where another process decides, as the hub
/// does of a shared field, that is known only later.
///
/// They are found by their writer, which goes along with a write through every place in between.
package enum LateRefusals {
  /// Is told why, in words for a person.
  package typealias Observer = @Sendable (String) -> Void

  private static let observers = Protected<[Writer: @Sendable () -> Observer]>([:])

  /// Who hears of a write by this writer, asked on the thread that makes it, while it does; nil: nobody.
  package static func observer(of writer: Writer) -> Observer? {
    guard writer.observesRefusals else { return nil }
    return observers.withLock { $0[writer] }?()
  }

  /// From now on `begin` is asked at each write by this writer.
  static func observe(for writer: Writer, _ begin: @escaping @Sendable () -> Observer) {
    observers.withLock { $0[writer] = begin }
  }

  static func end(for writer: Writer) {
    // What it holds goes after the lock is let go of: its end may be anybody's code.
    let former = observers.withLock { $0.removeValue(forKey: writer) }
    withExtendedLifetime(former) {}
  }
}
