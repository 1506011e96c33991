import NIOCore

/// When the gateway takes its next turn: once all ready input is read, or at its machine's next deadline. Belongs to
/// the event loop.
final class TurnSchedule: @unchecked Sendable {  // SAFETY: all mutable state is accessed on `loop` only
  private let loop: any EventLoop
  private var turn: (() -> Void)?
  private var isDueSoon = false
  private var alarm: (deadline: UInt64, task: Scheduled<Void>)?

  init(on loop: any EventLoop) { self.loop = loop }

  /// Takes this turn from now on.
  func begin(_ turn: @escaping () -> Void) { self.turn = turn }

  /// Takes no more turns.
  func end() {
    turn = nil
    cancelAlarm()
  }

  /// Takes a turn after all ready input of the sockets has been read.
  func takeTurnSoon() {
    guard turn != nil, !isDueSoon else { return }
    isDueSoon = true
    loop.execute {
      self.isDueSoon = false
      self.turn?()
    }
  }

  /// Takes a turn at this time of the loop in milliseconds, and not at an earlier given one; `.max`: at none.
  func takeTurn(at deadline: UInt64) {
    guard deadline != alarm?.deadline else { return }
    cancelAlarm()
    guard deadline < .max else { return }
    let task = loop.scheduleTask(deadline: .uptimeNanoseconds(min(deadline, .max / 1_000_000) * 1_000_000)) {
      self.alarm = nil
      self.turn?()
    }
    alarm = (deadline, task)
  }

  private func cancelAlarm() {
    alarm?.task.cancel()
    alarm = nil
  }
}
