import BindingPeer
import BindingTerminal
import Foundation

/// Shows the progress of a task: a line on standard error that is overwritten, once the task takes longer than a
/// second, and only on a terminal. Data may go to the terminal or a file meanwhile, not to another program.
struct Progress: Sendable {
  private struct Shown {
    var next = ContinuousClock.now + .seconds(1)
    var isThere = false
  }
  private static let width = 24
  private static let pause = Duration.milliseconds(100)

  private let name: String
  private let isWanted: Bool
  private let shown = Protected(Shown())

  init(_ name: String, isWanted: Bool) {
    self.name = name
    var output = stat()
    let isFile = fstat(STDOUT_FILENO, &output) == 0 && output.st_mode & S_IFMT == S_IFREG
    self.isWanted =
      isWanted && (isatty(STDOUT_FILENO) == 1 || isFile) && isatty(STDERR_FILENO) == 1
      && Terminal.environment("TERM") != "dumb"
  }

  /// - Parameter part: the completed part, 0 to 1.
  func show(_ part: Double, _ words: () -> String) {
    guard isWanted else { return }
    let now = ContinuousClock.now
    let isDue = shown.withLock { shown in
      guard now >= shown.next else { return false }
      shown = Shown(next: now + Progress.pause, isThere: true)
      return true
    }
    guard isDue else { return }
    let full = Int(min(max(part, 0), 1) * Double(Progress.width))
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: Progress.width - full)
    StandardStreams.show("\r\(name)  \(bar)  \(words())\u{1B}[K")
  }

  /// Removes the line.
  func end() {
    let wasThere = shown.withLock { shown in
      defer { shown.isThere = false }
      return shown.isThere
    }
    if wasThere { StandardStreams.show("\r\u{1B}[K") }
  }
}
