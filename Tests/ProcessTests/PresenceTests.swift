import BindbusTesting
import Foundation
import Testing

@Suite("Presence between real processes", .serialized)
struct PresenceTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  /// Returns the names that `ls --peers` lists.
  private func present() throws -> [String] {
    let lines = try bench.run("ls", "--peers", "lamp", "--json").output.split(separator: "\n")
    return try lines.compactMap { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return (object?["name"] as? String) ?? nil
    }
  }

  @Test("peers in a model are listed until soon after kill -9; a peer that only lists is not")
  func killed() async throws {
    let hub = try bench.startHub(["--lease", "1000"])
    try bench.run("set", "lamp.on=true")
    let first = try bench.start("watch", "lamp", "--name", "first")
    #expect(try await eventually { try present() == ["first"] })
    let second = try bench.start("watch", "lamp", "--name", "second")
    #expect(try await eventually { try present() == ["first", "second"] })
    second.send(SIGKILL)
    #expect(try await eventually { try present() == ["first"] })
    withExtendedLifetime((hub, first)) {}
  }

  @Test("an ephemeral value of a script is read by others, listed with its name, and ends with it")
  func script() async throws {
    let hub = try bench.startHub(["--lease", "1000"])
    let sensor = try bench.start("pipe", "lamp", "--ephemeral", "--name", "sensor")
    sensor.write(#"{"lux":70,"@me":{"room":"attic"}}"#)
    #expect(try bench.run("wait", "lamp.lux=70", "--ephemeral").code == 0)
    #expect(try bench.run("get", "lamp.lux", "--ephemeral", "--raw").output == "70")
    #expect(try bench.run("ls", "--peers", "lamp").output.hasSuffix(#"{"room":"attic"}"#))
    sensor.send(SIGKILL)
    #expect(try await eventually { try bench.run("get", "lamp.lux", "--ephemeral").code == 1 })
    withExtendedLifetime(hub) {}
  }

  @Test("a hub stopped for ten seconds drops no peer from presence")
  func stoppedHub() async throws {
    let hub = try bench.startHub(["--lease", "3000"])
    try bench.run("set", "lamp.on=true")
    let watcher = try bench.start("watch", "lamp", "--name", "first")
    #expect(try await eventually { try present() == ["first"] })
    let before = try bench.run("ls", "--peers", "lamp", "--json").output
    hub.send(SIGSTOP)
    // The stop is the fault itself.
    sleep(10)
    hub.send(SIGCONT)
    try bench.run("set", "lamp.on=false")
    // The same slot, present since the same time.
    #expect(try bench.run("ls", "--peers", "lamp", "--json").output == before)
    withExtendedLifetime(watcher) {}
  }

  @Test("after kill -9 and a restart of the hub all peers are present again")
  func newHub() async throws {
    var hub = try bench.startHub()
    let watcher = try bench.start("watch", "lamp", "--name", "first", "--wait-for-hub")
    #expect(try await eventually { try present() == ["first"] })
    hub.send(SIGKILL)
    _ = hub.end()
    hub = try bench.startHub()
    #expect(try await eventually { try present() == ["first"] })
    withExtendedLifetime((hub, watcher)) {}
  }
}
