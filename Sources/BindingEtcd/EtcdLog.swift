#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore
  import Synchronization

  /// An open log, as all parts of the store see it. What changes is touched on the event loop only.
  final class EtcdLog: @unchecked Sendable {  // SAFETY: see above.
    let client: EtcdClient
    let keys: EtcdKeys
    let value: EtcdValue.Log
    /// The revision of `b/log`, which every transaction compares.
    let revision: SharedRevision
    /// Comparisons, successes or failures of one transaction, and its bytes, as the server takes them.
    var maxOperations: Int
    var maxBytes: Int
    /// Whether a batch has room; what the engine has room for.
    var room = SharedRoom.enough
    /// Called with the bytes of each transaction that was sent.
    var wrote: (Int) -> Void = { _ in }
    private var deliver: (@Sendable (SharedEvent) -> Void)?
    private var hasFailed = false

    init(_ client: EtcdClient, _ opened: OpenedEtcdLog) {
      self.client = client
      keys = EtcdKeys(client.address.prefix)
      (value, revision) = (opened.value, opened.revision)
      (maxOperations, maxBytes) = (opened.maxOperations, opened.maxBytes)
    }

    func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) { self.deliver = deliver }

    func end() { deliver = nil }

    func tell(_ event: SharedEvent) {
      client.loop.preconditionInEventLoop()
      deliver?(event)
    }

    /// Ends the store.
    func fail(_ error: StoreError) {
      guard !hasFailed else { return }
      hasFailed = true
      tell(.failed(error))
      deliver = nil
    }

    /// Ends the store if `b/log` is no longer what it was.
    /// - Returns: whether it is.
    func check(_ entry: EtcdKeyValue?) -> Bool {
      guard entry?.modRevision != revision else { return true }
      let place = client.address.description
      guard let entry else {
        fail(StoreError("the log was deleted from \(place): restore it, or start the hubs again with a new one", .gone))
        return false
      }
      do throws(StoreError) {
        let now = try EtcdValue.readLog(entry.value)
        fail(
          now.logID == value.logID
            ? StoreError("another epoch of the log has begun in \(place): start the hub again", .replaced)
            : StoreError(
              "another log is in \(place) now, \(String(now.logID, radix: 16)) instead of "
                + "\(String(value.logID, radix: 16)): start the hub again if that is meant", .replaced))
      } catch {
        fail(error)
      }
      return false
    }

    /// A transaction that changes nothing unless the log is this one.
    func transaction() -> EtcdTransaction {
      var transaction = EtcdTransaction()
      transaction.compare(keys.log, modRevision: revision)
      return transaction
    }

    /// Calls `then` with the decoded answer, or with why there is none.
    func call<Response>(
      _ path: String, _ message: [UInt8], _ decode: @escaping (ArraySlice<UInt8>) throws(ProtobufError) -> Response,
      _ then: @escaping (Result<Response, EtcdClient.Failure>) -> Void
    ) {
      client.call(path, message) { answer in
        switch answer {
        case .failure(let failure): then(.failure(failure))
        case .success(let bytes):
          do throws(ProtobufError) {
            then(.success(try decode(bytes[...])))
          } catch {
            then(.failure(.lost("etcd answers \(path) with what is no answer")))
          }
        }
      }
    }
  }

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
        case .restoring(let log): new = log
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
      guard case .restoring(let log) = use else {
        guard found.isRestoring else { return }
        throw StoreError(
          "a log is being restored to \(place): wait for 'bindhub restore'; if it was interrupted, run it again",
          .cannotOpen)
      }
      guard found.isRestoring, found.logID == log.logID, found.epoch >> 32 == log.epoch >> 32 else {
        throw StoreError(
          "\(place) has a log already, \(String(found.logID, radix: 16)): name a prefix that nobody uses, or stop its "
            + "hubs and remove it with  etcdctl del --prefix \(client.address.prefix)/", .cannotOpen)
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

  /// What is asked of a server at most.
  enum EtcdLimits {
    /// etcd's default is 128; 63 batches have 64 comparisons, 126 successes and 127 failures.
    static let maxOperations = 127
    /// etcd's default is 1.5 MiB.
    static let maxBytes = 1 << 20
    /// What a transaction has beside one batch's record: its head, and its keys six times.
    static let overhead = 4_096
  }

  /// A version of etcd.
  struct EtcdVersion: Comparable, CustomStringConvertible, Sendable {
    var parts: [Int]

    init(_ parts: Int...) { self.parts = parts }

    /// Reads `3.4.23`, with whatever follows a dash left out.
    init?(_ text: String) {
      let parts = text.prefix { $0 != "-" && $0 != "+" }.split(separator: ".").map { Int($0) }
      guard parts.count >= 2, !parts.contains(nil) else { return nil }
      self.parts = parts.compactMap(\.self)
      while self.parts.count < 3 { self.parts.append(0) }
    }

    var description: String { parts.map(String.init).joined(separator: ".") }

    /// Whether a node of this version syncs a write before it acknowledges it, also if it is alone.
    var syncsFirst: Bool {
      self >= EtcdVersion(3, 4, 21) && !(self >= EtcdVersion(3, 5, 0) && self <= EtcdVersion(3, 5, 5))
    }

    static func < (left: EtcdVersion, right: EtcdVersion) -> Bool { left.parts.lexicographicallyPrecedes(right.parts) }
  }
#endif
