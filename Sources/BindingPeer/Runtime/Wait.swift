import BindingModel
import Dispatch

/// One task's wait for one event. The first end counts: the event, the timeout, or the task's cancellation.
///
/// Nothing of it remains once the wait is over, no timer and no continuation.
final class Wait<End: Sendable>: Sendable {
  private enum Progress: Sendable {
    case open
    case awaited(CheckedContinuation<End, Never>)
    case ended(End)
  }
  private let progress = Protected(Progress.open)

  func end(_ end: End) {
    let waiting: CheckedContinuation<End, Never>? = progress.withLock { progress in
      switch progress {
      case .ended: return nil
      case .open:
        progress = .ended(end)
        return nil
      case .awaited(let continuation):
        progress = .ended(end)
        return continuation
      }
    }
    waiting?.resume(returning: end)
  }

  /// Waits, once.
  /// - Parameters:
  ///   - timeout: the longest wait; nil: no limit.
  ///   - given: the end if the timeout passes first, or the task is cancelled.
  func value(timeout: Duration? = nil, otherwise given: End) async -> End {
    let timer = timeout.map { makeTimer(after: $0, given) }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = progress.withLock { progress in
          if case .ended = progress { return true }
          progress = .awaited(continuation)
          return false
        }
        if isOver, case .ended(let end) = progress.withLock({ $0 }) { continuation.resume(returning: end) }
      }
    } onCancel: {
      end(given)
    }
  }

  /// Not a sleeping task: a cancelled one leaves something behind until its time is over.
  private func makeTimer(after timeout: Duration, _ given: End) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { [weak self] in self?.end(given) }
    // A hundred days are as good as no limit, and fit the clock.
    timer.schedule(deadline: .now() + .milliseconds(Int(min(timeout.wholeMilliseconds, 8_640_000_000))))
    timer.activate()
    return timer
  }
}
