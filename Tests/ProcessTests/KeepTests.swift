import Foundation
import Testing

@Suite("Kept values between real processes", .serialized)
struct KeepTests {
  private let bench: Bench
  private let file: String

  init() throws {
    bench = try Bench()
    file = bench.folder.appendingPathComponent("keep").path
  }

  /// Polls until the file shows this, at most 20 s.
  private func shows(_ text: String, _ arguments: String...) throws -> Bool {
    let end = Date(timeIntervalSinceNow: 20)
    repeat {
      let running = try RunningProcess(
        Bench.program("bindpeer"), ["--keep", file, "get"] + arguments, hub: bench.hub)
      _ = running.end()
      if running.output.contains(where: { $0.contains(text) }) { return true }
    } while Date() < end
    return false
  }

  @Test("10,000 fields of a killed program are read without a hub, with their age; a second writer is refused")
  func killed() throws {
    let hub = try bench.startHub()
    let writer = try bench.start("pipe", "m")
    for part in 0..<20 {
      let fields = (0..<500).map { "\"f\(part * 500 + $0)\":\(part * 500 + $0)" }
      writer.write("{\(fields.joined(separator: ","))}")
    }
    let keeper = try bench.start("watch", "m.f0", "--keep", file)
    try #require(try shows("m.f9999 = 9999", "m.f9999"), "\(keeper.output)")
    let second = try bench.run("watch", "m", "--keep", file)
    #expect(second.code == 73 && second.output.contains("in use by process \(keeper.pid)"), "\(second)")
    keeper.send(SIGKILL)
    _ = keeper.end()
    writer.send(SIGKILL)
    hub.send(SIGKILL)
    _ = (writer.end(), hub.end())
    let run = try bench.run("--keep", file, "get", "m", "--json")
    #expect(run.code == 0)
    let found = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
    let values = try #require(found["values"] as? [String: Int])
    #expect(values.count == 10_000 && values.allSatisfy { $0.key == "f\($0.value)" })
    #expect((found["age"] as? Int ?? -1) >= 0 && found["log"] is String && found["version"] as? Int == 20)
    let words = try bench.run("--keep", file, "get", "m.f1", "m.f10000")
    #expect(words.code == 1 && words.output.contains("m.f1 = 1") && words.output.contains(" ago."), "\(words)")
    #expect(words.output.contains("no field f10000"), "\(words)")
  }

  @Test("a write without a hub shows in the keep file, over the values of before, and the next run sends it")
  func withoutHub() throws {
    let hub = try bench.startHub()
    #expect(try bench.run("--keep", file, "set", "lamp.level=1", "lamp.on=true").code == 0)
    hub.send(SIGTERM)
    _ = hub.end()
    let kept = try bench.run("--keep", file, "set", "lamp.level=2", "--timeout", "200ms")
    #expect(kept.code == 75 && kept.output.contains("Stored in \(file): lamp.level"), "\(kept)")
    let got = try bench.run("--keep", file, "get", "lamp", "--json")
    #expect(got.output.contains("\"values\":{\"level\":2,\"on\":true}"), "\(got)")
    #expect(got.output.contains("\"pending\":[\"level\"]"), "\(got)")
    let again = try bench.startHub()
    let sent = try bench.run("--keep", file, "set", "lamp.name=\"desk\"")
    #expect(sent.code == 0 && sent.output.contains("1 earlier write completed"), "\(sent)")
    #expect(try bench.run("get", "lamp.level", "--raw").output.hasSuffix("2"))
    withExtendedLifetime(again) {}
  }

  @Test("a file that is no keep file, of a newer format or open to others is a sentence and exit 73")
  func unusable() throws {
    func make(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) -> String {
      let path = bench.folder.appendingPathComponent(name).path
      _ = FileManager.default.createFile(
        atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode])
      return path
    }
    for (path, words) in [
      (make("other", Array("#!/bin/sh\necho hello, world\n".utf8)), "is not an outbox"),
      (make("open", Array("bindout\n".utf8), mode: 0o644), "chmod 600"),
      (bench.folder.appendingPathComponent("none").path, "Cannot use"),
    ] {
      let run = try bench.run("--keep", path, "get", "lamp")
      #expect(run.code == 73 && run.output.contains(words) && run.output.contains(path), "\(run)")
    }
    let both = try bench.run("get", "lamp", "--keep", file, "--outbox", file)
    #expect(both.code == 64, "\(both)")
  }

  @Test("a deleted store gets back from a keep file what no living peer has, under `bindhub recover` alone")
  func recovers() throws {
    let hub = try bench.startHub(["--durability", "disk"])
    #expect(try bench.run("--keep", file, "set", "lamp.level=7", "lamp.on=true").code == 0)
    hub.send(SIGKILL)
    _ = hub.end()
    let store = bench.folder.appendingPathComponent("hub.sock.db").path
    for end in ["", "-wal", "-shm", ".log-id"] { unlink(store + end) }
    let shown = try bench.run("--keep", file, "get", "lamp", "--json")
    let found = try #require(try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any])
    let log = try #require(found["log"] as? String)
    func recover(_ arguments: [String]) throws -> (code: Int32?, output: String) {
      let running = try RunningProcess(
        Bench.program("bindhub"), ["recover", "--store", store] + arguments, hub: bench.hub)
      return (running.end(), running.output.joined(separator: "\n"))
    }
    #expect(try recover([]).output.contains("bindpeer --keep FILE get"))
    #expect(try recover(["--log", log, "--for", "4s"]).code == 0)
    let again = try bench.startHub(["--durability", "disk"])
    let watcher = try bench.start("watch", "lamp", "--keep", file, "--json", "--wait-for-hub")
    try #require(watcher.line { $0.contains("\"level\":7") } != nil, "\(watcher.output)")
    #expect(try bench.run("get", "lamp.level", "--raw", "--timeout", "20s").output.hasSuffix("7"))
    withExtendedLifetime(again) {}
  }
}
