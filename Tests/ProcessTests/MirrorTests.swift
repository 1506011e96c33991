import Foundation
import Testing

/// A file and a model that are kept the same.
@Suite("`mirror`", .serialized)
struct MirrorTests {
  private let bench: Bench
  private let hub: RunningProcess
  private let yaml: String
  private let json: String

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    yaml = bench.folder.appendingPathComponent("lamp.yaml").path
    json = bench.folder.appendingPathComponent("lamp.json").path
  }

  private func write(_ text: String, to file: String) throws {
    // As editors do: beside it, then in its place.
    let beside = URL(fileURLWithPath: file + ".swp")
    try Data(text.utf8).write(to: beside)
    #expect(rename(beside.path, file) == 0)
  }

  private func text(_ file: String) -> String {
    FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Waits until the file has this text.
  private func has(_ file: String, _ wanted: String) -> Bool {
    let end = Date(timeIntervalSinceNow: 20)
    while text(file) != wanted {
      if Date() > end { return false }
      usleep(5_000)
    }
    return true
  }

  /// Waits until the hub has a value.
  private func has(field: String, _ wanted: String) throws -> Bool {
    try bench.run("wait", "lamp.\(field)=\(wanted)", "--timeout", "20s").code == 0
  }

  private func describe(_ fields: String) throws {
    let described = bench.folder.appendingPathComponent("described.json").path
    try Data("{\"fields\":{\(fields)}}".utf8).write(to: URL(fileURLWithPath: described))
    try #require(bench.run("describe", "lamp", "--apply", described).code == 0)
  }

  @Test("what is saved is in the model, what others write is in the file, and comments stay")
  func bothWays() throws {
    try #require(bench.run("set", "lamp.on=true", "lamp.level=0.5").code == 0)
    try write("# The hall.\nlevel: 0.5  # half\n", to: yaml)
    let mirror = try bench.start("mirror", "lamp", yaml)
    #expect(has(yaml, "# The hall.\nlevel: 0.5  # half\non: true\n"))
    try write("# The hall.\nlevel: 0.7  # more\non: true\nname: Rain\n", to: yaml)
    #expect(try has(field: "name", "Rain"))
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.7")
    #expect(try bench.run("set", "lamp.level=0.8").code == 0)
    #expect(try bench.run("rm", "lamp.on").code == 0)
    #expect(has(yaml, "# The hall.\nlevel: 0.8  # more\nname: Rain\n"))
    try write("level: 0.8\n", to: yaml)
    #expect(mirror.line { $0.contains("name \"Rain\" → none") } != nil, "\(mirror.output)")
    mirror.send(SIGINT)
    _ = mirror.end()
    #expect(text(yaml) == "level: 0.8\n")
    #expect(try bench.run("get", "lamp").output == "lamp.level = 0.8")
  }

  @Test("a text that is no document changes nothing and is not written over, until it is one")
  func broken() throws {
    try #require(bench.run("set", "lamp.level=0.5").code == 0)
    let mirror = try bench.start("mirror", "lamp", yaml)
    #expect(has(yaml, "level: 0.5\n"))
    try write("level: [1,\n", to: yaml)
    #expect(mirror.line { $0.contains("line 1") && $0.contains("nothing is taken") } != nil, "\(mirror.output)")
    #expect(try bench.run("set", "lamp.on=true").code == 0)
    try write("level: [1, 2]\n", to: yaml)
    #expect(has(yaml, "level: [1, 2]\non: true\n"))
    #expect(try bench.run("get", "lamp.level", "--raw").output == "[1, 2]")
  }

  @Test("a value that does not fit the description is named, and nothing is taken before it does")
  func refused() throws {
    try describe(#""level":{"type":"number","max":1},"only":{"type":"string","choices":["a","b"]}"#)
    try #require(bench.run("set", "lamp.level=0.5").code == 0)
    let mirror = try bench.start("mirror", "lamp", json)
    #expect(has(json, "{\n  \"level\": 0.5\n}\n"))
    try write(#"{"level":7}"#, to: json)
    #expect(mirror.line { $0.contains("does not fit level") } != nil, "\(mirror.output)")
    #expect(text(json) == #"{"level":7}"#)
    try write(#"{"level":0.25}"#, to: json)
    #expect(try has(field: "level", "0.25"))
  }

  @Test("at the start each side gets what it lacks; where they contradict each other one has to say which counts")
  func start() throws {
    try #require(bench.run("set", "lamp.level=0.5", "lamp.on=true").code == 0)
    try write("level: 0.7\nname: Rain\n", to: yaml)
    let asked = try bench.run("mirror", "lamp", yaml, "--once")
    #expect(asked.code == 3 && asked.output.contains("differ in level"), "\(asked.output)")
    #expect(try text(yaml) == "level: 0.7\nname: Rain\n" && bench.run("get", "lamp.name").code == 1)
    #expect(try bench.run("mirror", "lamp", yaml, "--once", "--take", "model").code == 0)
    #expect(text(yaml) == "level: 0.5\nname: Rain\non: true\n")
    #expect(try bench.run("get", "lamp.name", "--raw").output == "Rain")
    try write("level: 0.9\n", to: yaml)
    #expect(try bench.run("mirror", "lamp", yaml, "--once", "--take", "file").code == 0)
    #expect(text(yaml) == "level: 0.9\nname: Rain\non: true\n")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.9")
    #expect(try bench.run("mirror", "lamp", json, "--once").code == 0)
    #expect(text(json) == "{\n  \"level\": 0.9,\n  \"name\": \"Rain\",\n  \"on\": true\n}\n")
  }

  @Test("two people with a file each have the same, and edits of one text at once keep the words of both")
  func together() throws {
    try describe(#""notes":{"type":"string","policy":"text"}"#)
    try #require(bench.run("set", "lamp.notes=one two").code == 0)
    let other = bench.folder.appendingPathComponent("other.json").path
    let mirrors = [try bench.start("mirror", "lamp", yaml), try bench.start("mirror", "lamp", other)]
    #expect(has(yaml, "notes: one two\n") && has(other, "{\n  \"notes\": \"one two\"\n}\n"))
    try write("notes: zero one two\n", to: yaml)
    try write(#"{"notes": "one two three"}"#, to: other)
    #expect(has(yaml, "notes: zero one two three\n"))
    #expect(has(other, "{\n  \"notes\": \"zero one two three\"\n}\n"))
    withExtendedLifetime(mirrors) {}
  }

  @Test("a list is written element by element, and a file that is a link stays one")
  func lists() throws {
    try describe(#""cues":{"type":"object","policy":"list"}"#)
    try #require(bench.run("set", #"lamp.cues:=[{"id":1},{"id":2}]"#).code == 0)
    let link = bench.folder.appendingPathComponent("link.json").path
    try write("{}", to: json)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: json)
    let mirror = try bench.start("mirror", "lamp", link)
    #expect(has(json, "{\n  \"cues\": [{\"id\":1},{\"id\":2}]\n}\n"))
    #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: link)) != nil)
    let watch = try bench.start("watch", "lamp", "--json")
    try #require(watch.line { $0.contains("cues") } != nil)
    try write(#"{"cues":[{"id":2},{"id":1},{"id":3}]}"#, to: json)
    #expect(watch.line { $0.contains("cues@3") && !$0.contains("\"cues\":[") } != nil, "\(watch.output)")
    withExtendedLifetime(mirror) {}
  }

  @Test("a file that is removed ends it with 1; one that cannot be is refused")
  func removed() throws {
    try #require(bench.run("set", "lamp.level=0.5").code == 0)
    let mirror = try bench.start("mirror", "lamp", json)
    #expect(has(json, "{\n  \"level\": 0.5\n}\n"))
    try FileManager.default.removeItem(atPath: json)
    #expect(mirror.end() == 1 && mirror.output.contains { $0.contains("was removed") }, "\(mirror.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.5")
    #expect(try bench.run("mirror", "lamp", bench.folder.path + "/none/lamp.json", "--once").code == 74)
    #expect(try bench.run("mirror", "none", json, "--once").code == 1)
    try write("[]", to: json)
    #expect(try bench.run("mirror", "lamp", json, "--once").code == 65)
    #expect(try bench.run("mirror", "lamp/", json).code == 64)
    #expect(try bench.run("mirror", "lamp.level", json).code == 64)
  }

  @Test("a file of a model with a secret is for its owner alone, and keeps the mode that it is given")
  func mode() throws {
    try #require(bench.run("set", "lamp.level=0.5").code == 0)
    #expect(try bench.run("mirror", "lamp", json, "--once").code == 0)
    func mode() throws -> Int? {
      (try FileManager.default.attributesOfItem(atPath: json)[.posixPermissions] as? NSNumber)?.intValue
    }
    #expect(try mode() == 0o600)
    #expect(chmod(json, 0o640) == 0)
    #expect(try bench.run("set", "lamp.level=0.6").code == 0)
    #expect(try bench.run("mirror", "lamp", json, "--once", "--take", "model").code == 0)
    #expect(try mode() == 0o640 && text(json).contains("0.6"))
  }
}
