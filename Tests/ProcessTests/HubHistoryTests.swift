import Foundation
import Testing

@Suite("The history written by a hub", .serialized)
struct HubHistoryTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("every change that a killed hub acknowledged is in its history, with its writer, in order")
  func commits() throws {
    let path = bench.folder.appendingPathComponent("hub.jsonl").path
    let store = bench.folder.appendingPathComponent("hub.db").path
    let hub = try RunningProcess(
      Bench.program("bindlab"), ["serve", "--listen", bench.hub, "--store", store, "--history", path])
    try #require(hub.line { $0 == "listening" } != nil, "\(hub.output)")
    #expect(try bench.run("set", "lamp.on=true", "lamp.level=0.5", "--name", "switch").code == 0)
    #expect(try bench.run("rm", "lamp.on").code == 0)
    hub.send(SIGKILL)
    _ = hub.end()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.first?.contains("\"e\":\"hub\"") == true && lines[0].contains("\"durability\":\"process\""))
    let commits = lines.filter { $0.contains("\"e\":\"commit\"") }
    try #require(commits.count >= 2, "\(lines)")
    #expect(commits[0].contains("\"version\":1") && commits[0].contains("\"name\":\"switch\""))
    #expect(commits[0].contains("[\"on\",\"true\"]") && commits[0].contains("[\"level\",\"0.5\"]"))
    #expect(commits[commits.count - 1].contains("\"changes\":[[\"on\"]]"))
  }

  @Test("a hub that cannot write its history does not start, and names the path")
  func unwritable() throws {
    let hub = try RunningProcess(
      Bench.program("bindlab"),
      ["serve", "--listen", bench.hub, "--store", "memory", "--history", "/nowhere/hub.jsonl"])
    #expect(hub.end() == 1)
    #expect(hub.line { $0.contains("/nowhere/hub.jsonl") } != nil, "\(hub.output)")
  }
}
