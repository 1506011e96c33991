import Foundation
import Testing

/// Messages and exit codes of commands when something is wrong.
@Suite("Commands at a terminal", .serialized)
struct TerminalTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Runs a program in a shell with this redirection of its output.
  private func shell(_ program: String, _ arguments: [String], _ redirection: String) throws -> RunningProcess {
    let words = "exec \"$0\" \"$@\" \(redirection)"
    return try RunningProcess("/bin/sh", ["-c", words, Bench.program(program)] + arguments, hub: bench.hub)
  }

  @Test(
    "output that cannot be written is reported in one sentence with exit 74", .enabled(if: Bench.hasFullDevice),
    arguments: [
      ("bindpeer", ["get", "lamp"]), ("bindpeer", ["set", "lamp.on=true"]), ("bindpeer", ["ls"]),
      ("bindpeer", ["watch", "lamp"]), ("bindpeer", ["describe", "lamp", "--json"]), ("bindpeer", ["ping"]),
      ("bindpeer", ["--help"]), ("bindhub", ["status"]), ("bindhub", ["verify"]), ("bindhub", ["--version"]),
      ("vitals", []),
    ] as [(String, [String])])
  func fullDevice(_ program: String, _ arguments: [String]) throws {
    let hub = try bench.startHub(["--store", "memory"])
    try bench.run("set", "lamp.level=0.5")
    let running = try shell(program, arguments, ">/dev/full")
    #expect(running.end() == 74)
    #expect(running.output == ["Cannot write to standard output: No space left on device."])
    withExtendedLifetime(hub) {}
  }

  @Test("error messages that cannot be written do not change the exit code", .enabled(if: Bench.hasFullDevice))
  func fullErrors() throws {
    let hub = try bench.startHub(["--store", "memory"])
    #expect(try shell("bindpeer", ["get", "nothing"], "2>/dev/full").end() == 1)
    #expect(try shell("bindhub", ["status", "--hub", "no address"], "2>/dev/full").end() == 64)
    withExtendedLifetime(hub) {}
  }

  @Test("a hub that cannot print its endpoint serves all the same", .enabled(if: Bench.hasFullDevice))
  func silentHub() throws {
    let hub = try shell("bindhub", ["serve", "--store", "memory", "--exit-with-stdin"], ">/dev/full")
    #expect(try bench.run("set", "lamp.on=true", "--timeout", "20s").code == 0)
    withExtendedLifetime(hub) {}
  }

  @Test("a reader that closed the pipe is not reported as an error")
  func closedPipe() throws {
    let hub = try bench.startHub(["--store", "memory"])
    for number in 1...20 { try bench.run("set", "m\(number).x=1") }
    let words = "\"$0\" ls | head -n 1"
    let running = try RunningProcess("/bin/sh", ["-c", words, Bench.program("bindpeer")], hub: bench.hub)
    #expect(running.end() == 0)
    #expect(running.output == ["m1  version 1  1 field"])
    withExtendedLifetime(hub) {}
  }

  @Test("without a hub both programs name a command that starts one at that address, and it works")
  func adviceWorks() throws {
    for arguments in [["get", "lamp"], ["--hub", "\(bench.hub)2", "get", "lamp"]] {
      let asked = try RunningProcess(Bench.program("bindpeer"), arguments, hub: bench.hub)
      #expect(asked.end() == 69)
      let advice = try #require(asked.output.first { $0.hasPrefix("Start one:  bindhub ") })
      let words = advice.dropFirst("Start one:  bindhub ".count).components(separatedBy: "     ")[0]
      let hub = try RunningProcess(
        Bench.program("bindhub"), words.split(separator: " ").map(String.init) + ["--exit-with-stdin"], hub: bench.hub)
      try #require(hub.line { $0.hasPrefix("listening") } != nil, "\(hub.output)")
      let again = try RunningProcess(Bench.program("bindpeer"), arguments + ["--timeout", "20s"], hub: bench.hub)
      #expect(again.end() == 1)
      #expect(again.output == ["lamp has no fields."])
    }
    let status = try RunningProcess(Bench.program("bindhub"), ["status"], hub: bench.hub)
    #expect(status.end() == 69)
    #expect(status.line { $0.hasPrefix("Start one:  bindhub serve   ") } != nil, "\(status.output)")
  }

  @Test("an empty BINDPEER_HUB counts as unset, for hub and peer")
  func emptyVariable() throws {
    let words = "unset XDG_RUNTIME_DIR; TMPDIR=\(bench.folder.path); export TMPDIR; exec \"$0\" \"$@\""
    func run(_ program: String, _ arguments: String...) throws -> RunningProcess {
      try RunningProcess("/bin/sh", ["-c", words, Bench.program(program)] + arguments, hub: "")
    }
    let asked = try run("bindpeer", "get", "lamp")
    #expect(asked.end() == 69)
    #expect(asked.line { $0.contains("hub.sock (this user's default).") } != nil, "\(asked.output)")
    let hub = try run("bindhub", "serve", "--store", "memory", "--exit-with-stdin")
    try #require(hub.line { $0.hasPrefix("listening ipc://\(bench.folder.path)/") } != nil, "\(hub.output)")
    #expect(try run("bindpeer", "set", "lamp.on=true", "--timeout", "20s").end() == 0)
  }

  @Test("`pipe` whose session was ended exits 75 immediately and names the lines without an outcome")
  func stoppedPipe() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let path = bench.folder.appendingPathComponent("front.sock").path
    let front = FencingHub(at: path, before: bench.hub, fencing: "unwanted")
    let pipe = try RunningProcess(Bench.program("bindpeer"), ["pipe", "m"], hub: "ipc://\(path)")
    pipe.write("{\"a\":1}")
    try #require(pipe.line { $0.contains("\"a\":1") } != nil, "\(pipe.output)")
    pipe.write("{\"b\":\"unwanted\"}")
    // Its input stays open: it ends by itself.
    #expect(pipe.end() == 75)
    #expect(pipe.line { $0.contains("Outcome unknown: line 2.") } != nil, "\(pipe.output)")
    #expect(try bench.run("get", "m.b").code == 1)
    let watch = try RunningProcess(Bench.program("bindpeer"), ["set", "m.b=unwanted"], hub: "ipc://\(path)")
    #expect(watch.end() == 75)
    #expect(watch.line { $0.contains("outcome unknown") } != nil, "\(watch.output)")
    withExtendedLifetime((hub, front)) {}
  }

  @Test("`pipe` names invalid lines; with --keep-going it applies the others byte for byte")
  func badLines() throws {
    let hub = try bench.startHub(["--store", "memory"])
    func pipe(_ options: String) throws -> RunningProcess {
      let words = "printf '{\"a\":1e400}\\nbad\\n{\"b\":\"\\377\"}\\n{\"c\":3}' | \"$0\" pipe m \(options)"
      return try RunningProcess("/bin/sh", ["-c", words, Bench.program("bindpeer")], hub: bench.hub)
    }
    let first = try pipe("")
    #expect(first.end() == 65)
    #expect(first.output.last == "Not written: line 2.", "\(first.output)")
    #expect(try bench.run("get", "m", "--json").output.contains("\"values\":{\"a\":1e400}"))
    let second = try pipe("--keep-going")
    #expect(second.end() == 65)
    #expect(second.output.last == "Not written: lines 2 to 3.", "\(second.output)")
    #expect(second.line { $0.contains("$bytes") } != nil)
    #expect(try bench.run("get", "m", "--json").output.contains("\"values\":{\"a\":1e400,\"c\":3}"))
    withExtendedLifetime(hub) {}
  }

  @Test("bytes that are not UTF-8 are refused with 65 in arguments, files and input; --bytes sends them")
  func noText() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let file = bench.folder.appendingPathComponent("file")
    try Data([0x61, 0xFF, 0x62]).write(to: file)
    func run(_ words: String) throws -> RunningProcess {
      try RunningProcess("/bin/sh", ["-c", words, Bench.program("bindpeer"), file.path], hub: bench.hub)
    }
    for words in ["\"$0\" set m.f=@\"$1\"", "\"$0\" set m.f=- <\"$1\"", "\"$0\" set \"m.f=$(cat \"$1\")\""] {
      let running = try run(words)
      #expect(running.end() == 65)
      #expect(running.line { $0.contains("{\"$bytes\":\"<base64>\"}") } != nil, "\(running.output)")
    }
    #expect(try run("\"$0\" set m.f=@\"$1\" --bytes").end() == 0)
    #expect(try bench.run("get", "m.f", "--raw").output == "{\"$bytes\":\"Yf9i\"}")
    withExtendedLifetime(hub) {}
  }

  @Test("`get` prints existing values beside missing ones, and `set` reports what it wrote before a refusal")
  func partly() throws {
    let hub = try bench.startHub(["--store", "memory"])
    try bench.run("set", "lamp.level=0.5", "desk.height=70")
    let got = try bench.run("get", "lmap", "lamp", "desk.hight", "desk.height")
    #expect(got.code == 1)
    for words in ["lamp.level = 0.5", "desk.height = 70", "Did you mean lamp?", "Did you mean desk.height?"] {
      #expect(got.output.contains(words), "\(got.output)")
    }
    let description = #"{"fields":{"level":{"type":"number","min":0,"max":1}}}"#
    try bench.run("set", "lamp.@description:=\(description)")
    let checked = try bench.run("set", "desk.height=71", "lamp.level=3")
    #expect(checked.code == 65)
    #expect(try bench.run("get", "desk.height", "--raw").output == "70")
    let half = try bench.run("set", "desk.height=72", "lamp.level+=3", "door.open=true")
    #expect(half.code == 3)
    #expect(half.output.contains("Already written: desk.\nNot written: door."), "\(half.output)")
    let typo = try bench.run("set", "lamp.lvel=1")
    #expect(typo.code == 0)
    #expect(typo.output.contains("Did you mean lamp.level?"), "\(typo.output)")
    for verb in ["rm", "reset"] {
      let output = try bench.run(verb, "lamp.levle").output
      #expect(output.contains("Did you mean lamp.level?"), "\(output)")
    }
    #expect(try bench.run("describe", "lmap").output.contains("Did you mean lamp?"))
    let wait = try bench.run("wait", "lamp.level=42", "--timeout", "600s")
    #expect(wait.code == 65)
    withExtendedLifetime(hub) {}
  }

  @Test(
    "a prefix or watched name without models is reported with the nearest name")
  func nothingThere() throws {
    let hub = try bench.startHub(["--store", "memory"])
    #expect(try bench.run("ls").code == 0)
    try bench.run("set", "nodes/one.level=1", "lamp.level=0.5")
    for verb in ["ls", "get"] {
      let none = try bench.run(verb, "node/")
      #expect(none.code == 1)
      #expect(none.output == "There is no model under node/. Did you mean nodes/?")
      let model = try bench.run(verb, "lamp/")
      #expect(model.code == 1)
      #expect(model.output == "There is no model under lamp/. The model lamp exists:  bindpeer get lamp")
    }
    let some = try bench.run("get", "node/", "lamp")
    #expect(some.code == 1)
    #expect(some.output.contains("lamp.level = 0.5"))
    for (asked, words) in [
      ("node/", "There is no model under node/. Did you mean nodes/? Waiting anyway."),
      ("desk", "desk has no fields yet. Waiting anyway."),
      ("lamp.levle", "lamp has no field levle. Did you mean lamp.level? Waiting anyway."),
    ] {
      let watch = try bench.start("watch", asked, "--for", "600s")
      #expect(watch.line { $0 == words } != nil, "\(watch.output)")
      watch.send(SIGINT)
      _ = watch.end()
    }
    withExtendedLifetime(hub) {}
  }

  @Test("`ls` and `status` do not count a description as a field, and escape its control characters")
  func descriptions() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let description = #"{"fields":{"level":{"type":"number","unit":"\u001b[31m%"},"mood":{"choices":["a\u202eb"]}}}"#
    try bench.run("set", "lamp.level=1", "lamp.@description:=\(description)")
    #expect(try bench.run("ls").output == "lamp  version 1  1 field")
    let status = try RunningProcess(Bench.program("bindhub"), ["status"], hub: bench.hub)
    #expect(status.line { $0 == "  lamp  version 1  fields 1" } != nil, "\(status.output)")
    let described = try bench.run("describe", "lamp").output
    #expect(described.contains(#"in \u{1b}[31m%"#) && described.contains(#""a\u{202e}b""#), "\(described)")
    #expect(!described.contains("\u{1B}"))
    // Only the description is left: the model still exists.
    try bench.run("rm", "lamp.level")
    #expect(try bench.run("ls").output == "lamp  version 2  1 field")
    withExtendedLifetime(hub) {}
  }

  @Test("error messages escape control characters of others")
  func complaints() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let output = try bench.run("get", "la\u{1B}mp\u{202E}").output
    #expect(output.hasPrefix(#"'la\u{1b}mp\u{202e}' is not an address"#), "\(output)")
    let word = try bench.run("get", "lamp", "--name", "a", "--timeout", "\u{1B}[31m")
    #expect(word.code == 64)
    #expect(!word.output.contains("\u{1B}"), "\(word.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("`watch` ends at its --timeout, with 75 if requested changes did not arrive")
  func watchLimit() throws {
    let hub = try bench.startHub(["--store", "memory"])
    #expect(try bench.run("watch", "lamp", "--timeout", "300ms").code == 0)
    #expect(try bench.run("watch", "lamp", "--timeout", "300ms", "--count", "1").code == 75)
    #expect(try bench.run("watch", "lamp", "--timeout", "300ms", "--wait-for-hub", "--hub", bench.hub + "2").code == 69)
    withExtendedLifetime(hub) {}
  }

  @Test("`vitals` prints help and refuses other arguments")
  func vitals() throws {
    let help = try RunningProcess(Bench.program("vitals"), ["--help"])
    #expect(help.end() == 0)
    #expect(help.line { $0.contains("bindpeer watch vitals/") } != nil)
    #expect(try RunningProcess(Bench.program("vitals"), ["--bogus"]).end() == 64)
  }
}

extension Bench {
  /// Whether this system has the device that is always full.
  static var hasFullDevice: Bool { FileManager.default.fileExists(atPath: "/dev/full") }
}
