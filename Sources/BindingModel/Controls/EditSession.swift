/// The editing session of a control in whose name the calling thread writes: what a person does from focus to focus is
/// one step of undo. 0: none.
package enum EditSession {
  package static var current: UInt64 { ThreadTurn.current.pointee.progress.edit }

  /// Begins a session, different from all others of this process.
  static func begin() -> UInt64 { Writer().number }

  /// Runs `body`, which writes in a session.
  static func writing<Failure: Error>(in session: UInt64, _ body: () throws(Failure) -> Void) throws(Failure) {
    let turn = ThreadTurn.current
    let outer = turn.pointee.progress.edit
    turn.pointee.progress.edit = session
    defer { turn.pointee.progress.edit = outer }
    try body()
  }
}
