#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore

  /// Appends batches: many of different models in one transaction, several transactions under way. All of it is on the
  /// event loop.
  final class EtcdAppender: @unchecked Sendable {  // SAFETY: see above.
    private struct Entry {
      var number: UInt64
      var append: SharedBatch
      var value: [UInt8]
      /// About its bytes in a transaction: the record, and six keys.
      var size: Int
      /// The revision of `b/log` when it was passed on. Once that is another, its model may be in another shard.
      var known: SharedRevision
      /// A removal also deletes what was there.
      var operations: Int { append.batch.form == .removal ? 5 : 2 }
    }
    /// Transactions under way at a time.
    private static let maxUnderWay = 4
    /// Records that a failed transaction reads of each model.
    private static let recordsTold = 8

    private let log: EtcdLog
    private let tail: (OpenAppends.Output) -> Void
    var appends = OpenAppends()
    private var queue: [Entry] = []
    private var underWay = 0
    private var isPausing = false

    /// - Parameter tail: delivers records that waited for an answer.
    init(_ log: EtcdLog, _ tail: @escaping (OpenAppends.Output) -> Void) {
      self.log = log
      self.tail = tail
    }

    /// The largest batch, as `Batch.write` writes it.
    var maxBatchBytes: Int { log.maxBytes - EtcdLimits.overhead - 1 }

    func append(_ number: UInt64, _ batches: [SharedBatch], knowing known: SharedRevision) {
      appends.add(number, batches)
      for batch in batches {
        let value = EtcdValue.write(batch.batch)
        let size = value.count + 6 * log.keys.head(batch.batch.model).count + 160
        let entry = Entry(number: number, append: batch, value: value, size: size, known: known)
        if entry.value.count - 1 > maxBatchBytes {
          answer([entry], .tooLarge)
        } else if !hasRoom(batch.batch) {
          answer([entry], .full)
        } else {
          queue.append(entry)
        }
      }
      log.client.loop.after(TimeAmount(log.client.options.appendTimeout)) { [self] in
        give(up: number, batches.map(\.batch.model))
      }
      pump()
    }

    private func hasRoom(_ batch: Batch) -> Bool { log.room < .full || batch.form == .removal }

    private func give(up number: UInt64, _ models: [String]) {
      queue.removeAll { $0.number == number }
      var output = OpenAppends.Output()
      for model in models { appends.take(.unknown, to: number, of: model, into: &output) }
      tell(output)
    }

    private func answer(_ entries: [Entry], _ result: SharedAppended) {
      var output = OpenAppends.Output()
      for entry in entries { appends.take(result, to: entry.number, of: entry.append.batch.model, into: &output) }
      tell(output)
    }

    private func tell(_ output: OpenAppends.Output) { if !output.isEmpty { tail(output) } }

    // MARK: Transactions

    /// Sends what waits.
    func pump() {
      guard log.client.isReady, !isPausing else { return }
      // What the tail has answered meanwhile goes nowhere.
      if !queue.isEmpty { queue.removeAll { !appends.isOpen($0.number, $0.append.batch.model) } }
      giveBackOutdated()
      while underWay < EtcdAppender.maxUnderWay, !queue.isEmpty { send(takeFitting()) }
    }

    /// The first entries that fit into one transaction; at least one.
    private func takeFitting() -> [Entry] {
      var (operations, bytes, count) = (0, 0, 0)
      for entry in queue {
        operations += max(entry.operations, 2)
        bytes += entry.size
        // One operation of the failures reads the log.
        guard count == 0 || operations < log.maxOperations && bytes <= log.maxBytes else { break }
        count += 1
      }
      defer { queue.removeFirst(count) }
      return Array(queue.prefix(count))
    }

    private func send(_ entries: [Entry]) {
      var transaction = log.transaction()
      let keys = log.keys
      for entry in entries {
        let (batch, head) = (entry.append.batch, keys.head(entry.append.batch.model))
        transaction.compare(head, modRevision: entry.append.after)
        if batch.form == .removal {
          transaction.delete(keys.records(batch.model), end: keys.record(batch.model, batch.record))
          transaction.delete(keys.allChunks(batch.model), end: EtcdKeys.end(of: keys.allChunks(batch.model)))
          transaction.delete(keys.fold(batch.model))
        }
        transaction.put(head, EtcdValue.write(headAfter: batch))
        transaction.put(keys.record(batch.model, batch.record), entry.value)
        transaction.readOtherwise(EtcdRange(key: head))
        let records = keys.records(batch.model)
        transaction.readOtherwise(
          EtcdRange(
            key: keys.record(batch.model, batch.record), end: EtcdKeys.end(of: records), limit: EtcdAppender.recordsTold
          ))
      }
      transaction.readOtherwise(EtcdRange(key: keys.log))
      underWay += 1
      log.wrote(transaction.size)
      let asked = log.revision
      log.call(EtcdClient.transaction, transaction.bytes, EtcdTransactionResponse.init) { [self] result in
        underWay -= 1
        take(result, to: entries, asked: asked)
        pump()
      }
    }

    private func take(
      _ result: Result<EtcdTransactionResponse, EtcdClient.Failure>, to entries: [Entry], asked: SharedRevision
    ) {
      switch result {
      case .success(let response):
        guard !response.succeeded else { return answer(entries, .stored(response.revision)) }
        guard response.ranges.count == entries.count * 2 + 1 else { return }
        if case .ended = log.check(response.ranges.last?.entries.first, asked: asked) { return }
        if entries.contains(where: { $0.known != log.revision }) {
          queue.insert(contentsOf: entries, at: 0)
          giveBackOutdated()
        } else {
          settle(entries, response.ranges)
        }
      case .failure(.lost): again(entries)
      case .failure(.refused(_, let text)): take(refusal: text, of: entries)
      }
    }

    /// Takes what stands in the log instead of these batches.
    private func settle(_ entries: [Entry], _ ranges: [EtcdRangeResponse]) {
      var output = OpenAppends.Output()
      var others: [Entry] = []
      for (index, entry) in entries.enumerated() {
        let model = entry.append.batch.model
        do throws(StoreError) {
          let found = ranges[index * 2].entries.first
          guard found?.modRevision ?? 0 != entry.append.after else {
            // Another batch of the transaction failed.
            others.append(entry)
            continue
          }
          // Deleted by hand: nothing is known of the model, and nothing was stored.
          let head =
            try found.map { entry throws(StoreError) in try EtcdValue.readHead(model, entry) } ?? SharedHead(model)
          var records: [SharedRecord] = []
          for entry in ranges[index * 2 + 1].entries { records.append(try EtcdValue.readRecord(entry)) }
          appends.take(records, head: head, to: entry.number, of: model, into: &output)
        } catch {
          return log.fail(error)
        }
      }
      queue.insert(contentsOf: others, at: 0)
      tell(output)
    }

    /// Answers what waits and was passed on before what is in which shard has changed. It may be stored by an earlier
    /// try.
    private func giveBackOutdated() {
      let revision = log.revision
      let outdated = queue.filter { $0.known != revision }
      guard !outdated.isEmpty else { return }
      queue.removeAll { $0.known != revision }
      answer(outdated, .unknown)
    }

    private func take(refusal text: String, of entries: [Entry]) {
      if text.contains("database space exceeded") {
        log.room = .onlyRemovals
        return answer(entries, .full)
      }
      if text.contains("too many operations") || text.contains("too large") || text.contains("larger than max") {
        guard entries.count > 1 else { return answer(entries, .tooLarge) }
        // The node has smaller limits than the one that was asked at opening.
        log.maxOperations = max(8, entries.count)
        log.maxBytes = max(131_072, log.maxBytes / 2)
        return again(entries)
      }
      if let error = try? EtcdCredentials(log.client.options).error(text, log.client.address) { return log.fail(error) }
      again(entries)
    }

    /// Sends the same bytes once more, a little later.
    private func again(_ entries: [Entry]) {
      queue.insert(contentsOf: entries, at: 0)
      guard !isPausing else { return }
      isPausing = true
      log.client.loop.after(.milliseconds(20)) { [self] in
        isPausing = false
        pump()
      }
    }
  }
#endif
