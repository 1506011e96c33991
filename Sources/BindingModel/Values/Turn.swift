/// A turn: several writes, one notification.
///
/// Inside `run`, readers see every write immediately. When the outermost `run` of the thread ends, each observable
/// notifies its observers once, in the order in which the observables were first written, and every observer reads
/// the newest value of all others. A turn belongs to its thread: it does not hide values from other threads. A value
/// that another thread overwrites meanwhile is delivered by that thread, and only the newer one.
///
/// Outside `run`, every write is a turn of its own. A write made inside an observer, to any observable, is delivered
/// after the current turn, to all observers in the same order.
public enum Turn {
  /// Undelivered values that one observable keeps while an observer is slow or writes itself. Past this limit the
  /// newest value replaces the one before it, and `Observable.coalescedWrites` counts it.
  public static let backlogLimit = 65_536

  /// Runs `body` on the calling thread. If it throws, its writes stay and are delivered.
  public static func run<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let turn = ThreadTurn.current
    ThreadTurn.open(turn)
    defer { ThreadTurn.close(turn) }
    return try body()
  }
}
