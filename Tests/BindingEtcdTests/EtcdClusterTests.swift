#if Etcd
  import BindingHub
  import BindingProtocol
  import EtcdServer
  import Foundation
  import StoreContract
  import Testing

  @testable import BindingEtcd

  @Suite("Several nodes of etcd", .serialized)
  struct EtcdClusterTests {
    @Test("three nodes that sync are replicated; one that does not sync, or one node alone, is not")
    func grade() throws {
      let three = try EtcdServer(nodes: 3)
      let (store, client) = try open(three)
      defer { store.close() }
      let reason = try client.wait("replicated", seconds: 60) {
        if case .grade(.replicated, let reason) = $0 { reason } else { nil }
      }
      #expect(store.grade == .replicated && reason.contains("3 voting nodes"))

      let unsafe = try EtcdServer(nodes: 3, flags: { $0 == 1 ? ["--unsafe-no-fsync"] : [] })
      let (other, otherClient) = try open(unsafe)
      defer { other.close() }
      let words = try otherClient.wait("a grade", seconds: 60) {
        if case .grade(let grade, let reason) = $0 { (grade, reason) } else { nil }
      }
      #expect(words.0 == .process && words.1.contains("n1") && words.1.contains("--unsafe-no-fsync"), "\(words)")

      let one = try EtcdServer()
      let (single, singleClient) = try open(one)
      defer { single.close() }
      let alone = try singleClient.wait("a grade", seconds: 60) {
        if case .grade(let grade, let reason) = $0 { (grade, reason) } else { nil }
      }
      #expect(alone.0 == .process && alone.1.contains("1 voting node"), "\(alone)")
    }

    @Test("no acknowledged batch is lost while each node in turn is killed or stopped")
    func losses() throws {
      let server = try EtcdServer(nodes: 3)
      let (store, client) = try open(server)
      let (following, follower) = try open(server)
      defer {
        store.close()
        following.close()
      }
      var writer = ModelWriter("lamp", 1)
      var number = 0
      func write(_ count: Int) throws {
        for _ in 0..<count {
          number += 1
          try writer.insist("\"\(number)\"", client)
        }
      }
      try write(20)
      for node in 0..<3 {
        if node == 1 { server.pause(node) } else { server.kill(node) }
        try write(20)
        if node == 1 { server.resume(node) } else { try server.start(node) }
        try write(20)
      }
      let last = UInt64(number)
      let stored = try #require(try client.load("lamp").stored)
      #expect(stored.batches.map(\.record) == Array(1...last))
      #expect(Set(stored.batches.map(\.body)).count == number)
      try follower.wait(until: "the last record") {
        follower.followed.contains { $0.batch.record == last }
          || follower.all.contains { event in
            if case .changed(let heads) = event { heads.contains { $0.record == last } } else { false }
          }
      }
      try SharedStoreContract.checkOrder(client)
    }

    @Test("a store without room refuses before etcd does, and stores again once there is room")
    func room() throws {
      let server = try EtcdServer(flags: { _ in ["--quota-backend-bytes", "\(64 << 20)"] })
      let (store, client) = try open(server)
      defer { store.close() }
      try client.wait("a grade", seconds: 30) { if case .grade = $0 { true } else { nil } }
      #expect(store.status.quotaBytes == 64 << 20)
      let value = "\"\(String(repeating: "x", count: 1_000_000))\""
      var writers: [ModelWriter] = []
      var result = SharedAppended.unknown
      // Etcd itself never raises its alarm.
      for index in 0..<200 {
        var writer = ModelWriter("m\(index)", 1)
        let batch = writer.next(value)
        result = try client.append([batch])[0]
        guard case .stored(let revision) = result else { break }
        writer.take(batch.batch, revision)
        writers.append(writer)
      }
      #expect(result == .full && store.status.room >= .full)
      #expect(try client.load("m0").head.record == 1)
      #expect(!(try server.control("alarm", "list")).contains("NOSPACE"))
      for writer in writers.dropFirst(4) { try client.store(writer.removal()) }
      try server.compact()
      try client.wait(until: "room") { store.status.room < .full }
      try writers[0].write(value, client)
    }
  }
#endif
