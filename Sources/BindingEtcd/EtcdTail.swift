#if Etcd
  import BindingHub
  import BindingProtocol
  import NIOCore
  import Synchronization

  /// Follows all records of the log by a watch, and finds what that did not deliver. All of it is on the event loop.
  final class EtcdTail: @unchecked Sendable {  // SAFETY: see above.
    /// The least pause between two readings of the heads that changed. A reading looks at all heads, so it uses at most
    /// a twentieth of its node's time.
    private static let checkInterval = TimeAmount.seconds(2)
    private static let headsAtOnce = 5_000

    /// What is shown of a tail.
    struct Shown: Sendable {
      /// How far the log was ahead when last compared.
      var lag: UInt64 = 0
      var losses: UInt64 = 0
    }

    private let log: EtcdLog
    private let appender: () -> EtcdAppender?
    private(set) var position: SharedRevision
    /// What is shown of it, to any thread.
    let shown = Mutex(Shown())
    private var check: TailCheck
    private var endWatch: (() -> Void)?
    private var watches = 0
    private var parts: [EtcdKeyValue] = []
    private var isChecking = false
    private var isEnded = false

    /// - Parameter checked: up to where it is known already what changed.
    init(
      _ log: EtcdLog, position: SharedRevision, checked: SharedRevision, _ appender: @escaping () -> EtcdAppender?
    ) {
      self.log = log
      self.position = position
      self.appender = appender
      check = TailCheck(position: checked)
    }

    func begin() {
      log.tell(.caughtUp(position))
      watch()
      checkLater(EtcdTail.checkInterval)
    }

    func end() {
      isEnded = true
      endWatch?()
    }

    // MARK: The watch

    /// Begins to watch after the position, as often as a connection is made.
    func watch() {
      guard !isEnded, log.client.isReady else { return }
      endWatch?()
      watches += 1
      parts.removeAll()
      let (watch, keys) = (watches, log.keys)
      let message = EtcdRequest.watch(keys.allRecords, end: EtcdKeys.end(of: keys.allRecords), from: position + 1)
      endWatch = log.client.open("/etcdserverpb.Watch/Watch", message) { [self] bytes in
        guard watch == watches else { return }
        take(bytes)
      } ended: { [self] in
        guard watch == watches else { return }
        endWatch = nil
        again()
      }
      if endWatch == nil { again() }
    }

    private func again() {
      let watch = watches
      log.client.loop.after(.milliseconds(50)) { [self] in if watch == watches { self.watch() } }
    }

    private func take(_ bytes: [UInt8]) {
      guard let response = try? EtcdWatchResponse(bytes[...]) else { return watch() }
      if response.isCancelled {
        endWatch = nil
        watches += 1
        return response.compactRevision > 0 ? lose() : again()
      }
      parts += response.entries
      guard !response.isFragment, !parts.isEmpty else { return }
      let entries = parts
      parts.removeAll()
      var records: [SharedRecord] = []
      do throws(StoreError) {
        for entry in entries { records.append(try EtcdValue.readRecord(entry)) }
      } catch {
        return log.fail(error)
      }
      records.sort { $0.revision < $1.revision }
      position = max(position, records.last?.revision ?? 0)
      check.note(records)
      guard let appender = appender() else { return }
      var output = OpenAppends.Output()
      appender.appends.take(followed: records, into: &output)
      deliver(output)
      appender.pump()
    }

    func deliver(_ output: OpenAppends.Output) {
      for event in output.events { log.tell(event) }
      if !output.records.isEmpty {
        // What waited for an answer may be beyond the position of a new watch.
        log.tell(.followed(output.records, max(position, output.records.map(\.revision).max() ?? 0)))
      }
    }

    // MARK: What the watch did not deliver

    private func checkLater(_ pause: TimeAmount) {
      log.client.loop.after(pause) { [self] in
        guard !isEnded else { return }
        let begun = NIODeadline.now()
        compare { [self] in checkLater(max(EtcdTail.checkInterval, (.now() - begun) * 20)) }
      }
    }

    /// Compares the heads that changed with what was delivered.
    private func compare(_ then: @escaping () -> Void) {
      guard !isChecking else { return then() }
      isChecking = true
      let finish = { [self] in
        isChecking = false
        then()
      }
      readRevision { [self] revision in
        guard let revision else { return finish() }
        let lag = revision - min(revision, position)
        shown.withLock { $0.lag = lag }
        guard revision > check.position else { return finish() }
        let watch = watches
        heads(after: check.position, asOf: revision) { [self] heads in
          // A tail that lost its place meanwhile has begun anew.
          guard let heads, watch == watches else { return finish() }
          let finding = check.compare(heads, asOf: revision)
          shown.withLock { $0.losses += UInt64(finding.missed.count) }
          if !finding.missed.isEmpty { log.tell(.changed(finding.missed)) }
          if finding.isComplete {
            position = max(position, revision)
            log.tell(.caughtUp(position))
          }
          finish()
        }
      }
    }

    /// Names what has changed and was not delivered yet, as it is now. While etcd does not answer, tries again.
    func sync(_ number: UInt64) {
      guard !isEnded else { return }
      readRevision { [self] revision in
        guard let revision else { return syncAgain(number) }
        heads(after: check.position, asOf: revision) { [self] heads in
          guard let heads else { return syncAgain(number) }
          let changed = check.untold(heads, waiting: appender()?.appends.waiting ?? [])
          if !changed.isEmpty { log.tell(.changed(changed)) }
          log.tell(.synced(number))
        }
      }
    }

    private func syncAgain(_ number: UInt64) {
      log.client.loop.after(.milliseconds(100)) { [self] in sync(number) }
    }

    /// The place is compacted: what changed since is named, and the tail goes on from now.
    private func lose() {
      shown.withLock { $0.losses += 1 }
      let watch = watches
      readRevision { [self] revision in
        guard watch == watches, !isEnded else { return }
        guard let revision else { return loseAgain() }
        heads(after: position, asOf: revision) { [self] heads in
          guard watch == watches, !isEnded else { return }
          guard let heads else { return loseAgain() }
          position = max(position, revision)
          check.restart(at: position)
          log.tell(.lost(position))
          for start in stride(from: 0, to: heads.count, by: 1_000) {
            log.tell(.changed(Array(heads[start..<min(start + 1_000, heads.count)])))
          }
          log.tell(.caughtUp(position))
          self.watch()
        }
      }
    }

    private func loseAgain() {
      let watch = watches
      log.client.loop.after(.milliseconds(100)) { [self] in if watch == watches, !isEnded { lose() } }
    }

    /// The revision now, of a log that is still the one that was opened; nil: it cannot be read now, or is another one.
    private func readRevision(_ then: @escaping (SharedRevision?) -> Void) {
      let asked = log.revision
      log.call(EtcdClient.range, EtcdRange(key: log.keys.log).bytes, EtcdRangeResponse.init) { [self] result in
        guard case .success(let response) = result else { return then(nil) }
        if case .ended = log.check(response.entries.first, asked: asked) { return then(nil) }
        then(response.revision)
      }
    }

    /// All heads that changed after one revision, as they are at another; nil: they cannot be read now.
    private func heads(
      after position: SharedRevision, asOf revision: SharedRevision, from key: [UInt8]? = nil,
      _ found: [SharedHead] = [], _ then: @escaping ([SharedHead]?) -> Void
    ) {
      let first = log.keys.heads("")
      let range = EtcdRange(
        key: key ?? first, end: EtcdKeys.end(of: first), limit: EtcdTail.headsAtOnce, revision: revision,
        minModRevision: position + 1)
      log.call(EtcdClient.range, range.bytes, EtcdRangeResponse.init) { [self] result in
        guard case .success(let response) = result else { return then(nil) }
        var heads = found
        do throws(StoreError) {
          for entry in response.entries {
            if let model = log.keys.model(ofHead: entry.key) { heads.append(try EtcdValue.readHead(model, entry)) }
          }
        } catch {
          log.fail(error)
          return then(nil)
        }
        guard response.hasMore, let last = response.entries.last else { return then(heads) }
        self.heads(after: position, asOf: revision, from: last.key + [0], heads, then)
      }
    }
  }
#endif
