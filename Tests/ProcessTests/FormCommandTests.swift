import Foundation
import Testing

/// A form at a terminal, with a hub and others who write.
@Suite("`form`", .serialized)
struct FormCommandTests {
  private static let description = #"""
    {"fields":{"on":{"type":"boolean","title":"Light"},"level":{"type":"number","min":0,"max":1},
    "name":{"type":"string","maxLength":8},"notes":{"type":"string","policy":"text"}}}
    """#
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    let described = bench.folder.appendingPathComponent("described.json").path
    try Data(Self.description.utf8).write(to: URL(fileURLWithPath: described))
    try #require(bench.run("describe", "lamp", "--apply", described).code == 0)
    try #require(bench.run("set", "lamp.on=true", "lamp.level=0.5", "lamp.name=Rain", "lamp.notes=one").code == 0)
  }

  private func form(_ address: String = "lamp", name: String = "ann", rows: Int = 24) throws -> PseudoTerminal {
    let form = try PseudoTerminal(
      Bench.program("bindpeer"), ["form", address, "--name", name], rows: rows, variables: ["BINDPEER_HUB": bench.hub])
    try #require(form.shows("^C end"), "\(form.lines)")
    return form
  }

  private func value(_ field: String) throws -> String { try bench.run("get", "lamp.\(field)", "--raw").output }

  /// Waits until the hub has a value.
  private func has(_ field: String, _ wanted: String) throws -> Bool {
    try bench.run("wait", "lamp.\(field)=\(wanted)", "--timeout", "20s").code == 0
  }

  @Test("keys change the model, what others write shows, and Ctrl-C gives the terminal back")
  func bothWays() throws {
    let form = try form()
    #expect(form.isFullScreen && form.isRaw)
    #expect(form.shows("▸ Light") && form.shows("( ●) on"))
    form.type(" ")
    #expect(try has("on", "false"))
    form.type("\u{1B}[B\u{1B}[C")
    #expect(try has("level", "0.52"))
    form.type("\u{1B}[B\u{7F}\u{7F}g\r")
    #expect(try has("name", "Rag"))
    #expect(try bench.run("set", "lamp.level=0.75").code == 0)
    #expect(form.shows("0.75"))
    form.type("\u{1A}")
    #expect(try has("name", "Rain"))
    form.type("\u{03}")
    #expect(form.end() == 0)
    #expect(!form.isFullScreen && !form.isRaw)
  }

  @Test("what does not fit stays on the screen with the reason, and nothing is written")
  func misfit() throws {
    let form = try form("lamp.name")
    form.type("forest\r")
    #expect(form.shows("Rainforest") && form.shows("8"))
    #expect(form.shows("refused"))
    #expect(try value("name") == "Rain")
    form.type("\u{1B}")
    #expect(form.shows { $0.hasPrefix("▸ name") && $0.contains("Rain ") && !$0.contains("forest") })
    form.type("\u{03}")
    #expect(form.end() == 0)
  }

  @Test("two forms see each other and where the other is; texts that both edit keep the words of both")
  func together() throws {
    let (ann, bob) = (try form("lamp.notes", name: "ann"), try form("lamp.level", name: "bob"))
    #expect(ann.shows { $0.contains("level") && $0.contains("◂ bob") })
    #expect(bob.shows { $0.contains("notes") && $0.contains("◂ ann") })
    ann.type(" two")
    #expect(ann.shows("one two"))
    bob.type("\u{1B}[B\u{1B}[B\r\u{01}zero \r")
    #expect(bob.shows("zero one"))
    #expect(try has("notes", "zero one"))
    ann.type("\r")
    #expect(try has("notes", "zero one two"))
    bob.type("\u{03}")
    #expect(bob.end() == 0)
    #expect(ann.waits { !ann.lines.contains { $0.contains("bob") && $0.contains("with") } })
    ann.type("\u{03}")
    #expect(ann.end() == 0)
  }

  @Test("without the hub it says so, keeps what is changed, and sends it when the hub is back")
  func offline() throws {
    let form = try form()
    #expect(form.shows { $0.hasPrefix("lamp") && $0.hasSuffix("live") })
    hub.send(SIGKILL)
    _ = hub.end()
    #expect(form.shows { $0.hasPrefix("lamp") && $0.contains("offline") })
    form.type(" ")
    #expect(form.shows { $0.contains("(● ) off") && $0.contains("waits") })
    let again = try bench.startHub()
    #expect(form.shows { $0.hasPrefix("lamp") && $0.hasSuffix("live") })
    #expect(try has("on", "false"))
    form.type("\u{03}")
    #expect(form.end() == 0)
    withExtendedLifetime(again) {}
  }

  @Test(
    "every signal that ends it gives the terminal back first",
    arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT])
  func signals(_ number: Int32) throws {
    let form = try form()
    form.send(number)
    #expect(form.end() == number)
    #expect(form.waits { !form.isFullScreen && !form.isRaw })
  }

  @Test("a form that was stopped gives the terminal back meanwhile, and draws again when it goes on")
  func stopped() throws {
    let form = try form()
    form.send(SIGTSTP)
    #expect(form.waits { !form.isFullScreen && !form.isRaw })
    #expect(!form.lines.contains { $0.contains("Light") })
    form.send(SIGCONT)
    #expect(form.shows("▸ Light") && form.isRaw)
    form.type("\u{03}")
    #expect(form.end() == 0)
  }

  @Test("without a terminal, a model or a field it says what to do")
  func refused() throws {
    let piped = try bench.run("form", "lamp")
    #expect(piped.code == 64 && piped.output.contains("bindpeer get lamp"), "\(piped.output)")
    let absent = try bench.run("form", "lanp")
    #expect(absent.code == 1 && absent.output.contains("Did you mean lamp?"), "\(absent.output)")
    let field = try bench.run("form", "lamp.levle")
    #expect(field.code == 1 && field.output.contains("Did you mean lamp.level?"), "\(field.output)")
    #expect(try bench.run("form", "lamp/").code == 64)
    #expect(try bench.run("form", "lamp", "--json").code == 64)
  }
}
