import Foundation
import Testing

@Suite("The history written by a hub", .serialized)
struct HubHistoryTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("every change that a killed hub acknowledged is in its history, with its writer, in order")
  func commits() throws {
    let path = bench.folder.appendingPathComponent("hub.jsonl").path
    let hub = try bench.startHub(["--history", path])
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
    #expect(commits[0].contains("\"on\":true") && commits[0].contains("\"level\":0.5"))
    #expect(commits[commits.count - 1].contains("\"on\":null"))
  }

  @Test("a hub that cannot write its history exits 73 and names the path")
  func unwritable() throws {
    let hub = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", bench.hub, "--history", "/nowhere/hub.jsonl", "--log", "error"])
    #expect(hub.end() == 73)
    #expect(hub.line { $0.contains("/nowhere/hub.jsonl") } != nil, "\(hub.output)")
  }
}
