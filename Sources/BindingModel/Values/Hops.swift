/// How often processes have answered one another until the calling thread came to write what it writes: 0 for a write
/// of one's own accord.
///
/// Each value takes its number along on its way to observers, whichever thread tells them, and whenever. So processes
/// whose observers answer each other without end are found out, by whatever way in between.
package enum Hops {
  package static var current: UInt8 { ThreadTurn.current.pointee.hops }

  /// Runs `body` as an answer to what came with so many; inside another answer the greater number counts.
  @inlinable
  package static func answering<Result>(_ hops: UInt8, _ body: () -> Result) -> Result {
    let turn = ThreadTurn.current
    let outer = turn.pointee.hops
    turn.pointee.hops = max(hops, outer)
    defer { turn.pointee.hops = outer }
    return body()
  }
}
