import Foundation
import Testing

@Suite("`exec`", .serialized)
struct ExecTests {
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    try bench.run("set", "lamp.level=0", "lamp.name=desk")
  }

  private func path(_ name: String) -> String { bench.folder.appendingPathComponent(name).path }

  @Test("what changes while the command runs leads to one further run, with the newest values")
  func newest() throws {
    let gate = path("gate")
    let script = "echo began with $FIELD_level; while [ ! -e \(gate) ]; do sleep 0.02; done"
    let running = try bench.start("exec", "lamp", "--count", "2", "--", "sh", "-c", script)
    try #require(running.line { $0 == "began with 0" } != nil, "\(running.output)")
    for level in 1...3 { #expect(try bench.run("set", "lamp.level=\(level)").code == 0) }
    #expect(FileManager.default.createFile(atPath: gate, contents: nil))
    #expect(running.end() == 0)
    #expect(running.output == ["began with 0", "began with 3"])
  }

  @Test("with a field in its address it runs again for that field alone, and tells of all")
  func field() throws {
    let running = try bench.start(
      "exec", "lamp.level", "--count", "2", "--", "sh", "-c", "echo $FIELD_level $FIELD_name")
    try #require(running.line { $0 == "0 desk" } != nil, "\(running.output)")
    #expect(try bench.run("set", "lamp.name=shelf").code == 0)
    #expect(try bench.run("set", "lamp.level=1").code == 0)
    #expect(running.end() == 0)
    #expect(running.output == ["0 desk", "1 shelf"])
  }

  @Test("a command that fails is reported and runs again at the next change; the last run's code is that of --count")
  func failing() throws {
    let running = try bench.start("exec", "lamp", "--count", "2", "--", "sh", "-c", "exit 5")
    try #require(running.line { $0 == "! sh ended with 5" } != nil, "\(running.output)")
    #expect(try bench.run("set", "lamp.level=1").code == 0)
    #expect(running.end() == 5)
    #expect(running.output == ["! sh ended with 5", "! sh ended with 5"])
  }

  @Test("a command that is not there ends it with 72, none with 64")
  func absent() throws {
    let absent = try bench.run("exec", "lamp", "--", "no-such-tool")
    #expect(absent.code == 72 && absent.output.contains("no-such-tool cannot be run"), "\(absent)")
    let none = try bench.run("exec", "lamp")
    #expect(none.code == 64 && none.output.contains("bindpeer exec MODEL -- COMMAND"), "\(none)")
    #expect(try bench.run("exec", "lamp/", "--", "true").code == 64)
  }

  @Test("SIGTERM is passed on to the command")
  func terminated() throws {
    let script = "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.02; done"
    let running = try bench.start("exec", "lamp", "--", "sh", "-c", script)
    try #require(running.line { $0 == "up" } != nil, "\(running.output)")
    running.send(SIGTERM)
    #expect(running.end() == 128 + SIGTERM)
    #expect(running.output == ["up", "told"])
  }

  @Test("the command reads nothing, and reaches the hub that exec was given")
  func environment() throws {
    let program = Bench.program("bindpeer")
    let other = "echo \"[$(cat)]\"; \(program) set lamp.name=\"$FIELD_name-2\" > /dev/null"
    let running = try RunningProcess(
      Bench.program("bindpeer"), ["exec", "lamp.level", "--count", "1", "--hub", bench.hub, "--", "sh", "-c", other])
    #expect(running.end() == 0, "\(running.output)")
    #expect(running.output == ["[]"])
    #expect(try bench.run("get", "lamp.name", "--raw").output == "desk-2")
  }

  @Test("it goes on when the hub is back, and does not run for the values that it had")
  func restarted() throws {
    let running = try bench.start("exec", "lamp", "--count", "2", "--", "sh", "-c", "echo $FIELD_level")
    try #require(running.line { $0 == "0" } != nil, "\(running.output)")
    hub.send(SIGTERM)
    _ = hub.end()
    try #require(running.line { $0.contains("the hub does not answer") } != nil, "\(running.output)")
    let again = try bench.startHub()
    #expect(running.line { $0 == "! the hub is back" } != nil, "\(running.output)")
    #expect(try bench.run("set", "lamp.level=2", "lamp.name=desk").code == 0)
    #expect(running.end() == 0)
    #expect(running.output == ["0", "! the hub does not answer; waiting", "! the hub is back", "2"])
    withExtendedLifetime(again) {}
  }
}
