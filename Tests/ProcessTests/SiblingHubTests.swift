#if Etcd
  import BindbusTesting
  import BindingPeer
  import EtcdServer
  import Foundation
  import Testing

  @Suite("Several hubs that know each other, over one log in etcd", .serialized)
  struct SiblingHubTests {
    @Test("of hubs whose peers write one model at once, one decides for all, and few appends lose")
    func home() async throws {
      let cluster = try Cluster(hubs: 3)
      let hubs = try cluster.startAll(withSiblings: true)
      // Two writers at each hub: there is always something to pass on.
      let writers = CountingWriters(at: cluster.hubs + cluster.hubs)
      func counted() throws -> (passedOn: Int, lost: Int, stored: Int) {
        func sum(_ name: String) throws -> Int { try (0..<3).reduce(0) { try $0 + cluster.counter(name, $1) } }
        return (try sum("passedOn"), try sum("movedBatches"), try sum("batches"))
      }
      // Until the hubs know each other each decides for its own peers.
      try #require(try await eventually(timeout: .seconds(30)) { try counted().passedOn > 100 })
      let first = try counted()
      let isEnough = try await eventually(timeout: .seconds(60)) { try counted().stored > first.stored + 1_000 }
      let acknowledged = try await writers.end()
      let last = try counted()
      #expect(isEnough && last.passedOn > first.passedOn + 1_000, "from \(first) to \(last)")
      #expect((last.lost - first.lost) * 20 < last.stored - first.stored, "from \(first) to \(last)")
      #expect(try cluster.latest("counter.count") == Array(repeating: "\(acknowledged)", count: 3))
      withExtendedLifetime(hubs) {}
    }

    @Test("an owner is asked about what is written at any hub, also after it has gone to another one")
    func owner() async throws {
      let cluster = try Cluster(hubs: 3)
      let hubs = try cluster.startAll(withSiblings: true)
      let peer = try Peer(name: "keeper", hub: HubLocation(cluster.hubs[0...1].joined(separator: ",")))
      let counter = try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(30))
      let ownership = try await counter.validate { new, _ in
        if new.count > 9 { throw RefusalError("9 are enough") }
      }
      func set(_ value: Int, at hub: Int) throws -> (code: Int32?, output: String) {
        try cluster.run(hub, "set", "counter.count=\(value)")
      }
      for hub in 0..<3 { #expect(try set(hub + 1, at: hub).code == 0) }
      for hub in 0..<3 {
        let refused = try set(10, at: hub)
        #expect(refused.code != 0 && refused.output.contains("keeper says: 9 are enough"), "\(refused)")
      }
      let address = try #require(peer.status.hub)
      let first = try #require(cluster.hubs[0...1].firstIndex(of: address))
      hubs[first].send(SIGKILL)
      _ = hubs[first].end()
      // It waits for the owner, which goes to the other hub.
      let later = try set(10, at: 2)
      #expect(later.code != 0 && later.output.contains("keeper says: 9 are enough"), "\(later)")
      #expect(try set(5, at: 2).code == 0)
      ownership.release()
      let isFree = await eventually(timeout: .seconds(30)) { (try? set(10, at: 2).code) == 0 }
      #expect(isFree)
      await peer.close()
      withExtendedLifetime(hubs) {}
    }

    @Test("waiting until all have applied a version counts the peers of every hub, and names one that has not")
    func barrier() async throws {
      let cluster = try Cluster(hubs: 3)
      let hubs = try cluster.startAll(withSiblings: true)
      let peers = try cluster.hubs.enumerated().map { try Peer(name: "peer\($0)", hub: HubLocation($1)) }
      var counters: [Counter] = []
      for peer in peers {
        counters.append(try await peer.share(Counter.self, id: "counter", on: .direct, timeout: .seconds(30)))
      }
      let watcher = try RunningProcess(
        Bench.program("bindpeer"), ["watch", "counter", "--wait-for-hub"], hub: cluster.hubs[2])
      for count in 1...3 {
        let version = try await counters[count - 1].$count.write(count).committed
        // From then on it has joined the model.
        if count == 1 { try #require(watcher.line { $0.contains("count") } != nil) }
        #expect(try await counters[0].applied(version, timeout: .seconds(30)) == 4)
      }
      watcher.send(SIGSTOP)
      let version = try await counters[1].$count.write(9).committed
      let error = await #expect(throws: BarrierError.self) {
        try await counters[1].applied(version, timeout: .seconds(2))
      }
      guard case .notApplied(let names, 3, 4)? = error else { throw try #require(error) }
      #expect(names.count == 1 && !names[0].hasPrefix("peer"), "\(names)")
      #expect(try await counters[1].applied(version, by: .count(3), timeout: .seconds(30)) == 3)
      watcher.send(SIGCONT)
      #expect(try await counters[1].applied(version, timeout: .seconds(30)) == 4)
      for peer in peers { await peer.close() }
      withExtendedLifetime(hubs) {}
    }

    @Test("`verify` compares the peers of every hub, and says which hub does not answer")
    func verify() throws {
      let cluster = try Cluster(hubs: 3)
      let hubs = try cluster.startAll(withSiblings: true)
      #expect(try cluster.run(0, "set", "lamp.level=1").code == 0)
      let watchers = try cluster.hubs.map { hub in
        let watcher = try RunningProcess(Bench.program("bindpeer"), ["watch", "lamp"], hub: hub)
        try #require(watcher.line { $0.contains("lamp") } != nil, "\(watcher.output)")
        return watcher
      }
      let all = try cluster.bindhub(1, "verify")
      #expect(all.code == 0 && all.output.hasPrefix("lamp  1  ") && all.output.hasSuffix("  3 equal"), "\(all)")
      hubs[2].send(SIGKILL)
      _ = hubs[2].end()
      let some = try cluster.bindhub(1, "verify", "lamp", "--timeout", "20000")
      #expect(some.code == 75 && some.output.contains("No hub answers at \(cluster.hubs[2])"), "\(some)")
      withExtendedLifetime(watchers) {}
    }
  }
#endif
