#if Etcd
  import BindingHub
  import BindingProtocol
  import EtcdServer
  import Foundation
  import NIOCore
  import NIOPosix
  import StoreContract
  import Synchronization
  import Testing

  @testable import BindingEtcd

  @Suite("A log in etcd with shards", .serialized)
  struct EtcdShardTests {
    /// A log and places for its shards, all in one etcd.
    final class Log {
      let server: EtcdServer
      let root: EtcdAddress
      private var stores: [ShardedStore] = []
      private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      var loop: any EventLoop { group.next() }

      init() throws {
        server = try EtcdServer()
        root = try EtcdAddress("etcd://\(server.addresses)/shop")
      }

      deinit {
        for store in stores { store.close() }
        group.shutdownGracefully { _ in }
      }

      func shard(_ name: String) throws -> EtcdAddress { try EtcdAddress("etcd://\(server.addresses)/\(name)") }

      func open() throws -> SharedStoreClient {
        let store = try EtcdStore.withShards(root, EtcdOptions())
        stores.append(store)
        return SharedStoreClient(store) { usleep(2_000) }
      }

      /// Does something with shards, and collects what it tells.
      @discardableResult func change(_ body: (EtcdShards) throws -> Void) throws -> [EtcdShards.Progress] {
        var told: [EtcdShards.Progress] = []
        let shards = try EtcdShards(root, EtcdOptions()) { told.append($0) }
        defer { shards.close() }
        try body(shards)
        return told
      }

      func move(_ prefix: String, to name: String) throws {
        let address = try name == "shop" ? root : shard(name)
        try change { try $0.move(prefix, to: address) }
      }

      func map() throws -> ShardMap {
        var map = ShardMap()
        try change { map = try $0.map() }
        return map
      }

      /// What is in `b/log` of a place.
      func value(_ name: String) throws -> [UInt8]? {
        let range = EtcdRange(key: EtcdKeys(name).log)
        return try EtcdRangeResponse(server.call(EtcdClient.range, range.bytes)[...]).entries.first?.value
      }

      /// When the keys that begin with this were last changed.
      func revisions(_ key: [UInt8]) throws -> [SharedRevision] {
        let range = EtcdRange(key: key, end: EtcdKeys.end(of: key))
        return try EtcdRangeResponse(server.call(EtcdClient.range, range.bytes)[...]).entries.map(\.modRevision)
      }

      /// How many keys of a model are in a place.
      func keys(of model: String, in name: String) throws -> Int {
        let keys = EtcdKeys(name)
        return try [keys.head(model), keys.fold(model), keys.records(model), keys.allChunks(model)].reduce(0) {
          $0 + (try server.keys($1))
        }
      }
    }

    @Test("models with records, folds and removals are the same in another shard, and gone from the old one")
    func content() throws {
      let log = try Log()
      let client = try log.open()
      var (plain, folded) = (ModelWriter("eu/plain", 1), ModelWriter("eu/folded", 2))
      var (removed, large, stays) = (ModelWriter("eu/gone", 3), ModelWriter("eu/large", 4), ModelWriter("us/lamp", 5))
      for value in 1...300 { try plain.write("\(value)", client) }
      for value in 1...5 { try folded.write("\(value)", client) }
      try client.fold("eu/folded")
      try folded.write("6", client)
      try removed.write("1", client)
      try client.store(removed.removal())
      for _ in 1...4 { try large.write("\"\(String(repeating: "x", count: 400_000))\"", client) }
      try stays.write("1", client)
      let models = ["eu/plain", "eu/folded", "eu/gone", "eu/large", "us/lamp"]
      let before = try models.map { try client.load($0) }
      for place in ["other", "third", "shop", "other"] {
        try log.move("eu/", to: place)
        let now = try log.open()
        for (model, before) in zip(models, before) {
          let (head, stored) = try now.load(model)
          #expect(stored == before.stored && head.record == before.head.record)
          #expect(head.isRemoved == before.head.isRemoved)
        }
        #expect(try now.list("", page: 2) == ["eu/folded", "eu/large", "eu/plain", "us/lamp"])
        for old in ["shop", "other", "third"] where old != place {
          for model in models where model.hasPrefix("eu/") { #expect(try log.keys(of: model, in: old) == 0, "\(old)") }
        }
        #expect(try log.keys(of: "us/lamp", in: "shop") == 2)
      }
      // Its records and revisions can be built on.
      try plain.reload(client)
      try plain.write("301", client)
      try folded.reload(client)
      try client.fold("eu/folded")
      var again = ModelWriter("eu/gone", 3, head: try client.load("eu/gone").head)
      try again.write("2", client)
    }

    @Test("of a copied model the last record alone has the revision of its head")
    func revisions() throws {
      let log = try Log()
      let client = try log.open()
      var writers = [ModelWriter("eu/fan", 1), ModelWriter("eu/lamp", 2)]
      for value in 1...5 { for index in writers.indices { try writers[index].write("\(value)", client) } }
      for place in ["other", "shop"] {
        try log.move("eu/", to: place)
        for model in ["eu/fan", "eu/lamp"] {
          let head = try log.revisions(EtcdKeys(place).head(model))
          let records = try log.revisions(EtcdKeys(place).records(model))
          #expect(records.count == 5 && head == [records[4]] && !records[..<4].contains(records[4]), "\(records)")
        }
      }
    }

    @Test("writers and readers at two hubs go on while a prefix is moved to and fro", .timeLimit(.minutes(4)))
    func underLoad() throws {
      let log = try Log()
      let clients = [try log.open(), try log.open()]
      let isOver = Mutex(false)
      let failures = Mutex<[String]>([])
      // Two writers of one model, at two hubs, and two of their own models.
      let models = ["eu/lamp", "eu/lamp", "eu/fan", "us/lamp"]
      let written = Mutex(Array(repeating: 0, count: models.count))
      let done = DispatchGroup()
      for (index, model) in models.enumerated() {
        let client = clients[index % 2]
        done.enter()
        // Of a thread of its own: it blocks.
        Thread {
          var (writer, number) = (ModelWriter(model, UInt64(index + 1)), 0)
          do {
            while !isOver.withLock(\.self) {
              number += 1
              try writer.insist("\"\(index)-\(number)\"", client)
              written.withLock { $0[index] += 1 }
            }
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
          done.leave()
        }.start()
      }
      func goOn() throws {
        let before = written.withLock(\.self)
        try clients[0].wait(until: "all write") {
          zip(before, written.withLock(\.self)).allSatisfy { $1 >= $0 + 5 } || !failures.withLock(\.isEmpty)
        }
      }
      try goOn()
      for place in ["other", "shop", "third", "other", "shop"] {
        try log.move("eu/", to: place)
        try goOn()
      }
      isOver.withLock { $0 = true }
      done.wait()
      #expect(failures.withLock(\.self) == [])
      for model in Set(models) {
        let stored = try #require(try clients[0].load(model).stored, "\(model)")
        #expect(stored.batches.map(\.record) == Array(1...UInt64(stored.batches.count)))
        #expect(Set(stored.batches.map(\.body)).count == stored.batches.count, "one is there twice")
        #expect(try clients[1].load(model).stored == stored)
      }
    }

    @Test("a move that was interrupted at any moment goes on, or is taken back", arguments: 0..<5)
    func interrupted(_ moment: Int) throws {
      let log = try Log()
      var client = try log.open()
      var (lamp, fan) = (ModelWriter("eu/lamp", 1), ModelWriter("eu/fan", 2))
      for value in 1...3 { try lamp.write("\(value)", client) }
      try fan.write("1", client)
      // What an interrupted one leaves.
      let site = try EtcdSite(log.root, EtcdOptions(), log.loop, for: .reading)
      defer { site.close() }
      try log.move("us/", to: "other")
      let other = EtcdKeys("other")
      if moment > 0 { try log.server.put(other.record("eu/lamp", 1), [1, 2, 3]) }
      if moment > 1 {
        try site.changeLog { value throws(StoreError) in
          guard var map = value.map else { return false }
          try? map.beginMove("eu/", to: 1)
          value.role = .root(map)
          return true
        }
      }
      if moment > 2 {
        let batch = fan.next("2")
        // It is unknown as long as the hub has not noticed the move, and waits from then on.
        var number = client.submit([batch])
        for _ in 0..<100 {
          usleep(50_000)
          if try client.answers(to: number)["eu/fan"] == .unknown { number = client.submit([batch]) }
        }
        #expect(try client.answers(to: number).isEmpty)
      }
      if moment == 4 {
        try log.change { try $0.takeBack("eu/") }
        #expect(try log.map().place(of: "eu/lamp") == .init(shard: 0))
      } else {
        try log.move("eu/", to: "other")
        #expect(try log.map().place(of: "eu/lamp") == .init(shard: 1))
      }
      client = try log.open()
      #expect(try client.load("eu/lamp").head.record == 3)
      #expect(try log.keys(of: "eu/lamp", in: moment == 4 ? "other" : "shop") == 0)
      try lamp.insist("4", client)
    }

    @Test("what a move has left that was interrupted at its end is deleted by the same move")
    func leftOver() throws {
      let log = try Log()
      let client = try log.open()
      var lamp = ModelWriter("eu/lamp", 1)
      try lamp.write("1", client)
      let keys = EtcdKeys("shop")
      let left = try [keys.head("eu/lamp"), keys.record("eu/lamp", 1)].map { key in
        (key, try EtcdRangeResponse(log.server.call(EtcdClient.range, EtcdRange(key: key).bytes)[...]).entries[0].value)
      }
      try log.move("eu/", to: "other")
      for (key, value) in left { try log.server.put(key, value) }
      #expect(try log.open().list("", page: 5) == ["eu/lamp"])
      try log.move("eu/", to: "other")
      #expect(try log.keys(of: "eu/lamp", in: "shop") == 0)
      #expect(try log.open().load("eu/lamp").head.record == 1)
    }

    @Test("a place with something else in it is refused, and so is what is no move")
    func refused() throws {
      let log = try Log()
      let client = try log.open()
      var lamp = ModelWriter("eu/lamp", 1)
      try lamp.write("1", client)
      try EtcdStore(log.shard("foreign"), EtcdOptions()).close()
      func words(_ body: () throws -> Void) -> String {
        do {
          try body()
          return "no error"
        } catch {
          return "\(error)"
        }
      }
      #expect(words { try log.move("eu/", to: "foreign") }.contains("has a log of its own"))
      #expect(words { try log.move("eu", to: "other") }.contains("write it with a slash at its end"))
      try log.move("eu/", to: "other")
      // Again: there is nothing to do, and nothing is lost.
      try log.move("eu/", to: "other")
      #expect(try log.open().load("eu/lamp").head.record == 1)
      #expect(words { try log.change { try $0.takeBack("eu/") } }.contains("is not being moved"))
      // A shard is no log.
      #expect(words { try EtcdStore(log.shard("other"), EtcdOptions()).close() }.contains("name the log's root"))
      #expect(words { _ = try EtcdShards(log.shard("other"), EtcdOptions()) }.contains("name the log's root"))
      #expect(try log.map().shards.map(\.address) == [log.shard("other").description])
    }

    @Test("a hub opens no log whose shard is gone, and a build that knows no shards opens no log that has some")
    func formats() throws {
      let log = try Log()
      _ = try log.open()
      try log.move("eu/", to: "other")
      let value = try #require(try log.value("shop"))
      #expect(value.first == 2)
      #expect(try EtcdValue.readLog(value).map?.entries == [.init("eu/", in: 1)])
      #expect(try log.value("other")?.first == 2)
      _ = try log.server.control("del", "other/log")
      #expect(throws: StoreError.self) { try log.open() }
    }
  }
#endif
