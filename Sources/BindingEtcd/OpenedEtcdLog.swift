#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore
  import Synchronization

  /// What opening found.
  struct OpenedEtcdLog: Sendable {
    var value: EtcdValue.Log
    var revision: SharedRevision
    /// The revision now, from which the tail goes on.
    var position: SharedRevision
    var maxOperations: Int
    var maxBytes: Int
    var version: String

    /// What a log is opened for.
    enum Use {
      /// By a hub, which makes it if there is none.
      case serving
      /// To be copied.
      case reading
      /// To be made as this log, by a restore.
      case restoring(EtcdValue.Log)
      /// By a hub, as this shard of a log.
      case shard(EtcdValue.Log)
      /// To be made as this shard, unless it is one already.
      case makingShard(EtcdValue.Log)
    }

    /// Connects, and opens the log, or makes it. Blocks; not to be called on the client's loop.
    /// - Throws: `StoreError` with what to do.
    static func open(_ client: EtcdClient, for use: Use = .serving) throws(StoreError) -> OpenedEtcdLog {
      let box = Refusal()
      client.events.failed = { error in box.error.withLock { $0 = $0 ?? error } }
      client.start()
      do throws(StoreError) {
        return try OpenedEtcdLog(client, box, use)
      } catch {
        client.loop.execute { client.close() }
        throw error
      }
    }

    private init(_ client: EtcdClient, _ refusal: Refusal, _ use: Use) throws(StoreError) {
      let keys = EtcdKeys(client.address.prefix)
      let status = try OpenedEtcdLog.ask(client, refusal, "/etcdserverpb.Maintenance/Status", [], EtcdStatus.init)
      version = status.version
      guard EtcdVersion(version).map({ $0 >= EtcdVersion(3, 4, 0) }) ?? false else {
        throw StoreError("etcd at \(client.address) has version \(version); 3.4 or later is needed", .cannotOpen)
      }
      var found = try OpenedEtcdLog.read(client, refusal, keys)
      if found.entries.isEmpty {
        let new: EtcdValue.Log
        switch use {
        case .serving:
          new = .init(logID: .random(in: 1 ... .max), epoch: UInt64(UInt32.random(in: 1 ... .max)) | 1 << 32)
        case .restoring(let log), .makingShard(let log): new = log
        case .shard: throw StoreError("a shard of the log was deleted from \(client.address): restore it", .gone)
        case .reading: throw StoreError("there is no log in \(client.address): correct the prefix", .cannotOpen)
        }
        var birth = EtcdTransaction()
        // Another hub may be opening it at this moment.
        birth.compare(keys.log, modRevision: 0)
        birth.put(keys.log, EtcdValue.write(new))
        _ = try OpenedEtcdLog.ask(client, refusal, EtcdClient.transaction, birth.bytes, EtcdTransactionResponse.init)
        found = try OpenedEtcdLog.read(client, refusal, keys)
      }
      guard let entry = found.entries.first else {
        throw StoreError(
          "etcd at \(client.address) does not keep what is written: \(keys.prefix) is empty", .cannotOpen)
      }
      value = try EtcdValue.readLog(entry.value)
      try OpenedEtcdLog.check(value, use, client)
      (revision, position) = (entry.modRevision, found.revision)
      (maxOperations, maxBytes) = try OpenedEtcdLog.probe(client, keys)
    }

    /// Checks that the log which is there may be used so.
    private static func check(_ found: EtcdValue.Log, _ use: Use, _ client: EtcdClient) throws(StoreError) {
      let place = client.address.description
      switch use {
      case .serving, .reading:
        if found.isRestoring {
          throw StoreError(
            "a log is being restored to \(place): wait for 'bindhub restore'; if it was interrupted, run it again",
            .cannotOpen)
        }
        guard found.map == nil else { return }
        throw StoreError("\(place) has a shard of a log: name the log's root instead", .cannotOpen)
      case .restoring(let log):
        guard !found.isRestoring || found.logID != log.logID || found.epoch >> 32 != log.epoch >> 32 else { return }
        throw StoreError(
          "\(place) has a log already, \(String(found.logID, radix: 16)): name a prefix that nobody uses, or stop its "
            + "hubs and remove it with  etcdctl del --prefix \(client.address.prefix)/", .cannotOpen)
      case .shard(let log), .makingShard(let log):
        guard found.logID == log.logID, found.epoch == log.epoch, case .shard(let number, _) = found.role,
          case .shard(number, _) = log.role
        else {
          throw StoreError(
            "\(place) has a log of its own, or a shard of another one: name a prefix that nobody uses", .cannotOpen)
        }
      }
    }

    private static func read(
      _ client: EtcdClient, _ refusal: Refusal, _ keys: EtcdKeys
    ) throws(StoreError) -> EtcdRangeResponse {
      try ask(client, refusal, EtcdClient.range, EtcdRange(key: keys.log).bytes, EtcdRangeResponse.init)
    }

    /// The limits of the server, found by transactions that change nothing.
    private static func probe(_ client: EtcdClient, _ keys: EtcdKeys) throws(StoreError) -> (
      operations: Int, bytes: Int
    ) {
      var (operations, bytes) = (EtcdLimits.maxOperations, EtcdLimits.maxBytes)
      func isTaken(_ transaction: EtcdTransaction) throws(StoreError) -> Bool {
        switch answer(client, EtcdClient.transaction, transaction.bytes) {
        case .success: return true
        case .failure(.lost(let text)): throw StoreError("\(client.address): \(text)", .cannotOpen)
        case .failure(.refused(_, let text)):
          guard text.contains("too many operations") || text.contains("too large") || text.contains("larger than max")
          else { throw error(text, client) }
          return false
        }
      }
      while true {
        var many = EtcdTransaction()
        for _ in 0..<operations { many.read(EtcdRange(key: keys.log, keysOnly: true)) }
        if try isTaken(many) { break }
        operations /= 2
        guard operations >= 8 else {
          throw StoreError("etcd takes less than 8 operations at once: raise its --max-txn-ops to 128", .cannotOpen)
        }
      }
      while true {
        var large = EtcdTransaction()
        // No key has ever been changed at this revision.
        large.compare(keys.log, modRevision: .max >> 1)
        large.put(keys.log, [UInt8](repeating: 0, count: bytes))
        if try isTaken(large) { break }
        bytes /= 2
        guard bytes >= 131_072 else {
          throw StoreError(
            "etcd takes less than 128 KiB at once: raise its --max-request-bytes to 1572864", .cannotOpen)
        }
      }
      return (operations, bytes)
    }

    /// Calls, and waits for the answer, once more after each lost one until the time is over; nil: that for opening.
    static func ask<Response>(
      _ client: EtcdClient, _ refusal: Refusal, _ path: String, _ message: [UInt8],
      within limit: Duration? = nil, _ decode: (ArraySlice<UInt8>) throws(ProtobufError) -> Response
    ) throws(StoreError) -> Response {
      let deadline = NIODeadline.now() + TimeAmount(limit ?? client.options.openTimeout)
      while true {
        switch answer(client, path, message) {
        case .success(let bytes):
          do throws(ProtobufError) { return try decode(bytes[...]) } catch {
            throw StoreError("\(client.address) does not answer as etcd does: name etcd's client URL", .cannotOpen)
          }
        case .failure(.refused(_, let text)): throw error(text, client)
        case .failure(.lost(let text)):
          if let error = refusal.error.withLock(\.self) { throw error }
          guard .now() < deadline else {
            throw StoreError(
              "no node of \(client.address) answers: \(text); start etcd, or correct the address", .cannotOpen)
          }
        }
      }
    }

    private static func answer(_ client: EtcdClient, _ path: String, _ message: [UInt8]) -> EtcdClient.Answer {
      do {
        return .success(try client.future(path, message).wait())
      } catch {
        return .failure(error as? EtcdClient.Failure ?? .lost("\(error)"))
      }
    }

    private static func error(_ text: String, _ client: EtcdClient) -> StoreError {
      (try? EtcdCredentials(client.options))?.error(text, client.address)
        ?? StoreError("etcd at \(client.address) refuses: \(text)", .cannotOpen)
    }
  }

  /// What a node said that no further try remedies.
  final class Refusal: Sendable {
    let error = Mutex<StoreError?>(nil)
  }
#endif
