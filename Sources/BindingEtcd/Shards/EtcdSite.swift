#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore

  /// An engine with a log or a shard of one, for tools: its calls block until they are answered.
  final class EtcdSite {
    let address: EtcdAddress
    let keys: EtcdKeys
    /// Operations of one transaction, and its bytes, as the server takes them.
    let maxOperations: Int
    let maxBytes: Int
    private let client: EtcdClient
    /// How long a call is tried.
    private static let patience = Duration.seconds(30)

    /// Opens it. Blocks until a node answers.
    init(
      _ address: EtcdAddress, _ options: EtcdOptions, _ loop: any EventLoop, for use: OpenedEtcdLog.Use
    ) throws(StoreError) {
      self.address = address
      keys = EtcdKeys(address.prefix)
      client = try EtcdClient(loop: loop, address, options)
      let opened = try OpenedEtcdLog.open(client, for: use)
      (maxOperations, maxBytes) = (opened.maxOperations, opened.maxBytes)
    }

    func close() {
      let client = client
      client.loop.execute { client.close() }
    }

    // MARK: Calls

    func range(_ range: EtcdRange) throws(StoreError) -> EtcdRangeResponse {
      try OpenedEtcdLog.ask(
        client, Refusal(), EtcdClient.range, range.bytes, within: EtcdSite.patience, EtcdRangeResponse.init)
    }

    /// Carries a transaction out, perhaps more than once.
    func carryOut(_ transaction: EtcdTransaction) throws(StoreError) -> EtcdTransactionResponse {
      try OpenedEtcdLog.ask(
        client, Refusal(), EtcdClient.transaction, transaction.bytes, within: EtcdSite.patience,
        EtcdTransactionResponse.init)
    }

    /// Reads several ranges at one moment.
    func read(_ ranges: [EtcdRange]) throws(StoreError) -> EtcdTransactionResponse {
      var transaction = EtcdTransaction()
      for range in ranges { transaction.read(range) }
      let response = try carryOut(transaction)
      guard response.ranges.count == ranges.count else {
        throw StoreError("etcd at \(address) has not read all that it was asked for")
      }
      return response
    }

    /// Passes the keys and values of a range to `each`, page by page, all as they are at one moment.
    func readAll(
      from first: [UInt8], _ each: (EtcdKeyValue) throws(StoreError) -> Void
    ) throws(StoreError) {
      var (key, revision): ([UInt8], UInt64) = (first, 0)
      while true {
        let response = try range(
          EtcdRange(key: key, end: EtcdKeys.end(of: first), limit: 2_000, revision: revision))
        if revision == 0 { revision = response.revision }
        for entry in response.entries { try each(entry) }
        guard response.hasMore, let last = response.entries.last else { return }
        key = last.key + [0]
      }
    }

    // MARK: The log

    func log() throws(StoreError) -> (value: EtcdValue.Log, revision: SharedRevision) {
      guard let entry = try range(EtcdRange(key: keys.log)).entries.first else {
        throw StoreError("the log was deleted from \(address)", .gone)
      }
      return (try EtcdValue.readLog(entry.value), entry.modRevision)
    }

    /// Changes what `b/log` has.
    /// - Parameter body: returns whether there is something to change. Called again where somebody else was first.
    func changeLog(_ body: (inout EtcdValue.Log) throws(StoreError) -> Bool) throws(StoreError) {
      while true {
        var (value, revision) = try log()
        guard try body(&value) else { return }
        var transaction = EtcdTransaction()
        transaction.compare(keys.log, modRevision: revision)
        transaction.put(keys.log, EtcdValue.write(value))
        // Where the answer was lost, the next reading shows that there is nothing to change any more.
        if try carryOut(transaction).succeeded { return }
      }
    }

    /// Makes every hub ask the log's root where models are, before it stores anything more here.
    func raiseFence() throws(StoreError) {
      var raised: UInt64?
      try changeLog { log throws(StoreError) in
        guard case .shard(let number, let fence) = log.role else {
          throw StoreError("\(address) is no shard any more", .replaced)
        }
        if let raised, fence >= raised { return false }
        raised = fence + 1
        log.role = .shard(number: number, fence: fence + 1)
        return true
      }
    }
  }
#endif
