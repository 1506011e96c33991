#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore
  import Synchronization

  /// An open log, as all parts of the store see it. What changes is touched on the event loop only.
  final class EtcdLog: @unchecked Sendable {  // SAFETY: see above.
    let client: EtcdClient
    let keys: EtcdKeys
    /// What is in `b/log`, and its revision, which every transaction compares.
    private let state: Mutex<State>
    /// Comparisons, successes or failures of one transaction, and its bytes, as the server takes them.
    var maxOperations: Int
    var maxBytes: Int
    /// Whether a batch has room; what the engine has room for.
    var room = SharedRoom.enough
    /// Called with the bytes of each transaction that was sent.
    var wrote: (Int) -> Void = { _ in }
    private var deliver: (@Sendable (SharedEvent) -> Void)?
    private var hasFailed = false

    private struct State: Sendable {
      var value: EtcdValue.Log
      var revision: SharedRevision
    }

    init(_ client: EtcdClient, _ opened: OpenedEtcdLog) {
      self.client = client
      keys = EtcdKeys(client.address.prefix)
      state = Mutex(State(value: opened.value, revision: opened.revision))
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

    /// What is in `b/log`.
    var value: EtcdValue.Log { state.withLock { $0.value } }

    /// The revision of `b/log`. Whoever passes a batch on while it is this one knows all that this one tells.
    var revision: SharedRevision { state.withLock { $0.revision } }

    /// What `b/log` shows.
    enum Standing {
      case asBefore
      /// What is in which shard has changed, which was told.
      case resharded
      /// The store has ended: another log is there, or none.
      case ended
    }

    /// Compares `b/log` with what it was.
    /// - Parameter asked: its revision here when it was asked for. An answer may be older than one taken since.
    func check(_ entry: EtcdKeyValue?, asked: SharedRevision) -> Standing {
      let (before, place) = (state.withLock { $0 }, client.address.description)
      guard let entry else {
        fail(StoreError("the log was deleted from \(place): restore it, or start the hubs again with a new one", .gone))
        return .ended
      }
      if asked <= entry.modRevision, entry.modRevision <= before.revision { return .asBefore }
      do throws(StoreError) {
        let now = try EtcdValue.readLog(entry.value)
        if entry.modRevision > before.revision, isResharded(before.value, now) {
          // First told: what is passed on from now on must not be taken for what was passed on knowing it.
          tell(.resharded(now.map))
          state.withLock { $0 = State(value: now, revision: entry.modRevision) }
          return .resharded
        }
        let (id, former) = (String(now.logID, radix: 16), String(before.value.logID, radix: 16))
        fail(
          StoreError(
            id == former
              ? "another epoch of the log has begun in \(place), or an earlier state of it: start the hub again"
              : "another log is in \(place) now, \(id) instead of \(former): start the hub again if that is meant",
            .replaced))
      } catch {
        fail(error)
      }
      return .ended
    }

    /// Whether nothing has changed but what is in which shard.
    private func isResharded(_ before: EtcdValue.Log, _ now: EtcdValue.Log) -> Bool {
      guard before.logID == now.logID, before.epoch == now.epoch, !now.isRestoring else { return false }
      return switch (before.role, now.role) {
      case (.root(let before), .root(let now)): before.version < now.version
      case (.shard(let before, _), .shard(let now, _)): before == now
      default: false
      }
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
