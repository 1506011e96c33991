import Foundation
import Testing

@Suite("Programs that end", .serialized)
struct ExitTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func leave(_ arguments: String...) throws -> RunningProcess {
    try RunningProcess(Bench.program("bindlab"), ["leave"] + arguments, hub: bench.hub)
  }

  @Test(
    "the last assignment of an ending program arrives, 20 times out of 20",
    arguments: ["returns", "exits", "releases"])
  func lastAssignmentArrives(way: String) throws {
    let hub = try bench.startHub()
    for number in 1...20 {
      let program = try leave("left/\(number)", "--value", "\(number)", "--way", way)
      #expect(program.end() == 0)
      #expect(program.output == [])
    }
    for number in 1...20 {
      #expect(try bench.run("get", "left/\(number).value").output == "left/\(number).value = \(number)")
    }
    withExtendedLifetime(hub) {}
  }

  @Test("an ending program does not deadlock with an observer that waits for its lock")
  func lockHeld() throws {
    let hub = try bench.startHub()
    let program = try leave("left", "--way", "locked")
    #expect(program.end() == 0)
    withExtendedLifetime(hub) {}
  }

  @Test("an observer on the link's thread can end the program")
  func exitInObserver() throws {
    let hub = try bench.startHub()
    #expect(try leave("left", "--way", "observes").end() == 0)
    withExtendedLifetime(hub) {}
  }

  @Test("an ending program names writes without an outcome in one line on standard error")
  func nothingArrives() throws {
    let program = try leave("left", "--way", "returns")
    #expect(program.end() == 0)
    let lines = program.output.filter { $0.contains("no outcome: 1 to left;") }
    #expect(lines.count == 1, "\(program.output)")
    #expect(lines.first?.contains("no hub answers at \(bench.hub)") == true)
  }

  @Test("an ending program waits for a silent hub at most its timeout, and reports the writes")
  func hubStandsStill() throws {
    let hub = try bench.startHub()
    let program = try RunningProcess(
      Bench.program("bindlab"), ["leave", "left", "--way", "returns", "--after-line"], hub: bench.hub)
    try #require(program.line { $0 == "shared" } != nil)
    hub.send(SIGSTOP)
    program.write("go")
    #expect(program.end() == 0)
    hub.send(SIGCONT)
    let line = program.line { $0.contains("no outcome: 1 to left;") }
    #expect(line?.contains("the hub did not answer in time") == true, "\(program.output)")
  }

  @Test("a program without a hub prints how to start one, and when it answers")
  func hubComesLate() throws {
    let program = try RunningProcess(Bench.program("vitals"), [], hub: bench.hub)
    let line = program.line { $0.contains("no hub answers") }
    #expect(line?.contains("no hub answers at \(bench.hub); start one: bindhub serve --listen \(bench.hub)") == true)
    let hub = try bench.startHub()
    #expect(program.line { $0.contains("the hub answers at \(bench.hub)") } != nil)
    #expect(program.output.count { $0.contains("no hub answers") } == 1)
    withExtendedLifetime(hub) {}
  }
}
