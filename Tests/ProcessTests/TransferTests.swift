import Foundation
import Testing

/// Models are taken from one hub to another through a file.
@Suite("`export` and `import`", .serialized)
struct TransferTests {
  private let bench: Bench
  private let other: Bench
  private let hubs: [RunningProcess]
  private let file: String

  init() throws {
    (bench, other) = (try Bench(), try Bench())
    hubs = [try bench.startHub(), try other.startHub()]
    file = bench.folder.appendingPathComponent("models.jsonl").path
  }

  /// Exports into the file.
  private func export(_ addresses: String...) throws {
    let running = try RunningProcess(Bench.program("bindpeer"), ["export"] + addresses, hub: bench.hub)
    try #require(running.end() == 0, "\(running.output)")
    try write(running.output)
  }

  private func write(_ lines: [String]) throws {
    try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
  }

  /// What a hub has below a prefix: values and descriptions, without versions.
  private func content(_ bench: Bench, _ prefix: String = "") throws -> [String] {
    try bench.run("export", prefix).output.split(separator: "\n").map {
      String($0.replacing(/"version":[0-9]+,/, with: ""))
    }
  }

  @Test("values of every kind, lists and descriptions are the same at the other hub, and nothing is written twice")
  func roundTrip() throws {
    let description = #"""
      {"fields":{"level":{"type":"number","min":0,"max":1},"cues":{"type":"object","policy":"list"}}}
      """#
    let described = bench.folder.appendingPathComponent("described.json").path
    try Data(description.utf8).write(to: URL(fileURLWithPath: described))
    #expect(try bench.run("describe", "shop/lamp", "--apply", described).code == 0)
    let set = try bench.run(
      "set", "shop/lamp.level=0.5", #"shop/lamp.cues:=[{"id":7,"name":"Rain"},{"id":3,"name":"Dawn"}]"#,
      "shop/fan.big:=123456789012345678901234567890.10", #"shop/fan.bytes:={"$bytes":"AAH/"}"#,
      #"shop/fan.text:="a\"\nü""#, "shop/fan.none:=null", "yard.on=true")
    #expect(set.code == 0, "\(set.output)")
    try export()
    let first = try other.run("import", file)
    #expect(first.code == 0 && first.output == "3 models, 7 fields written", "\(first.output)")
    #expect(try content(other) == content(bench))
    #expect(try other.run("get", "shop/lamp.cues[id=3].name", "--raw").output == "Dawn")
    #expect(try other.run("set", "shop/lamp.level=2").code == 65)
    let second = try other.run("import", file)
    #expect(second.code == 0 && second.output == "3 models, 0 fields written", "\(second.output)")
  }

  @Test("fields that the file lacks stay; with --replace they go; with --default what is there stays")
  func ways() throws {
    #expect(try bench.run("set", "lamp.level=1", "lamp.name=new").code == 0)
    try export("lamp")
    #expect(try other.run("set", "lamp.level=0", "lamp.old=true").code == 0)
    #expect(try other.run("import", file, "--default").code == 0)
    #expect(try other.run("get", "lamp").output == "lamp.level = 0\nlamp.name = \"new\"\nlamp.old = true")
    #expect(try other.run("import", file).code == 0)
    #expect(try other.run("get", "lamp").output == "lamp.level = 1\nlamp.name = \"new\"\nlamp.old = true")
    #expect(try other.run("import", file, "--replace").code == 0)
    #expect(try other.run("get", "lamp").output == "lamp.level = 1\nlamp.name = \"new\"")
  }

  @Test("1,200 models, one of 2,500 fields, arrive whole from a pipe", .timeLimit(.minutes(2)))
  func many() throws {
    var lines = (0..<1_199).map { #"{"model":"many/m\#($0)","values":{"a":\#($0)}}"# }
    let fields = (0..<2_500).map { #""f\#($0)":"\#(String(repeating: "x", count: 200))""# }
    lines.append(#"{"model":"many/wide","values":{\#(fields.joined(separator: ","))}}"#)
    try write(lines)
    let running = try RunningProcess(
      "/bin/sh", ["-c", "\(Bench.program("bindpeer")) import --timeout 60s < \(file)"], hub: bench.hub)
    #expect(running.end() == 0, "\(running.output)")
    #expect(running.output == ["1200 models, 3699 fields written"])
    #expect(try content(bench, "many/").count == 1_200)
    #expect(try bench.run("get", "many/wide.f2499", "--raw").output == String(repeating: "x", count: 200))
  }

  @Test("a line that is no model ends it with 65, names the line, and what came before is written")
  func badLine() throws {
    try write([#"{"model":"a","values":{"x":1}}"#, "{", #"{"model":"b","values":{"x":1}}"#])
    let ended = try bench.run("import", file)
    #expect(ended.code == 65 && ended.output.contains("line 2 is not a JSON object"), "\(ended.output)")
    #expect(ended.output.contains("Not written: line 2."))
    #expect(try bench.run("get", "a.x", "--raw").output == "1")
    #expect(try bench.run("get", "b.x").code == 1)
    #expect(try bench.run("import", file, "--keep-going").code == 65)
    #expect(try bench.run("get", "b.x", "--raw").output == "1")
    let absent = try bench.run("import", file + "-none")
    #expect(absent.code == 64 && absent.output.contains("cannot read the file"), "\(absent.output)")
  }

  @Test("a value that the other hub's description refuses is named with its line, and 65")
  func misfit() throws {
    let described = bench.folder.appendingPathComponent("described.json").path
    try Data(#"{"fields":{"level":{"type":"number","max":1}}}"#.utf8).write(to: URL(fileURLWithPath: described))
    #expect(try bench.run("describe", "lamp", "--apply", described).code == 0)
    try write([#"{"model":"lamp","values":{"level":2}}"#, #"{"model":"fan","values":{"level":2}}"#])
    let run = try bench.run("import", file, "--keep-going")
    #expect(run.output.contains("line 1") && run.output.contains("level"), "\(run.output)")
    #expect(run.code == 65 || run.code == 3)
    #expect(try bench.run("get", "fan.level", "--raw").output == "2")
    #expect(try bench.run("get", "lamp.level").code == 1)
  }

  @Test("export of what is not there ends with 1 and says so, of a field with 64")
  func absent() throws {
    let absent = try bench.run("export", "none/")
    #expect(absent.code == 1 && absent.output.contains("There is no model under none/"), "\(absent.output)")
    #expect(try bench.run("export", "none").code == 1)
    #expect(try bench.run("export", "lamp.level").code == 64)
  }

  @Test("a table has a row for each model and a column for each field, and brings all values back as they were")
  func table() throws {
    let set = try bench.run(
      "set", "shop/a.level=0.50", "shop/a.name=Rain, and \"more\"", "shop/b.name:=\"12\"", "shop/b.tags:=[1,2]",
      "shop/b.empty:=\"\"", "shop/c.note:=\"two\\nlines\"", "shop/c.name:=\"=1+1\"")
    #expect(set.code == 0, "\(set.output)")
    let csv = try bench.run("export", "shop/", "--csv")
    let rows = [
      "model,empty,level,name,note,tags", #"shop/a,,0.50,"Rain, and ""more""",,"#,
      #"shop/b,"""""",,"""12""",,"[1,2]""#, #"shop/c,,,"""=1+1""","two"#, #"lines","#,
    ]
    #expect(csv.code == 0 && csv.output == rows.joined(separator: "\n"), "\(csv.output)")
    try write(rows)
    let run = try other.run("import", file)
    #expect(run.code == 0 && run.output == "3 models, 7 fields written", "\(run.output)")
    #expect(try content(other) == content(bench))
    #expect(try other.run("import", file).output == "3 models, 0 fields written")
  }

  @Test("cells of a spreadsheet become the declared types; an empty cell changes nothing, and deletes with --replace")
  func spreadsheet() throws {
    let described = bench.folder.appendingPathComponent("described.json").path
    let fields = #"""
      "on":{"type":"boolean"},"code":{"type":"string"},"level":{"type":"number","max":1},
      "cues":{"type":"object","policy":"list"}
      """#
    try Data("{\"fields\":{\(fields)}}".utf8).write(to: URL(fileURLWithPath: described))
    #expect(try bench.run("describe", "lamp", "--apply", described).code == 0)
    #expect(try bench.run("set", "lamp.level=1", "lamp.old=1").code == 0)
    try write(["\u{FEFF}model;on;code;level\r", "lamp;TRUE;007;\r", ";;;\r"])
    #expect(try bench.run("import", file).output == "1 model, 2 fields written")
    #expect(try bench.run("get", "lamp").output == "lamp.code = \"007\"\nlamp.level = 1\nlamp.old = 1\nlamp.on = true")
    #expect(try bench.run("import", file, "--replace").code == 0)
    #expect(try bench.run("get", "lamp").output == "lamp.code = \"007\"\nlamp.on = true")
    try write(["model,cues", #"show,"[{""id"":1}]""#, #"lamp,"[{""id"":1}]""#])
    #expect(try bench.run("import", file).code == 0)
    #expect(try bench.run("get", "lamp.cues[id=1]", "--raw").output == #"{"id":1}"#)
    #expect(try bench.run("rm", "lamp.cues[id=1]").code == 0)
    try write(["model,level", "lamp,0.5", "fan,[", "lamp,7", "pump,1"])
    let misfit = try bench.run("import", file, "--keep-going")
    #expect(misfit.code == 65, "\(misfit.output)")
    #expect(misfit.output.contains("line 3 has no value for level in the cell ["), "\(misfit.output)")
    #expect(misfit.output.contains("line 4 does not fit level"), "\(misfit.output)")
    #expect(try bench.run("get", "lamp.level", "pump.level").output == "lamp.level = 0.5\npump.level = 1")
    try write(["model,level,level", "lamp,1,1"])
    let twice = try bench.run("import", file, "--keep-going")
    #expect(twice.code == 65 && twice.output.contains("line 1 has two columns"), "\(twice.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.5")
  }
}
