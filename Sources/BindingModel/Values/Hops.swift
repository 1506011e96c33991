/// How often processes have answered one another up to the calling thread's current write; 0 for a write that answers
/// nothing.
///
/// Each value carries its number to its observers, whichever thread notifies them, and whenever. So processes whose
/// observers answer each other endlessly are detected, whatever the path between them.
package enum Hops {
  package static var current: UInt8 { ThreadTurn.current.pointee.hops }

  /// Runs `body` as an answer to an update with this many hops; inside another answer the greater number counts.
  @inlinable
  package static func answering<Result>(_ hops: UInt8, _ body: () -> Result) -> Result {
    let turn = ThreadTurn.current
    let outer = turn.pointee.hops
    turn.pointee.hops = max(hops, outer)
    defer { turn.pointee.hops = outer }
    return body()
  }
}
