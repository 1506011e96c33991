/// A turn: several writes, one notification.
///
/// Inside `run` every write takes effect at once for whoever reads; observers are told when the outermost `run` of
/// the thread ends, once per observable, in the order in which the observables were first written, and each reads
/// the newest value of every other. A turn belongs to its thread: it does not hide values from other threads. What
/// another thread overwrites meanwhile is delivered by that thread, and only its newer value.
///
/// Outside `run`, every write is a turn of its own. A write made inside an observer, to the same observable or to
/// another, is delivered after the turn that is under way, to all observers in the same order.
public enum Turn {
  /// Undelivered values that one observable keeps while an observer is slow or writes itself; beyond, the newest
  /// takes the place of the one before it, and `Observable.coalescedWrites` counts.
  public static let backlogLimit = 65_536

  /// Runs `body` on the calling thread. If it throws, what it wrote stays written and is delivered.
  public static func run<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let turn = ThreadTurn.current
    ThreadTurn.open(turn)
    defer { ThreadTurn.close(turn) }
    return try body()
  }
}
