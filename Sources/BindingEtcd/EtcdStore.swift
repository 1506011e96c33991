#if Etcd
  package import BindingHub
  package import BindingProtocol
  import NIOCore
  import NIOPosix
  import Synchronization

  /// A log in etcd that several hubs share (`EtcdKeys` has its format). Its events come on its own event loop.
  package final class EtcdStore: SharedStore, @unchecked Sendable {  // SAFETY: parts are used on the event loop only.
    package let logID: LogID
    package let epoch: Epoch
    package let maxBatchBytes: Int
    let address: EtcdAddress
    private let group: MultiThreadedEventLoopGroup
    let client: EtcdClient
    let log: EtcdLog
    private let appender: EtcdAppender
    private let tail: EtcdTail
    private let reader: EtcdReader
    private let folder: EtcdFolder
    private let upkeep: EtcdUpkeep
    private let isConnected = Mutex(false)
    private let isClosed = Mutex(false)

    /// Opens the log, or makes it. Blocks until a node answers.
    /// - Throws: `StoreError` in one sentence with its cure.
    package convenience init(_ address: EtcdAddress, _ options: EtcdOptions = EtcdOptions()) throws(StoreError) {
      try self.init(address, options, for: .serving)
    }

    /// Opens a log to copy it. Blocks until a node answers.
    /// - Throws: `StoreError` in one sentence with its cure, also where there is no log.
    package convenience init(reading address: EtcdAddress, _ options: EtcdOptions) throws(StoreError) {
      try self.init(address, options, for: .reading)
    }

    /// Opens a log with all its shards, or makes it. Blocks until a node of each answers.
    /// - Parameter isCopied: whether it is opened to be copied.
    /// - Throws: `StoreError` in one sentence with its cure.
    package static func withShards(
      _ address: EtcdAddress, _ options: EtcdOptions, isCopied: Bool = false
    ) throws(StoreError) -> ShardedStore {
      let root = try EtcdStore(address, options, for: isCopied ? .reading : .serving)
      let log = root.log.value
      return try ShardedStore(root, log.map ?? ShardMap()) { shard, isLate throws(StoreError) in
        try EtcdStore(
          EtcdAddress(ofShard: shard.address), options, for: .shard(log.shard(shard.number)), namesAll: isLate)
      }
    }

    /// - Parameter namesAll: whether it names all models that are there, as if it had missed their records.
    init(
      _ address: EtcdAddress, _ options: EtcdOptions, for use: OpenedEtcdLog.Use, namesAll: Bool = false
    ) throws(StoreError) {
      self.address = address
      group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      do throws(StoreError) {
        client = try EtcdClient(loop: group.next(), address, options)
        let opened = try OpenedEtcdLog.open(client, for: use)
        (logID, epoch) = (opened.value.logID, opened.value.epoch)
        log = EtcdLog(client, opened)
        reader = EtcdReader(log)
        folder = EtcdFolder(log)
        let tail = TailReference()
        let appender = EtcdAppender(log) { tail.tail?.deliver($0) }
        self.appender = appender
        let checked = namesAll ? 0 : opened.position
        self.tail = EtcdTail(log, position: opened.position, checked: checked) { [weak appender] in appender }
        tail.tail = self.tail
        maxBatchBytes = appender.maxBatchBytes
        upkeep = try EtcdUpkeep(log) { [weak appender] in appender?.pump() }
      } catch {
        group.shutdownGracefully { _ in }
        throw error
      }
    }

    /// Appender and tail know each other.
    private final class TailReference: @unchecked Sendable {  // SAFETY: written once, before the event loop reads it.
      weak var tail: EtcdTail?
    }

    package var grade: SharedGrade { upkeep.now.grade }

    package var status: SharedStoreStatus {
      let (engine, tail) = (upkeep.now, tail.shown.withLock(\.self))
      return SharedStoreStatus(
        address: address.description, isConnected: isConnected.withLock(\.self), room: engine.room,
        roomReason: engine.roomReason,
        bytes: engine.bytes, quotaBytes: engine.quota, gradeReason: engine.reason, lag: tail.lag,
        losses: tail.losses)
    }

    package func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) {
      run { [self] in
        log.begin(deliver)
        isConnected.withLock { $0 = client.isReady }
        log.tell(.connected(client.isReady))
        tail.begin()
        upkeep.begin()
        client.events.changed = { [weak self] in self?.changed($0) }
        client.events.failed = { [weak self] in self?.log.fail($0) }
      }
    }

    private func changed(_ isReady: Bool) {
      isConnected.withLock { $0 = isReady }
      log.tell(.connected(isReady))
      guard isReady else { return }
      tail.watch()
      appender.pump()
    }

    package func append(_ number: UInt64, _ batches: [SharedBatch]) {
      let known = log.revision
      run { self.appender.append(number, batches, knowing: known) }
    }

    package func load(_ model: String) { run { self.reader.load(model) } }
    package func loadToFold(_ model: String, upTo record: UInt64) {
      run { self.reader.loadToFold(model, upTo: record) }
    }

    package func head(of model: String) { run { self.reader.head(of: model) } }

    package func sync(_ number: UInt64) { run { self.tail.sync(number) } }

    package func list(prefix: String, after: String, limit: Int) {
      run { self.reader.list(prefix: prefix, after: after, limit: min(max(limit, 1), 1_000)) }
    }

    package func fold(_ fold: SharedFold) { run { self.folder.fold(fold) } }

    package func history(_ query: HistoryQuery) { run { self.reader.history(query) } }

    package func close() {
      guard
        !isClosed.withLock({ isClosed in
          defer { isClosed = true }
          return isClosed
        })
      else { return }
      let done = client.loop.makePromise(of: Void.self)
      client.loop.execute { [self] in
        log.end()
        tail.end()
        upkeep.end()
        client.close()
        done.succeed()
      }
      try? done.futureResult.wait()
      upkeep.join()
      group.shutdownGracefully { _ in }
    }

    /// Takes this for the room, whatever etcd says. For tests.
    func pretend(_ room: SharedRoom?) throws {
      try client.loop.submit { [self] in upkeep.pretend(room) }.wait()
    }

    /// The event loop ends with the store.
    private func run(_ body: @escaping @Sendable () -> Void) {
      isClosed.withLock { if !$0 { client.loop.execute(body) } }
    }
  }
#endif
