import BindingHub
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

/// Why this process ends. Several threads may ask; the first reason counts, and the main thread carries it out, so that
/// the exit code is never chance.
final class Ending: Sendable {
  struct Reason: Sendable {
    var code: Int32
    /// What is said on standard error.
    var text: String?
  }

  private let reason = Held<Reason?>(nil)
  private let isAsked = DispatchSemaphore(value: 0)

  func ask(_ code: Int32, _ text: String? = nil) {
    reason.withLock { $0 = $0 ?? Reason(code: code, text: text) }
    isAsked.signal()
  }

  /// Waits until somebody asks.
  func wait() -> Reason {
    isAsked.wait()
    return reason.withLock { $0 } ?? Reason(code: 0)
  }

  /// Asks when the hub ends by itself.
  func follow(_ hub: Hub) {
    Thread.detachNewThread {
      do throws(StoreError) {
        try hub.wait()
        self.ask(0)
      } catch {
        self.ask(error.exitCode, "The store cannot go on: \(error)")
      }
    }
  }

  /// Asks when standard input ends.
  func followStandardInput() {
    Thread.detachNewThread {
      while !FileHandle.standardInput.availableData.isEmpty {}
      self.ask(0)
    }
  }
}

/// The signals that end a hub: blocked in every thread and taken by one that waits for them, so that none is lost at
/// any moment, however early it comes.
struct StopSignals {
  /// After the first signal the process is gone at the latest then, whatever hangs.
  private static let limitSeconds: UInt32 = 15

  private let signals: sigset_t
  /// The terminal that this process was started from, to see whether it is still there.
  private let terminal: Int32

  /// On the main thread, before another one starts: threads begin with the mask of who starts them. This program starts
  /// no other one, which would inherit it too.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    var present = sigaction()
    // Whoever started this with `nohup` wants it to stay.
    let isHangupIgnored = sigaction(SIGHUP, nil, &present) == 0 && StopSignals.isIgnored(present)
    for number in [SIGTERM, SIGINT] + (isHangupIgnored ? [] : [SIGHUP]) {
      sigaddset(&signals, number)
      // A shell starts what runs in the background with SIGINT ignored, and what is ignored may never be told.
      signal(number, SIG_DFL)
    }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    self.signals = signals
    terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
  }

  /// Asks for the end when a signal comes: SIGTERM is 0, SIGINT 130. SIGHUP is the terminal that has closed, and else
  /// the request to read files again, of which there are none.
  func forward(to ending: Ending, _ log: Logger) {
    let (signals, terminal) = (signals, terminal)
    Thread.detachNewThread {
      var signals = signals
      while true {
        var number: Int32 = 0
        guard sigwait(&signals, &number) == 0 else { continue }
        if number == SIGHUP, !StopSignals.isGone(terminal) {
          log.info("nothing to reload", metadata: ["signal": "SIGHUP"])
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
