#if Etcd
  import BindbusTesting
  import Foundation
  import Testing

  @Suite("Presence over several hubs", .serialized)
  struct SiblingPresenceTests {
    /// The names and announcements of the peers that are present at a hub, in order.
    private func present(_ cluster: Cluster, _ hub: Int) throws -> [String] {
      try cluster.run(hub, "ls", "--peers", "lamp", "--json").output.split(separator: "\n").compactMap { line in
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        return (object?["name"] as? String) ?? nil
      }.sorted()
    }

    @Test("peers and ephemeral values of one hub are seen at the others, and go from hub to hub unnoticed")
    func overHubs() async throws {
      let cluster = try Cluster(hubs: 3)
      let hubs = try cluster.startAll(withSiblings: true)
      #expect(try cluster.run(0, "set", "lamp.on=true").code == 0)
      let sensor = try RunningProcess(
        Bench.program("bindpeer"), ["pipe", "lamp", "--ephemeral", "--name", "sensor"], hub: cluster.hubs[0])
      sensor.write(#"{"lux":70,"@me":{"room":"attic"}}"#)
      let watch = try RunningProcess(
        Bench.program("bindpeer"), ["watch", "lamp", "--name", "watcher"], hub: cluster.hubs[1])
      for hub in 0..<3 {
        #expect(try cluster.run(hub, "wait", "lamp.lux=70", "--ephemeral").code == 0)
        #expect(try await eventually { try present(cluster, hub) == ["sensor", "watcher"] })
        #expect(try cluster.run(hub, "ls", "--peers", "lamp").output.contains(#"{"room":"attic"}"#))
      }
      // Its own hub is killed: it goes to another one, and its value is there all the time.
      hubs[0].send(SIGKILL)
      _ = hubs[0].end()
      let until = ContinuousClock.now + .seconds(12)
      while ContinuousClock.now < until {
        #expect(try cluster.run(2, "get", "lamp.lux", "--ephemeral", "--raw").output == "70")
        usleep(200_000)
      }
      #expect(try present(cluster, 2) == ["sensor", "watcher"])
      sensor.send(SIGKILL)
      #expect(
        try await eventually(timeout: .seconds(30)) {
          try cluster.run(1, "get", "lamp.lux", "--ephemeral").code == 1 && present(cluster, 2) == ["watcher"]
        })
      withExtendedLifetime((hubs, watch)) {}
    }

    @Test("hubs with keys know each other by the pair that they share, and strangers still by none")
    func withKeys() async throws {
      let cluster = try Cluster()
      let users = try KeyedUsers()
      #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
      func serve(_ more: [String]) throws -> (RunningProcess, address: String) {
        let hub = try users.serve(["--store", cluster.store] + more)
        let listening = try #require(hub.line { $0.hasPrefix("listening tcp://") })
        return (hub, String(listening.dropFirst("listening ".count)))
      }
      let (second, refuge) = try serve([])
      let (first, address) = try serve(["--sibling", refuge])
      #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "anna").code == 0)
      #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.on=true"], as: "anna").code == 0)
      // Both are members of the first hub's log; this one is at the second hub.
      let config = users.configuration("anna") + "/bindbus/hubs/shop.json"
      let text = try String(contentsOfFile: config, encoding: .utf8)
      let elsewhere = users.configuration("anna") + "/bindbus/hubs/second.json"
      try text.replacingOccurrences(of: address, with: refuge).write(
        toFile: elsewhere, atomically: true, encoding: .utf8)
      try FileManager.default.copyItem(
        atPath: users.configuration("anna") + "/bindbus/hubs/shop.key",
        toPath: users.configuration("anna") + "/bindbus/hubs/second.key")
      let sensor = try users.start(
        "bindpeer", ["--hub", "second", "pipe", "lamp", "--ephemeral", "--name", "sensor"], as: "anna")
      sensor.write(#"{"lux":70}"#)
      let seen = try users.run("bindpeer", ["--hub", "shop", "wait", "lamp.lux=70", "--ephemeral"], as: "anna")
      #expect(seen.code == 0, "\(seen.output)")
      let strange = try users.run("bindpeer", ["--hub", refuge, "get", "lamp", "--timeout", "2"], as: "eve")
      #expect(strange.code != 0, "\(strange.output)")
      withExtendedLifetime((first, second, sensor)) {}
    }
  }
#endif
