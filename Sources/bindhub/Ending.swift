import BindingHub
import BindingTerminal
import Dispatch
import Foundation
import Logging

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The reason why this process ends. Several threads may request the end; the first reason counts, and the main
/// thread carries it out, so the exit code does not depend on chance.
final class Ending: Sendable {
  struct Reason: Sendable {
    var code: Int32
    /// The message on standard error.
    var text: String?
  }

  private let reason = Held<Reason?>(nil)
  private let isAsked = DispatchSemaphore(value: 0)

  func ask(_ code: Int32, _ text: String? = nil) {
    reason.withLock { $0 = $0 ?? Reason(code: code, text: text) }
    isAsked.signal()
  }

  /// Blocks until the end is requested.
  func wait() -> Reason {
    isAsked.wait()
    return reason.withLock { $0 } ?? Reason(code: 0)
  }

  /// Requests the end when the hub ends by itself.
  func follow(_ hub: Hub) {
    Thread.detachNewThread {
      do throws(StoreError) {
        try hub.wait()
        self.ask(0)
      } catch {
        self.ask(error.exitCode, "The store failed: \(error)")
      }
    }
  }

  /// Requests the end when standard input ends.
  func followStandardInput() {
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      self.ask(0)
    }
  }
}

/// The signals that end a hub. They are blocked in every thread and received by one that waits for them, so that
/// none is lost, however early it arrives.
struct StopSignals {
  /// After the first signal the process ends within this time, even if something hangs.
  private static let limitSeconds: UInt32 = 15

  private let signals: sigset_t
  /// The terminal that this process was started from, to test whether it still exists.
  private let terminal: Int32

  /// Call it on the main thread before any other thread starts: threads inherit the signal mask of their creator.
  /// Child processes would inherit it too, but this program starts none.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    var present = sigaction()
    // `nohup` ignores SIGHUP, so that the process survives its terminal.
    let isHangupIgnored = sigaction(SIGHUP, nil, &present) == 0 && StopSignals.isIgnored(present)
    for number in [SIGTERM, SIGINT] + (isHangupIgnored ? [] : [SIGHUP]) {
      sigaddset(&signals, number)
      // A shell starts background processes with SIGINT ignored, and an ignored signal may never be delivered.
      signal(number, SIG_DFL)
    }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    self.signals = signals
    terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
  }

  /// Requests the end when a signal arrives: exit code 0 for SIGTERM, 130 for SIGINT. SIGHUP ends the process only
  /// if its terminal has closed; otherwise it asks to reload the rights and the pages' certificate.
  func forward(to ending: Ending, _ log: Logger, reload: @escaping @Sendable () -> Void) {
    let (signals, terminal) = (signals, terminal)
    Thread.detachNewThread {
      var signals = signals
      while true {
        var number: Int32 = 0
        guard sigwait(&signals, &number) == 0 else { continue }
        if number == SIGHUP, !StopSignals.isGone(terminal) {
          log.info("reloading the rights and the pages' certificate", metadata: ["signal": "SIGHUP"])
          reload()
          continue
        }
        let code: Int32 = number == SIGINT ? 130 : 0
        ending.ask(code)
        sleep(StopSignals.limitSeconds)
        _exit(code)
      }
    }
  }

  private static func isGone(_ terminal: Int32) -> Bool {
    guard terminal >= 0 else { return false }
    var item = pollfd(fd: terminal, events: 0, revents: 0)
    return poll(&item, 1, 0) > 0 && item.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    #if canImport(Darwin)
      let present = action.__sigaction_u.__sa_handler
    #else
      let present = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(present, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
