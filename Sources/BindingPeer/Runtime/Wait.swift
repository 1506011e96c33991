import BindingModel
import Dispatch

/// One task's wait for one thing. The first end counts, whichever it is: what was waited for, the time that is over, or
/// the task's cancellation.
///
/// It is left by whoever waits for it: nothing of it stays behind, no timer and no continuation.
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
  ///   - timeout: how long at most; nil for as long as it takes.
  ///   - given: the end if nothing came until then, or the task was cancelled.
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

  /// Not a sleeping task: of one that is cancelled something stays until its time has come.
  private func makeTimer(after timeout: Duration, _ given: End) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { [weak self] in self?.end(given) }
    // A hundred days are as good as no limit, and fit the clock.
    timer.schedule(deadline: .now() + .milliseconds(Int(min(timeout.wholeMilliseconds, 8_640_000_000))))
    timer.activate()
    return timer
  }
}
