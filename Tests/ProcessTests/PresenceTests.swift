import Foundation
import Testing

@Suite("Presence between real processes", .serialized)
struct PresenceTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// The names that `ls --peers` lists; nil while nobody is there.
  private func present() throws -> [String] {
    let lines = try bench.run("ls", "--peers", "lamp", "--json").output.split(separator: "\n")
    return try lines.compactMap { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return (object?["name"] as? String) ?? nil
    }
  }

  private func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date(timeIntervalSinceNow: 30)
    while try !condition() {
      if Date() > end { return false }
      usleep(50_000)
    }
    return true
  }

  @Test("who is in a model is listed, and gone soon after a kill -9; who only looks is not listed")
  func killed() throws {
    let hub = try bench.startHub(["--lease", "1000"])
    try bench.run("set", "lamp.on=true")
    let first = try bench.start("watch", "lamp", "--name", "first")
    #expect(try eventually { try present() == ["first"] })
    let second = try bench.start("watch", "lamp", "--name", "second")
    #expect(try eventually { try present() == ["first", "second"] })
    second.send(SIGKILL)
    #expect(try eventually { try present() == ["first"] })
    withExtendedLifetime((hub, first)) {}
  }

  @Test("what a script writes as ephemeral is read by others, told beside its name, and gone with it")
  func script() throws {
    let hub = try bench.startHub(["--lease", "1000"])
    let sensor = try bench.start("pipe", "lamp", "--ephemeral", "--name", "sensor")
    sensor.write(#"{"lux":70,"@me":{"room":"attic"}}"#)
    #expect(try bench.run("wait", "lamp.lux=70", "--ephemeral").code == 0)
    #expect(try bench.run("get", "lamp.lux", "--ephemeral", "--raw").output == "70")
    #expect(try bench.run("ls", "--peers", "lamp").output.hasSuffix(#"{"room":"attic"}"#))
    sensor.send(SIGKILL)
    #expect(try eventually { try bench.run("get", "lamp.lux", "--ephemeral").code == 1 })
    withExtendedLifetime(hub) {}
  }

  @Test("a hub that was stopped for ten seconds takes nobody for gone")
  func stoppedHub() throws {
    let hub = try bench.startHub(["--lease", "3000"])
    try bench.run("set", "lamp.on=true")
    let watcher = try bench.start("watch", "lamp", "--name", "first")
    #expect(try eventually { try present() == ["first"] })
    let before = try bench.run("ls", "--peers", "lamp", "--json").output
    hub.send(SIGSTOP)
    // The stop is the fault itself.
    sleep(10)
    hub.send(SIGCONT)
    try bench.run("set", "lamp.on=false")
    // The same place, since the same time.
    #expect(try bench.run("ls", "--peers", "lamp", "--json").output == before)
    withExtendedLifetime(watcher) {}
  }

  @Test("after the hub's kill -9 and new start everybody is there again")
  func newHub() throws {
    var hub = try bench.startHub()
    let watcher = try bench.start("watch", "lamp", "--name", "first", "--wait-for-hub")
    #expect(try eventually { try present() == ["first"] })
    hub.send(SIGKILL)
    _ = hub.end()
    hub = try bench.startHub()
    #expect(try eventually { try present() == ["first"] })
    withExtendedLifetime((hub, watcher)) {}
  }
}
