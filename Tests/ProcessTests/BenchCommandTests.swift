import BindbusTesting
import Foundation
import Testing

@Suite("bindpeer bench", .serialized)
struct BenchCommandTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Returns the only JSON object in the output; beside it may be a remark about a busy machine.
  private func object(_ output: String) throws -> [String: Any] {
    let lines = output.split(separator: "\n").filter { $0.hasPrefix("{") }
    #expect(lines.count == 1, "\(output)")
    let line = try #require(lines.first, "\(output)")
    return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(output)")
  }

  @Test(
    "each profile of `bench` commits and shows all its writes, reports them in JSON and leaves no model",
    arguments: ["slider", "fan-out", "burst", "offline"])
  func profiles(_ profile: String) throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.on=true")
    let run = try bench.run(
      "bench", "--profile", profile, "--for", "500ms", "--timeout", "20s", "--check", "--json")
    let found = try object(run.output)
    #expect(found["profile"] as? String == profile && found["hub"] as? String == bench.hub)
    #expect(found["durability"] as? String == "process")
    let writes = try #require(found["writes"] as? Int)
    #expect(writes > 0 && found["lost"] as? Int == 0 && found["unconfirmed"] as? Int == 0, "\(run.output)")
    // The speed depends on the machine; whether all writes arrive does not.
    let verdict = try #require(found["verdict"] as? String)
    #expect(verdict != "broken" && run.code == (verdict == "good" ? 0 : 1), "\(run)")
    #expect(try bench.run("ls").output == "lamp  version 1  1 field")
    withExtendedLifetime(hub) {}
  }

  @Test("the JSON of `bench` has its documented fields, and a verdict only with --check")
  func fields() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let run = try bench.run("bench", "--for", "200ms", "--rate", "50", "--peers", "2", "--json", "--timeout", "20s")
    #expect(run.code == 0)
    let found = try object(run.output)
    let expected = [
      "profile", "hub", "durability", "peers", "offered", "achieved", "writes", "seconds", "late", "local",
      "committed", "seen", "folded", "lost", "unconfirmed",
    ]
    #expect(Set(expected).subtracting(found.keys).isEmpty && found["verdict"] == nil, "\(run.output)")
    for name in ["late", "local", "committed", "seen"] {
      let times = found[name] as? [String: Any] ?? [:]
      #expect(Set(times.keys) == ["p50", "p90", "p99", "p999", "max"], "\(name)")
    }
    #expect(found["writes"] as? Int == 10 && found["peers"] as? Int == 2 && found["durability"] as? String == "memory")
    withExtendedLifetime(hub) {}
  }

  @Test("the table of `bench` has a row per latency, and no colour or progress outside a terminal")
  func table() throws {
    let hub = try bench.startHub()
    let run = try bench.run("bench", "--for", "1200ms", "--rate", "20", "--timeout", "20s")
    #expect(run.code == 0)
    let lines = run.output.split(separator: "\n").map(String.init)
    for (line, beginning) in zip(
      lines,
      [
        "slider  \(bench.hub)  durability process", "24 writes in ", "ms ", "begun late ", "seen locally ",
        "committed ", "seen by another ", "coalesced ",
      ])
    {
      #expect(line.hasPrefix(beginning), "\(run.output)")
    }
    #expect(!run.output.contains("\u{1B}") && !run.output.contains("\r"))
    withExtendedLifetime(hub) {}
  }

  @Test("`bench` without a hub exits 69 and names the address")
  func noHub() throws {
    let run = try bench.run("bench", "--timeout", "200ms")
    #expect(run.code == 69 && run.output.contains("No hub answers at \(bench.hub)"), "\(run)")
  }

  @Test(
    "`bench` with arguments that give no measurement exits 64 and writes nothing",
    arguments: [
      ["--rate", "0"], ["--rate", "-5"], ["--peers", "0"], ["--peers", "1000"],
      ["--profile", "offline", "--for", "1h"],
      ["--profile", "slidr"], ["--outbox", "somewhere"],
    ])
  func usage(_ arguments: [String]) throws {
    let running = try RunningProcess(Bench.program("bindpeer"), ["bench"] + arguments, hub: bench.hub)
    #expect(running.end() == 64, "\(running.output)")
  }

  @Test(
    "Ctrl-C ends `bench` with 130 and leaves no model and no file",
    arguments: ["slider", "fan-out", "burst", "offline"])
  func interrupted(_ profile: String) async throws {
    let hub = try bench.startHub()
    let watcher = try bench.start("watch", "--json")
    let running = try RunningProcess(
      Bench.program("bindpeer"), ["bench", "--profile", profile, "--for", "60s", "--rate", "100"], hub: bench.hub,
      folder: bench.folder)
    // The offline profile is disconnected, so other peers see nothing of it before its end.
    if profile == "offline" {
      #expect(await eventually { bench.files.contains { $0.hasPrefix("bindpeer-bench-") } })
    } else {
      #expect(watcher.line { $0.contains("\"model\":\"bench/") } != nil, "\(running.output)")
    }
    running.send(SIGINT)
    #expect(running.end() == 130, "\(running.output)")
    #expect(try bench.run("ls").output == "")
    #expect(!bench.files.contains { $0.hasPrefix("bindpeer-bench-") })
    withExtendedLifetime(hub) {}
  }

  @Test("`bench` reports broken and the lost writes when the hub goes down meanwhile")
  func hubGone() throws {
    let hub = try bench.startHub()
    let watcher = try bench.start("watch", "--json")
    let running = try bench.start("bench", "--for", "2s", "--rate", "100", "--timeout", "1s", "--check", "--json")
    #expect(watcher.line { $0.contains("\"model\":\"bench/") } != nil, "\(running.output)")
    hub.send(SIGKILL)
    #expect(running.end() == 1)
    let found = try object(running.output.joined(separator: "\n"))
    #expect(found["verdict"] as? String == "broken" && found["durability"] as? String == "process", "\(found)")
    #expect((found["unconfirmed"] as? Int ?? 0) > 0 && (found["lost"] as? Int ?? 0) > 0, "\(found)")
    #expect(running.output.contains { $0.contains("bindpeer rm bench/") }, "\(running.output)")
  }
}

extension Bench {
  fileprivate var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }
}
