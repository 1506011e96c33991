#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore

  /// Folds models, one after the other. All of it is on the event loop.
  ///
  /// The chunks are written first, under a lease: if this hub ends before they are in force, etcd deletes them after
  /// ten minutes. One transaction then puts them in force, frees them of the lease, and deletes what they replace. It
  /// compares the fold that they were to replace and the last record that they contain: whichever other fold or removal
  /// was first, one of the two has changed.
  final class EtcdFolder: @unchecked Sendable {  // SAFETY: see above.
    private static let leaseSeconds: UInt64 = 600
    private static let tries = 20

    private struct Work {
      var fold: SharedFold
      var generation: [UInt8]
      var values: [[UInt8]] = []
      var lease: UInt64 = 0
      /// The fold in force at the beginning, and the revision of that; 0: none.
      var replaced: EtcdValue.Fold?
      var seen: SharedRevision = 0
      var triesLeft = EtcdFolder.tries
    }

    private let log: EtcdLog
    private var waiting: [SharedFold] = []
    private var isWorking = false

    init(_ log: EtcdLog) { self.log = log }

    func fold(_ fold: SharedFold) {
      waiting.append(fold)
      next()
    }

    private func next() {
      guard !isWorking, !waiting.isEmpty else { return }
      isWorking = true
      let fold = waiting.removeFirst()
      var work = Work(
        fold: fold,
        generation: EtcdKeys.bigEndian(fold.revision) + EtcdKeys.bigEndian(.random(in: 1 ... .max)))
      // Several chunks a key, for one transaction has to name all keys.
      var start = fold.chunks.startIndex
      var bytes = 0
      for (index, chunk) in fold.chunks.enumerated() {
        if index > start, bytes + chunk.count + 4 > log.maxBytes * 3 / 4 {
          work.values.append(EtcdValue.write(fold.chunks[start..<index]))
          (start, bytes) = (index, 0)
        }
        bytes += chunk.count + 4
      }
      work.values.append(EtcdValue.write(fold.chunks[start...]))
      let limit = log.maxBytes - EtcdLimits.overhead
      if work.values.count > log.maxOperations - 4 || work.values.contains(where: { $0.count > limit }) {
        return end(work, .refused("\(fold.model) is too large to be folded: its chunks have \(bytes) bytes and more"))
      }
      guard log.room < .onlyRemovals else {
        return end(work, .refused("etcd has no room: its quota is used up; compact and defragment it"))
      }
      look(work)
    }

    private func end(_ work: Work, _ result: SharedFolded) {
      // With the lease go the chunks that are not in force; those in force are free of it.
      if work.lease > 0 { revoke(work.lease) }
      log.tell(.folded(work.fold.model, result))
      isWorking = false
      next()
    }

    private func revoke(_ lease: UInt64, triesLeft: Int = 3) {
      log.client.call("/etcdserverpb.Lease/LeaseRevoke", EtcdRequest.number(1, lease)) { [self] answer in
        if case .failure(.lost) = answer, triesLeft > 0 { revoke(lease, triesLeft: triesLeft - 1) }
      }
    }

    // MARK: Step by step

    /// Reads the fold in force.
    private func look(_ work: Work) {
      let range = EtcdRange(key: log.keys.fold(work.fold.model))
      log.call(EtcdClient.range, range.bytes, EtcdRangeResponse.init) { [self] result in
        take(result, work, look) { response, work in
          work.seen = response.entries.first?.modRevision ?? 0
          do throws(StoreError) {
            work.replaced = try response.entries.first.map { entry throws(StoreError) in
              try EtcdValue.readFold(work.fold.model, entry.value)
            }
          } catch {
            return end(work, .refused(error.description))
          }
          lease(work)
        }
      }
    }

    private func lease(_ work: Work) {
      let message = EtcdRequest.number(1, EtcdFolder.leaseSeconds)
      let decode = { (bytes: ArraySlice<UInt8>) throws(ProtobufError) in try EtcdResponse.number(2, bytes) }
      log.call("/etcdserverpb.Lease/LeaseGrant", message, decode) { [self] result in
        take(result, work, lease) { lease, work in
          work.lease = lease
          put(work, 0)
        }
      }
    }

    private func put(_ work: Work, _ number: Int) {
      guard number < work.values.count else { return switchOver(work) }
      var transaction = log.transaction()
      let key = log.keys.chunk(work.fold.model, work.generation, UInt32(number))
      transaction.put(key, work.values[number], lease: work.lease)
      transaction.readOtherwise(EtcdRange(key: log.keys.log))
      log.wrote(transaction.size)
      let asked = log.revision
      log.call(EtcdClient.transaction, transaction.bytes, EtcdTransactionResponse.init) { [self] result in
        take(result, work, { self.put($0, number) }) { response, work in
          guard response.succeeded || isGoing(work, log.check(response.ranges.last?.entries.first, asked: asked))
          else { return }
          put(work, number + 1)
        }
      }
    }

    private func switchOver(_ work: Work) {
      let (keys, fold) = (log.keys, work.fold)
      var transaction = log.transaction()
      transaction.compare(keys.record(fold.model, fold.record), modRevision: fold.revision)
      transaction.compare(keys.fold(fold.model), modRevision: work.seen)
      let count = UInt32(work.values.count)
      transaction.put(
        keys.fold(fold.model),
        EtcdValue.write(EtcdValue.Fold(record: fold.record, generation: work.generation, count: count)))
      for number in 0..<count { transaction.keep(keys.chunk(fold.model, work.generation, number)) }
      transaction.delete(keys.records(fold.model), end: keys.record(fold.model, fold.record))
      if let replaced = work.replaced {
        let chunks = keys.chunks(fold.model, replaced.generation)
        transaction.delete(chunks, end: EtcdKeys.end(of: chunks))
      }
      transaction.readOtherwise(EtcdRange(key: keys.fold(fold.model)))
      transaction.readOtherwise(EtcdRange(key: keys.log))
      let asked = log.revision
      log.call(EtcdClient.transaction, transaction.bytes, EtcdTransactionResponse.init) { [self] result in
        take(result, work, switchOver) { response, work in
          if response.succeeded { return end(work, .folded) }
          guard isGoing(work, log.check(response.ranges.last?.entries.first, asked: asked)) else { return }
          // An earlier try of this may have been carried out without an answer.
          let now = response.ranges.first?.entries.first
          let isOwn = now.flatMap { try? EtcdValue.readFold(fold.model, $0.value) }?.generation == work.generation
          end(work, isOwn ? .folded : .outrun)
        }
      }
    }

    /// Whether to go on with a fold. Its model may be in another shard now.
    private func isGoing(_ work: Work, _ standing: EtcdLog.Standing) -> Bool {
      if case .resharded = standing { end(work, .outrun) }
      if case .asBefore = standing { return true }
      return false
    }

    private func take<Response>(
      _ result: Result<Response, EtcdClient.Failure>, _ work: Work, _ again: @escaping (Work) -> Void,
      _ body: (Response, inout Work) -> Void
    ) {
      var work = work
      switch result {
      case .success(let response): body(response, &work)
      case .failure(.refused(_, let text)): end(work, .refused("etcd refuses: \(text)"))
      case .failure(.lost(let text)):
        work.triesLeft -= 1
        guard work.triesLeft > 0 else { return end(work, .refused("etcd does not answer: \(text)")) }
        let next = work
        log.client.loop.after(.milliseconds(100)) { again(next) }
      }
    }
  }
#endif
