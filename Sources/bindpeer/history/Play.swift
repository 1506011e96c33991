import ArgumentParser
import BindingHub
import BindingPeer
import BindingTerminal
import Foundation

/// Plays a recorded history into a hub of its own.
struct Play: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Play a recorded history into a hub of its own; compare what a program writes with what was recorded.",
    discussion: """
      The hub lives in this program, in memory; its address is printed, and COMMAND gets it as BINDPEER_HUB. Commits \
      are put in as they were: no owner is asked, no condition tested.
        bindpeer play run.history --listen local          for programs to read
        bindpeer play run.history --speed max --check     are all digests equal?
        bindpeer play run.history --without panel --check -- ./panel
      With --without, what PEER wrote is left out; COMMAND has to write it. --check then compares, field by field, \
      the values that COMMAND writes with those that PEER wrote, in their order, and names the first that differs.

      Exit codes: 0 all equal, 1 something differs or was not recorded commit by commit, 65 the file is not a history.
      """)

  @Argument(help: "A file that record made.")
  var file: String
  @Option(help: "How many times as fast as it happened: a number above 0, or max.")
  var speed: PlaySpeed = PlaySpeed(factor: 1)
  @Option(help: "Begin with the state at this time after the beginning, such as 30s.")
  var from: TimeSpan = TimeSpan(seconds: 0)
  @Option(help: "End at this time after the beginning.")
  var until: TimeSpan?
  @Option(help: "Where the hub listens: local (this user's default), or an address. Default: a socket of its own.")
  var listen: String?
  @Option(help: "Leave out what this peer wrote: its name, its name with digits, its user, or its tag.")
  var without: String?
  @Flag(help: "Compare, and end with 1 if something differs.")
  var check = false
  @Option(help: "With --without and --check: the most that a write may be early or late, at speed 1. Default: any.")
  var tolerance: TimeSpan?
  @Option(
    name: .customLong("timeout"),
    help: "How long to wait for COMMAND to join, and for its last writes after the end.")
  var limit = TimeSpan(seconds: 5)
  @Flag(help: "Go on serving after the end, until interrupted.")
  var stay = false
  @Flag(name: .long, help: "Print the result as JSON.")
  var json = false
  @Argument(parsing: .postTerminator, help: "A program to run with the hub, after --.")
  var command: [String] = []

  func validate() throws {
    guard without != nil || tolerance == nil else {
      throw ValidationError("--tolerance compares times of what one peer wrote; name it with --without.")
    }
    guard without == nil || !check || !command.isEmpty else {
      throw ValidationError("--without --check compares what a program writes; name it after --.")
    }
  }

  mutating func run() async throws {
    var recording = try Recording(file: file)
    for warning in recording.warnings { Terminal.complain("! \(warning)") }
    let begin = from.nanoseconds
    if let until { recording.end(at: until.nanoseconds) }
    var comparison: WriteComparison?
    if let without {
      let peer = RecordedPeer(without)
      comparison = WriteComparison(
        recording, of: peer, after: begin, tolerance: tolerance.map { Double($0.milliseconds) / 1_000 })
      guard comparison?.isEmpty == false else {
        throw Failure(.usage, "\(excerpt(without)) wrote nothing in \(excerpt(file)). It has: \(recording.writers)")
      }
      recording.leaveOut(after: begin, peer.matches)
    }
    let stage = try Stage(listen: listen)
    defer { stage.close() }
    stage.closeAtSignals()
    Terminal.complain("playing at \(stage.address)")
    var player = Player(recording, into: stage.hub, speed: speed.factor, isExact: without == nil)
    let writes = comparison == nil ? nil : try await StageWrites(at: stage.hub, besides: recording.tags)
    await player.playBeginning(until: begin)
    if !command.isEmpty {
      try stage.start(command)
      if await !stage.whenJoined(besides: writes == nil ? 0 : 1, timeout: limit.duration) {
        Terminal.complain("! \(excerpt(command[0])) has not joined within \(limit.milliseconds) ms; playing anyway")
      }
    }
    writes?.begin()
    await player.play(from: begin)
    var result = player.result
    if let comparison, let writes {
      await writes.whenCount(comparison.count, timeout: limit.duration)
      if check { result.differences += comparison.differences(from: writes.all, speed: speed.factor) }
    }
    result.print(json: json, isChecked: check)
    if stay {
      while true { try await Task.sleep(for: .seconds(3_600)) }
    }
    if check, let failure = result.failure { throw failure }
  }
}

/// A factor of time; nil: as fast as possible.
struct PlaySpeed: ExpressibleByArgument {
  let factor: Double?

  init(factor: Double?) { self.factor = factor }

  init?(argument: String) {
    if argument == "max" {
      factor = nil
    } else {
      guard let number = Double(argument), number > 0, number.isFinite else { return nil }
      factor = number
    }
  }

  var defaultValueDescription: String { "1" }
}

extension TimeSpan {
  var nanoseconds: UInt64 { milliseconds * 1_000_000 }
}
