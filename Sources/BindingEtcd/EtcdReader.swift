#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore

  /// Reads models, heads and lists. Each is tried until it is answered. All of it is on the event loop.
  final class EtcdReader: @unchecked Sendable {  // SAFETY: see above.
    private static let recordsAtOnce = 256
    private static let chunksAtOnce = 8

    private let log: EtcdLog

    init(_ log: EtcdLog) { self.log = log }

    // MARK: Heads

    func head(of model: String) {
      read([EtcdRange(key: log.keys.head(model))]) { [self] result in
        take(result, else: { self.head(of: model) }) { response throws(StoreError) in
          log.tell(
            .head(
              try response.ranges[0].entries.first.map { entry throws(StoreError) in
                try EtcdValue.readHead(model, entry)
              } ?? SharedHead(model)))
        }
      }
    }

    func list(prefix: String, after: String, limit: Int, _ found: [SharedHead] = [], from key: [UInt8]? = nil) {
      let first = log.keys.heads(prefix)
      var start = key ?? first
      if key == nil, !after.isEmpty {
        let next = log.keys.head(after) + [0]
        if first.lexicographicallyPrecedes(next) { start = next }
      }
      let end = EtcdKeys.end(of: first)
      guard start.lexicographicallyPrecedes(end) else { return log.tell(.listed(prefix: prefix, found, isLast: true)) }
      let range = EtcdRange(key: start, end: end, limit: limit + 1 - found.count)
      read([range]) { [self] result in
        take(result, else: { self.list(prefix: prefix, after: after, limit: limit, found, from: start) }) {
          answer throws(StoreError) in
          let response = answer.ranges[0]
          var heads = found
          for entry in response.entries {
            guard let model = log.keys.model(ofHead: entry.key) else { continue }
            let head = try EtcdValue.readHead(model, entry)
            if !head.isRemoved { heads.append(head) }
          }
          if heads.count <= limit, response.hasMore, let last = response.entries.last {
            return list(prefix: prefix, after: after, limit: limit, heads, from: last.key + [0])
          }
          log.tell(.listed(prefix: prefix, Array(heads.prefix(limit)), isLast: heads.count <= limit))
        }
      }
    }

    // MARK: Models

    /// One model as it is at one revision, on its way.
    private struct Loading {
      var head: SharedHead
      /// The key before which the records end.
      var end: [UInt8]
      var fold: EtcdValue.Fold?
      var stored: StoredModel
      /// What all its keys are read at.
      var revision: SharedRevision
    }

    func load(_ model: String) { load(model) { [self] head, result in log.tell(.loaded(head, result)) } }

    func loadToFold(_ model: String, upTo record: UInt64) {
      load(model, before: log.keys.record(model, record + 1)) { [self] _, result in log.tell(.foldable(model, result)) }
    }

    func history(_ query: HistoryQuery) {
      load(query.model) { [self] _, result in
        log.tell(.history(query, result.map { HistoryAnswer(query, of: $0?.batches ?? []) }))
      }
    }

    /// - Parameter end: the key before which the records end; nil: all are read.
    private func load(
      _ model: String, before end: [UInt8]? = nil,
      _ then: @escaping (SharedHead, Result<StoredModel?, StoreError>) -> Void
    ) {
      let keys = log.keys
      let records = keys.records(model)
      let last = end ?? EtcdKeys.end(of: records)
      let ranges = [
        EtcdRange(key: keys.head(model)), EtcdRange(key: keys.fold(model)),
        EtcdRange(key: records, end: last, limit: EtcdReader.recordsAtOnce),
      ]
      read(ranges) { [self] result in
        let again = { self.load(model, before: end, then) }
        take(result, else: again) { response throws(StoreError) in
          do throws(StoreError) {
            let found = try response.ranges[0].entries.first.map { entry throws(StoreError) in
              try EtcdValue.readHead(model, entry)
            }
            guard let head = found, !head.isRemoved else { return then(found ?? SharedHead(model), .success(nil)) }
            let fold = try response.ranges[1].entries.first.map { entry throws(StoreError) in
              try EtcdValue.readFold(model, entry.value)
            }
            let stored = StoredModel(model: model, batches: [])
            var loading = Loading(head: head, end: last, fold: fold, stored: stored, revision: response.revision)
            let more = try add(response.ranges[2], to: &loading)
            readOn(loading, from: more, again, then)
          } catch {
            then(SharedHead(model), .failure(error))
          }
        }
      }
    }

    /// Adds records.
    /// - Returns: the key from which there are more; nil: that was all.
    private func add(_ response: EtcdRangeResponse, to loading: inout Loading) throws(StoreError) -> [UInt8]? {
      for entry in response.entries {
        let batch = try EtcdValue.readRecord(entry).batch
        // What was there before the model was removed is of another life.
        if batch.form == .removal { loading.stored.batches.removeAll() } else { loading.stored.batches.append(batch) }
      }
      return response.hasMore ? response.entries.last.map { $0.key + [0] } : nil
    }

    private func readOn(
      _ loading: Loading, from key: [UInt8]?, _ again: @escaping () -> Void,
      _ then: @escaping (SharedHead, Result<StoredModel?, StoreError>) -> Void
    ) {
      guard let key else { return readChunks(loading, from: 0, again, then) }
      let range = EtcdRange(
        key: key, end: loading.end, limit: EtcdReader.recordsAtOnce, revision: loading.revision)
      log.call(EtcdClient.range, range.bytes, EtcdRangeResponse.init) { [self] result in
        take(result, else: again) { response in
          do throws(StoreError) {
            var loading = loading
            let more = try add(response, to: &loading)
            readOn(loading, from: more, again, then)
          } catch {
            then(loading.head, .failure(error))
          }
        }
      }
    }

    private func readChunks(
      _ loading: Loading, from number: UInt32, _ again: @escaping () -> Void,
      _ then: @escaping (SharedHead, Result<StoredModel?, StoreError>) -> Void
    ) {
      guard let fold = loading.fold, number < fold.count else { return then(loading.head, .success(loading.stored)) }
      let (model, keys) = (loading.head.model, log.keys)
      let range = EtcdRange(
        key: keys.chunk(model, fold.generation, number), end: EtcdKeys.end(of: keys.chunks(model, fold.generation)),
        limit: EtcdReader.chunksAtOnce, revision: loading.revision)
      log.call(EtcdClient.range, range.bytes, EtcdRangeResponse.init) { [self] result in
        take(result, else: again) { response in
          do throws(StoreError) {
            var loading = loading
            guard !response.entries.isEmpty else {
              throw StoreError("\(model): chunks \(number) to \(fold.count) of its fold are missing in etcd", .damaged)
            }
            for entry in response.entries { loading.stored.chunks += try EtcdValue.readChunks(model, entry.value) }
            readChunks(loading, from: number + UInt32(response.entries.count), again, then)
          } catch {
            then(loading.head, .failure(error))
          }
        }
      }
    }

    // MARK: Answers

    /// Reads ranges at one moment at which the log's shards are as they are known here.
    private func read(
      _ ranges: [EtcdRange], _ then: @escaping (Result<EtcdTransactionResponse, EtcdClient.Failure>) -> Void
    ) {
      var transaction = EtcdTransaction()
      for range in ranges { transaction.read(range) }
      transaction.read(EtcdRange(key: log.keys.log))
      let asked = log.revision
      log.call(EtcdClient.transaction, transaction.bytes, EtcdTransactionResponse.init) { [self] result in
        guard case .success(let response) = result else { return then(result) }
        guard response.ranges.count == ranges.count + 1 else { return then(.failure(.lost("etcd has not read all"))) }
        switch log.check(response.ranges.last?.entries.first, asked: asked) {
        case .asBefore: then(result)
        case .resharded: then(.failure(.lost("the shards of the log have changed")))
        case .ended: break
        }
      }
    }

    /// Takes an answer; tries `again` where there is none, also where the revision is compacted meanwhile.
    private func take<Response>(
      _ result: Result<Response, EtcdClient.Failure>, else again: @escaping () -> Void,
      _ body: (Response) throws(StoreError) -> Void
    ) {
      switch result {
      case .success(let response):
        do throws(StoreError) { try body(response) } catch { log.fail(error) }
      case .failure(.lost): later(again)
      case .failure(.refused(_, let text)):
        let error = try? EtcdCredentials(log.client.options).error(text, log.client.address)
        if let error { log.fail(error) } else { later(again) }
      }
    }

    private func later(_ again: @escaping () -> Void) {
      log.client.loop.after(.milliseconds(50)) { again() }
    }
  }
#endif
