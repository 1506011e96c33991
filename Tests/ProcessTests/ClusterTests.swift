#if Etcd
  import BindbusTesting
  import BindingPeer
  import EtcdServer
  import Foundation
  import Testing

  @Suite("Several hubs over one log in etcd", .serialized)
  struct ClusterTests {
    @Test("a value set at one hub is at the other, with the same version, and watchers of both follow")
    func oneTruth() async throws {
      let cluster = try Cluster()
      let hubs = try cluster.startAll()
      #expect(try cluster.run(0, "set", "lamp.level=0.5", "lamp.on=true").code == 0)
      #expect(try cluster.run(1, "get", "lamp.level", "--latest", "--raw").output == "0.5")
      let watcher = try RunningProcess(
        Bench.program("bindpeer"), ["watch", "lamp", "--json"], hub: cluster.hubs[1])
      #expect(watcher.line { $0.contains("0.5") } != nil)
      #expect(try cluster.run(0, "set", "lamp.level=0.75").code == 0)
      #expect(watcher.line { $0.contains("0.75") } != nil, "\(watcher.output)")
      #expect(try cluster.run(1, "rm", "lamp.on").code == 0)
      #expect(
        try await eventually(timeout: .seconds(20)) {
          try cluster.run(0, "get", "lamp", "--json", "--meta").output
            == cluster.run(1, "get", "lamp", "--json", "--meta").output
        })
      #expect(try cluster.run(0, "ls").output == cluster.run(1, "ls").output)
      let history = try cluster.run(1, "history", "lamp.level", "--json")
      #expect(history.code == 0 && history.output.contains("0.75") && history.output.contains("0.5"))
      #expect(try cluster.status(0).contains("store \(cluster.store)  live"))
      withExtendedLifetime(hubs) {}
    }

    @Test("set at one hub, then get --latest at the other, shows what was set, every time")
    func latestAfterSet() throws {
      let cluster = try Cluster()
      let hubs = try cluster.startAll()
      for level in 1...20 {
        #expect(try cluster.run(level % 2, "set", "lamp.level=\(level)").code == 0)
        #expect(try cluster.run((level + 1) % 2, "get", "lamp.level", "--latest", "--raw").output == "\(level)")
      }
      withExtendedLifetime(hubs) {}
    }

    @Test(
      "every acknowledged write is in the log once, whichever hub or node is killed or stopped",
      .timeLimit(.minutes(4)))
    func exactlyOnce() async throws {
      let cluster = try Cluster(nodes: 3, hubs: 3)
      var hubs = try cluster.startAll(withSiblings: true)
      let writers = CountingWriters(at: cluster.hubs + cluster.hubs)
      func goesOn() async { #expect(await writers.goOn(by: 50)) }
      await goesOn()
      hubs[0].send(SIGKILL)
      _ = hubs[0].end()
      await goesOn()
      hubs[0] = try cluster.start(0, cluster.siblings)
      await goesOn()
      hubs[1].send(SIGSTOP)
      // The stop is the fault itself: longer than silence is borne.
      sleep(5)
      hubs[1].send(SIGCONT)
      await goesOn()
      for node in 0..<3 {
        cluster.etcd.kill(node)
        await goesOn()
        try cluster.etcd.start(node)
        await goesOn()
      }
      for node in 0..<3 { cluster.etcd.pause(node) }
      sleep(3)
      for node in 0..<3 { cluster.etcd.resume(node) }
      await goesOn()
      let acknowledged = try await writers.end()
      #expect(try cluster.latest("counter.count") == Array(repeating: "\(acknowledged)", count: 3))
      withExtendedLifetime(hubs) {}
    }

    @Test("a hub cut from the log reads on, acknowledges nothing, says so, and gives nothing old as the latest")
    func cutOff() async throws {
      let cluster = try Cluster(hubs: 1)
      let hub = try cluster.start(0)
      try cluster.run(0, "set", "lamp.level=0.5")
      // The end of that process leaves a record; a join waits for one that is on its way.
      try cluster.run(0, "get", "lamp.level", "--latest")
      cluster.etcd.pause(0)
      #expect(try await eventually(timeout: .seconds(20)) { try cluster.status(0).contains("waiting(upstream)") })
      #expect(try cluster.run(0, "get", "lamp.level", "--raw").output.hasSuffix("0.5"))
      let latest = try cluster.run(0, "get", "lamp.level", "--latest", "--timeout", "1s")
      #expect(latest.code == 75 && latest.output.contains("waiting(upstream)") && !latest.output.contains("0.5"))
      #expect(try cluster.run(0, "set", "lamp.level=0.6", "--timeout", "1s").code == 75)
      let writer = try RunningProcess(
        Bench.program("bindpeer"), ["set", "lamp.level=0.7", "--timeout", "30s"], hub: cluster.hubs[0])
      cluster.etcd.resume(0)
      #expect(writer.end() == 0, "\(writer.output)")
      #expect(try cluster.run(0, "get", "lamp.level", "--latest", "--raw").output == "0.7")
      withExtendedLifetime(hub) {}
    }

    @Test(
      "models move to another etcd and back while peers write, also if the command is killed",
      .timeLimit(.minutes(4)))
    func shards() async throws {
      let cluster = try Cluster(hubs: 2)
      let second = try EtcdServer()
      let hubs = try cluster.startAll()
      let (moved, stays) = (CountingWriters(at: cluster.hubs, of: "eu/counter"), CountingWriters(at: cluster.hubs))
      func goOn() async {
        #expect(await moved.goOn(by: 50))
        #expect(await stays.goOn(by: 50))
      }
      await goOn()
      let other = "etcd://\(second.addresses)/shop"
      for (round, place) in [other, cluster.store, other].enumerated() {
        let move = ["shards", "move", "eu/", "--to", place]
        if round == 1 {
          let killed = try RunningProcess(Bench.program("bindhub"), move, hub: cluster.hubs[0])
          // Some moment of it.
          #expect(killed.line { $0.contains("copied") } != nil)
          killed.send(SIGKILL)
          _ = killed.end()
        }
        let done = try RunningProcess(Bench.program("bindhub"), move, hub: cluster.hubs[0])
        #expect(done.end() == 0, "\(done.output)")
        await goOn()
      }
      let shown = try cluster.bindhub(1, "shards").output
      #expect(shown.contains("eu/") && shown.contains(other), "\(shown)")
      // The other models go on without that etcd, and the moved ones once it is back.
      second.pause(0)
      #expect(await stays.goOn(by: 50))
      second.resume(0)
      await goOn()
      let counts = (try await moved.end(), try await stays.end())
      #expect(try cluster.latest("eu/counter.count") == Array(repeating: "\(counts.0)", count: 2))
      #expect(try cluster.latest("counter.count") == Array(repeating: "\(counts.1)", count: 2))
      withExtendedLifetime(hubs) {}
    }

    @Test("older records are folded, the last thousand stay for history, and a later hub reads all of it")
    func folding() async throws {
      let cluster = try Cluster(hubs: 2)
      var hubs = [try cluster.start(0)]
      let writers = CountingWriters(at: [cluster.hubs[0]])
      #expect(await eventually(timeout: .seconds(60)) { writers.count >= 2_600 })
      let acknowledged = try await writers.end()
      #expect(try await eventually(timeout: .seconds(20)) { try cluster.records(of: "counter") <= 1_024 + 512 })
      #expect(try cluster.records(of: "counter") >= 1_000)
      hubs.append(try cluster.start(1))
      #expect(try cluster.run(1, "get", "counter.count", "--latest", "--raw").output == "\(acknowledged)")
      let past = try cluster.run(1, "history", "counter.count", "--json", "--limit", "1000")
      #expect(past.output.split(separator: "\n").count >= 1_000)
      withExtendedLifetime(hubs) {}
    }

    @Test("a log goes from a file into etcd and back, with its values and what its writers have confirmed")
    func movedLog() async throws {
      let cluster = try Cluster()
      let folder = cluster.bench.folder.path
      func serve(file: String) throws -> RunningProcess {
        try cluster.start(0, store: "\(folder)/\(file)")
      }
      let file = try serve(file: "first.db")
      // More models than are written at once.
      let values = (0..<100).map { "lamp/\($0).level=0.\($0)" }
      for first in stride(from: 0, to: 100, by: 25) {
        #expect(try cluster.run(0, ["set"] + values[first..<first + 25]).code == 0)
      }
      #expect(try cluster.run(0, "rm", "lamp/7.level").code == 0)
      let peer = try Peer(name: "counter", hub: HubLocation(cluster.hubs[0]), keeping: .file("\(folder)/keep"))
      let counter = try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(20))
      for _ in 0..<20 { _ = try await counter.$count.add(1).committed }
      let before = try cluster.run(0, "get", "lamp/", "--json").output
      file.send(SIGTERM)
      #expect(file.end() == 0)
      // These have no outcome yet.
      let waiting = try (0..<5).map { _ in try counter.$count.add(1) }

      let backup = "\(folder)/monday.db"
      #expect(try cluster.bindhub(0, "backup", backup, "--store", "\(folder)/first.db").code == 0)
      let restored = try cluster.bindhub(0, "restore", backup, "--store", cluster.store)
      #expect(restored.code == 0 && restored.output.contains("bindhub serve --store"), "\(restored)")
      let again = try cluster.bindhub(0, "restore", backup, "--store", cluster.store)
      #expect(again.code == 73 && again.output.contains("has a log already"), "\(again)")
      let hubs = try cluster.startAll()
      for write in waiting { #expect(try await write.committed > 0) }
      #expect(try cluster.run(1, "get", "counter.count", "--latest", "--raw").output == "25")
      #expect(try cluster.run(1, "get", "lamp/", "--json", "--latest").output == before)
      #expect(try cluster.run(1, "set", "lamp/7.level=1").code == 0)

      let back = "\(folder)/tuesday.db"
      #expect(try cluster.bindhub(1, "backup", back).code == 0)
      for hub in hubs {
        hub.send(SIGTERM)
        #expect(hub.end() == 0)
      }
      #expect(try cluster.bindhub(0, "restore", back, "--store", "\(folder)/second.db").code == 0)
      let last = try serve(file: "second.db")
      #expect(try await counter.$count.add(1).committed > 0)
      #expect(try cluster.run(0, "get", "counter.count", "--raw").output == "26")
      #expect(try cluster.run(0, "get", "lamp/7.level", "--raw").output == "1")
      await peer.close()
      withExtendedLifetime(last) {}
    }

    @Test("a member goes on at a hub with the same keys when its own is killed, and its next command finds it too")
    func members() throws {
      let cluster = try Cluster()
      let users = try KeyedUsers()
      #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
      func serve(_ more: String...) throws -> (RunningProcess, address: String) {
        let hub = try users.serve(["--store", cluster.store] + more)
        let listening = try #require(hub.line { $0.hasPrefix("listening tcp://") })
        return (hub, String(listening.dropFirst("listening ".count)))
      }
      let (second, refuge) = try serve()
      let (first, _) = try serve("--sibling", refuge)
      #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
      #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.5"], as: "guest").code == 0)
      let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "lamp"], as: "guest")
      try #require(watch.line { $0.contains("0.5") } != nil, "\(watch.output)")
      first.send(SIGKILL)
      _ = first.end()
      #expect(watch.line { $0 == "! another hub serves now: \(refuge)" } != nil, "\(watch.output)")
      #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.75"], as: "guest").code == 0)
      #expect(watch.line { $0.contains("0.75") } != nil, "\(watch.output)")
      withExtendedLifetime(second) {}
    }

    @Test("what cannot be: no etcd there, an odd address, options that contradict it, a file command on it")
    func badInput() throws {
      let cluster = try Cluster(hubs: 1)
      func serve(_ arguments: String...) throws -> (Int32?, String) {
        let hub = try RunningProcess(
          Bench.program("bindhub"), ["serve", "--listen", cluster.hubs[0], "--log", "error"] + arguments)
        return (hub.end(), hub.output.joined(separator: "\n"))
      }
      let odd = try serve("--store", "etcd://a:b:c/x")
      #expect(odd.0 == 64 && odd.1.contains("etcd://a:b:c/x"), "\(odd)")
      let absent = try serve("--store", "etcd://127.0.0.1:1/x")
      #expect(absent.0 == 73 && absent.1.contains("127.0.0.1:1"), "\(absent)")
      let graded = try serve("--store", cluster.store, "--durability", "disk")
      #expect(graded.0 == 64 && graded.1.contains("--durability"), "\(graded)")
      let stray = try serve("--store", "memory", "--etcd-user", "a", "--etcd-password-file", "/dev/null")
      #expect(stray.0 == 64 && stray.1.contains("--store etcd://"), "\(stray)")
      let hub = try cluster.start(0)
      let check = try cluster.bindhub(0, "check")
      #expect(check.code == 64 && check.output.contains("bindhub backup FILE"), "\(check)")
      let nowhere = "\(cluster.bench.folder.path)/nothing.db"
      let nothing = try cluster.bindhub(0, "backup", nowhere, "--store", cluster.store + "x")
      #expect(nothing.code == 73 && nothing.output.contains("no log in"), "\(nothing)")
      withExtendedLifetime(hub) {}
    }
  }
#endif
