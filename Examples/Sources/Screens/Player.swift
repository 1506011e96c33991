import Foundation

/// Plays the steps of some sides on one screen, waits until the screen shows each step of any side, and draws it.
@MainActor
final class Player<Shown: Screen> {
  private let screen: Shown
  private let process: String?
  private let sides: Set<Side>
  private let deadline: Deadline
  private var drawn: [String] = []

  /// - Parameter process: prefixes every line if there are several processes; then only changed lines are drawn.
  init(_ screen: Shown, process: String? = nil, sides: Set<Side> = [.person, .model], until deadline: Deadline) {
    self.screen = screen
    self.process = process
    self.sides = sides
    self.deadline = deadline
  }

  func play(_ steps: [Step<Shown>]) async throws {
    draw("the screen")
    for step in steps {
      if sides.contains(step.side) {
        write(["", "\(step.side.rawValue) \(step.words)"])
        step.act(screen)
        try await waitUntilShown(step)
        draw()
        // For the viewer: the other screen can follow step by step.
        if process != nil, step.side == .person { try await Task.sleep(for: .milliseconds(200)) }
      } else if step.isShown != nil {
        try await waitUntilShown(step)
        draw("this screen follows")
      }
    }
    if process != nil {
      drawn = []
      draw("at the end")
    }
  }

  private func waitUntilShown(_ step: Step<Shown>) async throws {
    guard let isShown = step.isShown, try await !deadline.wait(until: { isShown(screen) }) else { return }
    drawn = []
    draw("the screen after all")
    throw Failure("the screen does not show in time that the \(step.side.rawValue) \(step.words)", of: process)
  }

  func draw(_ title: String? = nil) {
    let lines = screen.lines.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
    let isSameSize = process != nil && lines.count == drawn.count
    let changed = isSameSize ? zip(lines, drawn).filter { $0 != $1 }.map(\.0) : lines
    drawn = lines
    let drawing = changed.isEmpty ? ["(unchanged)"] : changed
    write((title.map { ["", $0] } ?? []) + drawing.map { $0.isEmpty ? "" : "  \($0)" })
  }

  /// Writes in one piece, so that two processes can share a terminal.
  private func write(_ lines: [String]) {
    let prefixed = process.map { process in lines.map { $0.isEmpty ? "\(process)|" : "\(process)| \($0)" } } ?? lines
    FileHandle.standardOutput.write(Data(prefixed.map { $0 + "\n" }.joined().utf8))
  }
}

/// The end of a wait.
@MainActor
struct Deadline {
  private let end: ContinuousClock.Instant
  private let isHopeless: @MainActor () -> Bool

  /// - Parameter isHopeless: whether waiting longer is useless.
  init(in time: Duration, or isHopeless: @escaping @MainActor () -> Bool = { false }) {
    end = .now + time
    self.isHopeless = isHopeless
  }

  /// Returns false if the condition does not hold in time.
  func wait(until condition: () -> Bool) async throws -> Bool {
    while !condition() {
      if ContinuousClock.now > end || isHopeless() { return false }
      try await Task.sleep(for: .milliseconds(5))
    }
    return true
  }
}

/// Ends an example with a message.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ problem: String, of process: String?) { description = (process.map { "\($0)| " } ?? "") + problem }
}
