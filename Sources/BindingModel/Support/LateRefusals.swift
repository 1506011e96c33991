/// Observers of writes that were accepted at first and refused later: where another process decides, as the hub does
/// of a shared field, the outcome is known only later.
///
/// They are found by their writer, which accompanies a write through every location in between.
package enum LateRefusals {
  /// Receives the reason, in words for a person.
  package typealias Observer = @Sendable (String) -> Void

  private static let observers = Protected<[Writer: @Sendable () -> Observer]>([:])

  /// The observer of a write by this writer, looked up on the writing thread during the write; nil: none.
  package static func observer(of writer: Writer) -> Observer? {
    guard writer.observesRefusals else { return nil }
    return observers.withLock { $0[writer] }?()
  }

  /// From now on `begin` is called at each write by this writer.
  static func observe(for writer: Writer, _ begin: @escaping @Sendable () -> Observer) {
    observers.withLock { $0[writer] = begin }
  }

  static func end(for writer: Writer) {
    // The former closure is released without the lock: its captures may run user code.
    let former = observers.withLock { $0.removeValue(forKey: writer) }
    withExtendedLifetime(former) {}
  }
}
