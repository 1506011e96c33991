import Foundation
import Testing

@Suite("A hub's store", .serialized)
struct DurableTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private var store: String { bench.folder.appendingPathComponent("hub.sock.db").path }

  private func path(_ name: String) -> String { bench.folder.appendingPathComponent(name).path }

  /// Runs `bindhub` for this test's hub to its end.
  private func bindhub(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindhub"), arguments, hub: bench.hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  private func value(_ address: String) throws -> String { try bench.run("get", address, "--raw").output }

  @Test("an acknowledged write survives kill -9 and a restart without any flag")
  func survivesKill() throws {
    let first = try bench.startHub()
    #expect(try bench.run("set", "lamp.level=0.5", "lamp.on=true").code == 0)
    first.send(SIGKILL)
    _ = first.end()
    let second = try bench.startHub()
    #expect(try value("lamp.level") == "0.5")
    #expect(try bench.run("set", "lamp.level=0.6", "--if-version", "1").code == 0, "it is the same epoch")
    withExtendedLifetime(second) {}
  }

  @Test("--store memory and --durability memory leave no store", arguments: ["--store", "--durability"])
  func memory(_ flag: String) throws {
    let first = try bench.startHub([flag, "memory"])
    try bench.run("set", "lamp.level=0.5")
    first.send(SIGTERM)
    _ = first.end()
    #expect(!FileManager.default.fileExists(atPath: store))
  }

  @Test("the status shows the durability and the store's file", arguments: ["process", "disk"])
  func status(_ grade: String) throws {
    let hub = try bench.startHub(["--durability", grade])
    let status = try bindhub("status", "--timeout", "20000").output
    #expect(status.contains("durability \(grade)"))
    #expect(status.contains(store))
    withExtendedLifetime(hub) {}
  }

  @Test(
    "a store and a durability that contradict each other exit 64",
    arguments: [["--store", "memory", "--durability", "disk"], ["--store", "x.db", "--durability", "memory"]])
  func contradiction(_ arguments: [String]) throws {
    let hub = try RunningProcess(Bench.program("bindhub"), ["serve", "--listen", bench.hub] + arguments)
    #expect(hub.end() == 64)
  }

  @Test("a second hub on one store exits 73 and names the process that holds it")
  func inUse() throws {
    let first = try bench.startHub()
    let other = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", "ipc://\(path("other.sock"))", "--store", store])
    #expect(other.end() == 73)
    #expect(other.line { $0.contains(store) && $0.contains("process \(first.pid)") } != nil, "\(other.output)")
  }

  @Test("a damaged store makes `check` and a hub exit 74")
  func damaged() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.5")
    hub.send(SIGTERM)
    _ = hub.end()
    let file = try #require(FileHandle(forWritingAtPath: store))
    try file.seek(toOffset: 5_000)
    try file.write(contentsOf: Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }))
    try file.close()
    let check = try bindhub("check", store)
    #expect(check.code == 74)
    #expect(check.output.contains(store))
    let again = try RunningProcess(Bench.program("bindhub"), ["serve", "--listen", bench.hub])
    #expect(again.end() == 74)
  }

  @Test("a backup restored into a running hub starts a new epoch, and peers do not bring back later values")
  func restoresLive() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.1")
    let watcher = try bench.start("watch", "lamp", "--json", "--wait-for-hub")
    try #require(watcher.line { $0.contains("0.1") } != nil)
    #expect(try bindhub("backup", path("copy.db")).code == 0)
    try bench.run("set", "lamp.level=0.2", "lamp.later=1")
    try #require(watcher.line { $0.contains("0.2") } != nil)
    let restored = try bindhub("restore", path("copy.db"))
    #expect(restored.code == 0, "\(restored.output)")
    try #require(watcher.line { $0.contains("snapshot") && $0.contains("later") } != nil, "\(watcher.output)")
    #expect(try value("lamp.level") == "0.1")
    #expect(try bench.run("get", "lamp.later").code == 1)
    #expect(try bench.run("set", "lamp.level=0.3").code == 0)
    try #require(watcher.line { $0.contains("0.3") } != nil)
    let kept = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
    #expect(kept.contains { $0.hasPrefix("hub.sock.db.before-") })
    withExtendedLifetime(hub) {}
  }

  @Test("a backup never overwrites a file")
  func backupExists() throws {
    let hub = try bench.startHub()
    try Data().write(to: URL(fileURLWithPath: path("copy.db")))
    #expect(try bindhub("backup", path("copy.db")).code == 73)
    withExtendedLifetime(hub) {}
  }

  @Test("restoring a file that is no backup exits 74, and the hub continues")
  func restoreOfNothing() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.1")
    try Data("no store".utf8).write(to: URL(fileURLWithPath: path("copy.db")))
    #expect(try bindhub("restore", path("copy.db")).code == 74)
    #expect(try value("lamp.level") == "0.1")
    withExtendedLifetime(hub) {}
  }

  @Test("a running hub compacts its store on request; without a hub the exit code is 69")
  func compacts() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=0.1")
    let compacted = try bindhub("compact", "--timeout", "20000")
    #expect(compacted.code == 0, "\(compacted.output)")
    #expect(compacted.output.contains("compacted 1 models, freed "), "\(compacted.output)")
    let status = try bindhub("status", "--json", "--timeout", "20000").output
    #expect(status.contains("\"logBytes\":0"))
    hub.send(SIGTERM)
    _ = hub.end()
    #expect(try bindhub("compact").code == 69)
  }
}
