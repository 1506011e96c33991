import Foundation
import Testing

@Suite("history, blame and revert of lists", .serialized)
struct ListHistoryTests {
  private let bench: Bench
  private let hub: RunningProcess

  /// Version 2 of `show` has the elements 1 to 3; 3 replaces 2, 4 removes 1, 5 appends 9, and 6 moves 3 to the front.
  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    let file = bench.folder.appendingPathComponent("description.json")
    try Data(#"{"fields":{"cues":{"policy":"list"},"title":{"type":"string"}}}"#.utf8).write(to: file)
    try bench.run("describe", "show", "--apply", file.path)
    try bench.run("set", #"show.cues=[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]"#, "--name", "desk")
    try bench.run("set", "show.cues[id=2].name=storm", "--name", "kitchen")
    try bench.run("rm", "show.cues[id=1]")
    try bench.run("set", #"show.cues+={"id":9,"name":"z"}"#)
    try bench.run("set", #"show.cues=[{"id":3,"name":"c"},{"id":2,"name":"storm"},{"id":9,"name":"z"}]"#)
  }

  private var cues: String { get throws { try bench.run("get", "show.cues", "--raw").output } }
  private let beginning = #"[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]"#

  @Test("the history of a list is that of its elements, and that of an element its own")
  func history() throws {
    let list = try bench.run("history", "show.cues", "--oldest-first").output.split(separator: "\n")
    #expect(list.count == 5 && list[1].contains(#"cues[id=2] → {"id":2,"name":"storm"}"#), "\(list)")
    #expect(!list.contains { $0.contains("$list") }, "\(list)")
    let element = try bench.run("history", "show.cues[id=2]").output.split(separator: "\n")
    #expect(element.count == 2 && element[0].hasPrefix("3  "), "\(element)")
    let watched = try bench.run("watch", "show.cues", "--from", "3", "--count", "4").output
    #expect(watched.contains("cues[id=1] deleted") && !watched.contains("$list"), "\(watched)")
    withExtendedLifetime(hub) {}
  }

  @Test("blame names the last writer of each element")
  func blame() throws {
    let lines = try bench.run("blame", "show").output.split(separator: "\n").map(String.init)
    #expect(lines.map { $0.prefix(10) } == ["cues[id=3]", "cues[id=2]", "cues[id=9]"], "\(lines)")
    #expect(lines.count == 3 && lines[1].contains("kitchen-") && !lines[1].contains(#""at""#), "\(lines)")
    #expect(try bench.run("blame", "show.cues[id=2]").output.split(separator: "\n").count == 1)
    withExtendedLifetime(hub) {}
  }

  @Test("revert brings back a list with its elements and their order, and can be reverted")
  func revert() throws {
    let now = try cues
    #expect(try bench.run("revert", "show.cues", "--to", "2").code == 0)
    #expect(try cues == beginning)
    #expect(try bench.run("revert", "show", "--to", "6").code == 0)
    #expect(try cues == now)
    #expect(try bench.run("revert", "show", "--to", "8").output == "show  unchanged")
    #expect(try bench.run("revert", "show.cues", "--to", "1").code == 0)
    #expect(try cues == "[]")
    withExtendedLifetime(hub) {}
  }

  @Test("revert of one element changes no other, and puts a removed one back behind what it followed")
  func element() throws {
    #expect(try bench.run("revert", "show.cues[id=2]", "--to", "2").code == 0)
    #expect(try cues == #"[{"id":3,"name":"c"},{"id":2,"name":"b"},{"id":9,"name":"z"}]"#)
    #expect(try bench.run("revert", "show.cues[id=1]", "show.cues[id=9]", "--to", "2").code == 0)
    #expect(try cues == #"[{"id":1,"name":"a"},{"id":3,"name":"c"},{"id":2,"name":"b"}]"#)
    withExtendedLifetime(hub) {}
  }
}
