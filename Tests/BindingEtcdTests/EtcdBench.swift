#if Etcd
  import BindingHub
  import BindingProtocol
  import EtcdServer
  import Foundation
  import NIOCore
  import NIOPosix
  import StoreContract
  import Synchronization

  @testable import BindingEtcd

  /// The contract over one node of etcd, each handle through a proxy of its own.
  final class EtcdBench: SharedStoreBench {
    let server: EtcdServer
    private let prefix: String
    private let handles = Mutex<[(client: SharedStoreClient, store: EtcdStore, proxy: FaultProxy)]>([])

    /// - Parameter server: several benches may share one, each with its own prefix.
    init(_ server: EtcdServer) {
      self.server = server
      prefix = "test-\(UUID().uuidString)"
      // The log of the contract's epoch.
      let value = EtcdValue.write(EtcdValue.Log(logID: 3, epoch: ModelWriter.epoch))
      _ = try? server.put(EtcdKeys(prefix).log, value)
    }

    deinit { close() }

    func close() {
      let all = handles.withLock { handles in
        defer { handles = [] }
        return handles
      }
      for handle in all {
        handle.store.close()
        handle.proxy.close()
      }
    }

    func open(_ faults: SharedStoreFaults) throws -> SharedStoreClient {
      let proxy = try FaultProxy(to: server.nodes[0].clientPort)
      var options = EtcdOptions()
      options.appendTimeout = .seconds(faults == .silent ? 2 : 20)
      options.callTimeout = .milliseconds(faults == .lost || faults == .mixed ? 700 : 1_000)
      let address = EtcdAddress(endpoints: [EtcdEndpoint(host: "127.0.0.1", port: proxy.port)], prefix: prefix)
      let store = try EtcdStore(address, options)
      let client = SharedStoreClient(store) { usleep(2_000) }
      switch faults {
      case .none: break
      case .late: try proxy.setDelay(.milliseconds(30))
      case .lost, .repeated: try proxy.setCutEvery(7)
      case .mixed:
        try proxy.setDelay(.milliseconds(5))
        try proxy.setCutEvery(11)
      case .silent:
        try client.wait(until: "its tail") { client.all.count >= 2 }
        try proxy.setSilent(true)
        DispatchQueue.global().async {
          _ = try? client.wait("unknown", seconds: 60) { event in
            if case .appended(_, let answers) = event, answers.contains(where: { $0.result == .unknown }) {
              true
            } else {
              nil
            }
          }
          try? proxy.setSilent(false)
        }
      }
      handles.withLock { $0.append((client, store, proxy)) }
      return client
    }

    private func handle(_ client: SharedStoreClient) -> (store: EtcdStore, proxy: FaultProxy)? {
      handles.withLock { $0.first { $0.client === client }.map { ($0.store, $0.proxy) } }
    }

    func setHeld(_ isHeld: Bool, _ client: SharedStoreClient) throws {
      try handle(client)?.proxy.setHeld(isHeld)
    }

    func compact() throws { try server.compact() }

    func setRoom(_ room: SharedRoom) throws {
      for handle in handles.withLock(\.self) { try handle.store.pretend(room) }
    }

    func beginEpoch() throws {
      let value = EtcdValue.write(EtcdValue.Log(logID: 3, epoch: ModelWriter.epoch + 1))
      try server.put(EtcdKeys(prefix).log, value)
    }

    func chunkKeys(of model: String) throws -> Int? {
      // The loser revokes its lease after it has told its result.
      var count = -1
      for _ in 0..<100 {
        let now = try server.keys(EtcdKeys(prefix).allChunks(model))
        if now == count { return now }
        count = now
        usleep(50_000)
      }
      return count
    }
  }

  extension EtcdServer {
    /// Writes a key past the store.
    func put(_ key: [UInt8], _ value: [UInt8]) throws {
      var transaction = EtcdTransaction()
      transaction.put(key, value)
      _ = try call(EtcdClient.transaction, transaction.bytes)
    }

    /// The number of keys that begin with these bytes.
    func keys(_ prefix: [UInt8]) throws -> Int {
      let range = EtcdRange(key: prefix, end: EtcdKeys.end(of: prefix), keysOnly: true)
      return try EtcdRangeResponse(call(EtcdClient.range, range.bytes)[...]).entries.count
    }

    /// Compacts all history.
    func compact() throws {
      let revision = try EtcdRangeResponse(call(EtcdClient.range, EtcdRange(key: [0]).bytes)[...]).revision
      _ = try call("/etcdserverpb.KV/Compact", EtcdRequest.number(1, revision) + [0x10, 1])
    }

    /// Calls a method of the first node that answers.
    func call(_ path: String, _ message: [UInt8]) throws -> [UInt8] {
      let address = try EtcdAddress("etcd://\(addresses)/none")
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      defer { try? group.syncShutdownGracefully() }
      let client = try EtcdClient(loop: group.next(), address, EtcdOptions())
      client.start()
      for _ in 0..<40 {
        if let answer = try? client.future(path, message).wait() {
          client.loop.execute { client.close() }
          return answer
        }
      }
      throw StartError(description: "etcd does not answer")
    }
  }
#endif
