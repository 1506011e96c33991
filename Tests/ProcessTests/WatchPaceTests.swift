import Foundation
import Testing

@Suite("The pace of `watch`", .serialized)
struct WatchPaceTests {
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    try bench.run("set", "lamp.level=0", "lamp.on=false")
  }

  @Test("`watch --every` prints how many commits each line coalesces, in JSON and in text")
  func every() throws {
    let forScripts = try bench.start("watch", "lamp", "--every", "1h", "--json", "--for", "2s")
    let atOnce = try bench.start("watch", "lamp", "--every", "300ms")
    try #require(forScripts.line { $0.contains("\"folded\":0") } != nil, "\(forScripts.output)")
    try #require(atOnce.line { $0.contains("level → 0") } != nil, "\(atOnce.output)")
    let writer = try bench.start("pipe", "lamp")
    for number in 1...200 { writer.write("{\"level\":\(number)}") }
    #expect(atOnce.line { $0.contains("level → 200") } != nil, "\(atOnce.output)")
    #expect(atOnce.line { $0.contains(" coalesced)") } != nil, "\(atOnce.output)")
    #expect(forScripts.end() == 0)
    #expect(forScripts.output.count == 1)
  }

  @Test("`watch --deadband` omits small changes of numbers and prints other changes")
  func deadband() throws {
    let watcher = try bench.start("watch", "lamp", "--deadband", "0.5", "--json", "--count", "2")
    try #require(watcher.line { $0.contains("version") } != nil, "\(watcher.output)")
    for assignment in ["lamp.level=0.25", "lamp.on=true", "lamp.level=0.375", "lamp.level=1"] {
      try bench.run("set", assignment)
    }
    #expect(watcher.end() == 0)
    let changes = watcher.output.dropFirst().compactMap { $0.components(separatedBy: "\"changes\":").last }
    #expect(changes == ["{\"on\":true}}", "{\"level\":1}}"])
    #expect(watcher.output.last?.contains("\"folded\":1") == true)
  }

  @Test("an invalid or contradictory pace of `watch` is a usage error with a remedy")
  func usage() throws {
    let wrong = [
      (["--every", "soon"], "100ms"), (["--deadband", "wide"], "0.1"), (["--deadband=-1"], "0.1"),
      (["--every", "1s", "--all-changes"], "Omit --every"),
    ]
    for (arguments, cure) in wrong {
      let running = try RunningProcess(Bench.program("bindpeer"), ["watch", "lamp"] + arguments, hub: bench.hub)
      #expect(running.end() == 64, "\(arguments)")
      #expect(running.output.joined().contains(cure), "\(running.output)")
    }
  }

  @Test("`watch --all-changes` prints a line for each commit")
  func allChanges() throws {
    let watcher = try bench.start("watch", "lamp", "--all-changes", "--json", "--count", "3")
    try #require(watcher.line { $0.contains("caughtUp") } != nil, "\(watcher.output)")
    for level in 1...3 { try bench.run("set", "lamp.level=\(level)") }
    #expect(watcher.end() == 0)
    #expect(watcher.output.dropFirst().allSatisfy { $0.contains("\"folded\":0") })
  }
}
