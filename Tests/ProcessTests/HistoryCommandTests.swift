import Foundation
import Testing

@Suite("history, blame, revert and watch --from", .serialized)
struct HistoryCommandTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func bindhub(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindhub"), arguments, hub: bench.hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  private func versions(_ output: String) -> [Int] {
    output.split(separator: "\n").compactMap { line in
      guard let json = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else { return nil }
      return json["version"] as? Int
    }
  }

  /// Versions 1 to 4 of `lamp`.
  private func write() throws {
    try bench.run("set", "lamp.level=0.1", "--name", "desk")
    try bench.run("set", "lamp.level=0.2", "lamp.on=true", "--name", "desk")
    try bench.run("set", "lamp.level=0.3", "--name", "kitchen")
    try bench.run("rm", "lamp.on", "--name", "kitchen")
  }

  @Test("history lists a line a commit, newest first, and filters by field, writer, time and number")
  func lists() throws {
    let hub = try bench.startHub()
    try write()
    let all = try bench.run("history", "lamp")
    let lines = all.output.split(separator: "\n").map(String.init)
    #expect(all.code == 0 && lines.count == 4, "\(all.output)")
    #expect(lines[0].hasPrefix("4  ") && lines[0].contains("kitchen-") && lines[0].hasSuffix("on deleted"))
    #expect(lines[2].contains("level → 0.2  on → true") && lines[3].hasPrefix("1  "))
    #expect(!all.output.contains("\u{1B}"))
    func found(_ more: String...) throws -> [Int] {
      let running = try RunningProcess(
        Bench.program("bindpeer"), ["history"] + more + ["--json"], hub: bench.hub)
      _ = running.end()
      return versions(running.output.joined(separator: "\n"))
    }
    #expect(try found("lamp") == [4, 3, 2, 1])
    #expect(try found("lamp.on") == [4, 2])
    #expect(try found("lamp", "--field", "level") == [3, 2, 1])
    #expect(try found("lamp", "--by", "kitchen") == [4, 3])
    #expect(try found("lamp", "--limit", "2") == [4, 3])
    #expect(try found("lamp", "--oldest-first", "--limit", "1") == [1])
    #expect(try found("lamp", "--since", "1h") == [4, 3, 2, 1])
    #expect(try found("lamp", "--until", "1h") == [])
    let json = try bench.run("history", "lamp.on", "--json", "--limit", "1").output
    let names = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]).keys
    #expect(Set(names) == ["model", "epoch", "version", "origin", "time", "number", "changes"])
    withExtendedLifetime(hub) {}
  }

  @Test("history of nothing exits 1 and names the nearest field, a prefix or a bad time is a usage error")
  func empty() throws {
    let hub = try bench.startHub()
    try write()
    let missing = try bench.run("history", "lamp.levle")
    #expect(missing.code == 1 && missing.output.contains("Did you mean lamp.level?"), "\(missing.output)")
    #expect(try bench.run("history", "lamp/").code == 64)
    #expect(try bench.run("history", "lamp", "--since", "yesterday").code == 64)
    #expect(try bench.run("history", "lamp", "--limit", "0").code == 64)
    withExtendedLifetime(hub) {}
  }

  @Test("history survives kill -9, a restart and a compaction")
  func survives() throws {
    let first = try bench.startHub()
    try write()
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub()
    #expect(try versions(bench.run("history", "lamp", "--json").output) == [4, 3, 2, 1])
    #expect(try bindhub("compact").code == 0)
    try bench.run("set", "lamp.level=0.9")
    #expect(try versions(bench.run("history", "lamp", "--json").output) == [5, 4, 3, 2, 1])
    let sizes = try bindhub("history")
    #expect(sizes.output.hasPrefix("lamp  4 commits  ") && sizes.output.hasSuffix("from version 1"), "\(sizes.output)")
    withExtendedLifetime(second) {}
  }

  @Test("a hub in memory has the history since its start, and says so after a restart")
  func memory() throws {
    let first = try bench.startHub(["--store", "memory"])
    try write()
    #expect(try versions(bench.run("history", "lamp", "--json").output) == [4, 3, 2, 1])
    first.send(SIGTERM)
    _ = first.end()
    let second = try bench.startHub(["--store", "memory"])
    try bench.run("set", "lamp.level=0.9")
    let after = try bench.run("history", "lamp")
    #expect(after.output.contains("keeps lamp in memory"), "\(after.output)")
    withExtendedLifetime(second) {}
  }

  @Test("blame names for each field its value, version, writer and age")
  func blame() throws {
    let hub = try bench.startHub()
    try write()
    try bench.run("set", "lamp.on=false", "--name", "desk")
    let lines = try bench.run("blame", "lamp").output.split(separator: "\n").map(String.init)
    #expect(lines.count == 2, "\(lines)")
    #expect(lines[0].hasPrefix("level  0.3    3  kitchen-"), "\(lines[0])")
    #expect(lines[0].contains(" ago, ") || lines[0].contains("now, "), "\(lines[0])")
    #expect(lines[1].hasPrefix("on     false  5  desk-"), "\(lines[1])")
    let json = try bench.run("blame", "lamp.level", "--json").output
    let names = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]).keys
    #expect(Set(names) == ["model", "field", "value", "version", "origin", "time"])
    #expect(try bench.run("blame", "nothing").code == 1)
    withExtendedLifetime(hub) {}
  }

  @Test("revert writes a field, several, or a whole model as they were, as one commit, and can be reverted")
  func revert() throws {
    let hub = try bench.startHub()
    try write()
    #expect(try bench.run("revert", "lamp.level", "--to", "1").code == 0)
    #expect(try bench.run("get", "lamp", "--json").output.contains(#""version":5,"values":{"level":0.1}"#))
    #expect(try bench.run("revert", "lamp", "--to", "2").code == 0)
    #expect(try bench.run("get", "lamp", "--json").output.contains(#""version":6,"values":{"level":0.2,"on":true}"#))
    #expect(try bench.run("revert", "lamp.level", "lamp.on", "--to", "3").code == 0)
    #expect(try bench.run("get", "lamp", "--json").output.contains(#""version":7,"values":{"level":0.3,"on":true}"#))
    // Nothing to do.
    let again = try bench.run("revert", "lamp", "--to", "7")
    #expect(again.code == 0 && again.output == "lamp  unchanged", "\(again.output)")
    #expect(try bench.run("revert", "lamp", "--to", "99").code == 64)
    #expect(try bench.run("revert", "lamp", "--to", "x").code == 64)
    #expect(try bench.run("revert", "lamp", "door.on", "--to", "1").code == 64)
    withExtendedLifetime(hub) {}
  }

  @Test("an address with an epoch means the version of that epoch alone")
  func epochs() throws {
    let hub = try bench.startHub()
    try write()
    let line = try bench.run("history", "lamp", "--json", "--limit", "1").output
    let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let epoch = try #require(json["epoch"] as? String)
    #expect(try bench.run("revert", "lamp.level", "--to", "\(epoch):1").code == 0)
    let other = try bench.run("revert", "lamp.level", "--to", "1234:1")
    #expect(other.code == 1 && other.output.contains("has no version 1234:1"), "\(other.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("a revert past the horizon writes nothing and names the oldest version that is left")
  func pastHorizon() throws {
    let hub = try bench.startHub()
    try write()
    #expect(try bindhub("history", "drop", "lamp", "--before", "3", "--yes").code == 0)
    #expect(try versions(bench.run("history", "lamp", "--json").output) == [4, 3])
    let model = try bench.run("revert", "lamp", "--to", "1")
    let words = "The oldest version that it can return to is 2."
    #expect(model.code == 1 && model.output.contains(words), "\(model.output)")
    let field = try bench.run("revert", "lamp.level", "--to", "2")
    #expect(field.code == 1 && field.output.contains("The oldest version that is left is 3."), "\(field.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.3")
    withExtendedLifetime(hub) {}
  }

  @Test("history drop asks for confirmation, removes values or commits for good, and leaves the present ones")
  func drop() throws {
    let hub = try bench.startHub()
    try write()
    let unsure = try bindhub("history", "drop", "lamp")
    #expect(unsure.code == 64 && unsure.output.contains("--yes"), "\(unsure.output)")
    #expect(try bindhub("history", "drop", "lamp", "--before", "2", "--field", "on", "--yes").code == 64)
    #expect(try bindhub("history", "drop", "none", "--yes").code == 74)
    let field = try bindhub("history", "drop", "lamp", "--field", "level", "--yes")
    #expect(field.code == 0 && field.output.contains("dropped the values of lamp.level in the history: 3 commits"))
    let lines = try bench.run("history", "lamp").output.split(separator: "\n").map(String.init)
    #expect(lines.count == 4 && lines[1].contains("level removed"), "\(lines)")
    #expect(try bindhub("history", "drop", "lamp", "--yes").code == 0)
    let gone = try bench.run("history", "lamp")
    #expect(gone.code == 1 && gone.output.contains("no longer kept"), "\(gone.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.3")
    withExtendedLifetime(hub) {}
  }

  @Test("watch --from prints each commit from that version on once, the past before the present")
  func watchFrom() throws {
    let hub = try bench.startHub()
    try write()
    let watcher = try bench.start("watch", "lamp", "--from", "2", "--json")
    for number in 5...30 { try bench.run("set", "lamp.level=\(number)") }
    try #require(watcher.line { $0.contains("\"version\":30") } != nil, "\(watcher.output)")
    #expect(versions(watcher.output.joined(separator: "\n")) == Array(2...30))
    let counted = try bench.run("watch", "lamp.on", "--from", "1", "--json", "--count", "2")
    #expect(counted.code == 0 && versions(counted.output) == [2, 4], "\(counted.output)")
    #expect(try bench.run("watch", "lamp/", "--from", "1").code == 64)
    withExtendedLifetime(hub) {}
  }

  @Test("the commands are in the help by groups")
  func help() throws {
    let help = try bench.run("--help").output
    for word in ["VALUES", "THE PAST", "history", "blame", "revert"] { #expect(help.contains(word), "\(help)") }
  }
}
