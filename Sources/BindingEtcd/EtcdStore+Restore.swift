#if Etcd
  package import BindingHub
  package import BindingProtocol

  extension EtcdStore {
    /// Makes a log with this id and epoch that `body` fills. No hub can open it before that is done; where it was
    /// interrupted, the next restore of the same log begins again. Blocks.
    /// - Throws: `StoreError` where another log is there, and what `body` throws.
    package static func restore(
      logID: LogID, epoch: Epoch, to address: EtcdAddress, _ options: EtcdOptions,
      _ body: (EtcdStore) throws(StoreError) -> Void
    ) throws(StoreError) {
      let restored = EtcdValue.Log(logID: logID, epoch: epoch, isRestoring: true)
      let store = try EtcdStore(address, options, for: .restoring(restored))
      defer { store.close() }
      // What an interrupted restore has left. Its epoch stays.
      var removal = store.log.transaction()
      for kind in store.log.keys.kinds { removal.delete(kind, end: EtcdKeys.end(of: kind)) }
      try store.carryOut(removal)
      try body(store)
      let (key, value) = (store.log.keys.log, EtcdValue.write(EtcdValue.Log(logID: logID, epoch: store.epoch)))
      var end = store.log.transaction()
      end.put(key, value)
      end.readOtherwise(EtcdRange(key: key))
      try store.carryOut(end, unlessThereIs: value)
    }

    /// Tries until etcd answers.
    /// - Parameter value: what the log's key has once it is carried out, by an earlier try perhaps.
    private func carryOut(_ transaction: EtcdTransaction, unlessThereIs value: [UInt8]? = nil) throws(StoreError) {
      let response = try OpenedEtcdLog.ask(
        client, Refusal(), EtcdClient.transaction, transaction.bytes, within: .seconds(30), EtcdTransactionResponse.init
      )
      guard !response.succeeded else { return }
      guard let value, response.ranges.first?.entries.first?.value == value else {
        throw StoreError("another log is in \(address) now: stop whoever writes there", .replaced)
      }
    }
  }
#endif
