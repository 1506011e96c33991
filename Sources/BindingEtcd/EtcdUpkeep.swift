#if Etcd
  import BindingHub
  import BindingProtocol
  import Dispatch
  import NIOCore
  import Synchronization

  /// Watches the engine's room, compacts its history, and proves the grade. On the event loop, but for the proof.
  final class EtcdUpkeep: @unchecked Sendable {  // SAFETY: see above; what both touch is behind a lock.
    /// What is shown of it.
    struct Shown: Sendable {
      var room = SharedRoom.enough
      var bytes: UInt64 = 0
      var quota: UInt64 = 0
      var grade = SharedGrade.process
      var reason = "It is not proven yet that etcd syncs what it stores."
      var roomReason = ""
      var isEnded = false
    }
    /// History that hubs which were away may still need; less is kept where room is scarce.
    private static let kept = TimeAmount.minutes(10)
    private static let keptWhereScarce = TimeAmount.minutes(1)
    private static let defaultQuota: UInt64 = 2 << 30

    private let log: EtcdLog
    private let grading: EtcdGrade
    private let changed: () -> Void
    private let shown = Mutex(Shown())
    private let queue = DispatchQueue(label: "bindhub-etcd-grade", qos: .utility)
    private var pretended: SharedRoom?
    private var revisions: [(time: NIODeadline, revision: SharedRevision)] = []
    private var written = 0
    private var isEnded = false

    /// - Parameter changed: called when there is room again.
    init(_ log: EtcdLog, _ changed: @escaping () -> Void) throws(StoreError) {
      self.log = log
      self.changed = changed
      grading = EtcdGrade(
        client: log.client, log: log, metrics: try EtcdMetricsReader(loop: log.client.loop, log.client.options))
    }

    var now: Shown { shown.withLock(\.self) }

    func begin() {
      log.wrote = { [weak self] in self?.take(written: $0) }
      prove()
      look()
    }

    func end() {
      isEnded = true
      shown.withLock { $0.isEnded = true }
    }

    /// Ends the proof under way, off the loop.
    func join() { queue.sync {} }

    /// Takes this for the room, whatever the engine says; nil: what it says. For tests.
    func pretend(_ room: SharedRoom?) {
      pretended = room
      take(shown.withLock(\.room), "")
    }

    // MARK: Grade

    private func prove() {
      guard !isEnded else { return }
      queue.async { [self] in
        let finding = grading.prove { now.isEnded }
        log.client.loop.execute { [self] in
          guard !isEnded else { return }
          let before = now
          shown.withLock { shown in
            (shown.grade, shown.reason) = (finding.grade, finding.reason)
            shown.quota = log.client.options.quota ?? finding.quota ?? shown.quota
          }
          if before.grade != finding.grade || before.reason != finding.reason {
            log.tell(.grade(finding.grade, finding.reason))
          }
          log.client.loop.after(.seconds(60)) { [self] in prove() }
        }
      }
    }

    // MARK: Room

    private func look() {
      guard !isEnded else { return }
      look { [self] in
        if log.room == .full { touch() }
        log.client.loop.after(.seconds(1)) { [self] in look() }
        compact()
      }
    }

    private func look(_ then: @escaping () -> Void) {
      written = 0
      log.call("/etcdserverpb.Maintenance/Status", [], EtcdStatus.init) { [self] result in
        if case .success(let status) = result { take(status) }
        then()
      }
    }

    /// Etcd counts the pages that a compaction freed only when something is written after it.
    private func touch() {
      var transaction = log.transaction()
      transaction.put(log.keys.proof, [EtcdKeys.format])
      log.client.call(EtcdClient.transaction, transaction.bytes) { _ in }
    }

    /// Looks at once after a fiftieth of the quota was written, whatever the time.
    private func take(written bytes: Int) {
      written += bytes
      if UInt64(written) > shown.withLock({ $0.quota }) / 50 { look {} }
    }

    private func take(_ status: EtcdStatus) {
      note(status.revision)
      let quota = shown.withLock { shown in
        if shown.quota == 0 { shown.quota = log.client.options.quota ?? EtcdUpkeep.defaultQuota }
        shown.bytes = status.bytes
        return shown.quota
      }
      let (room, reason) = EtcdUpkeep.room(status, quota: quota, log.client.address)
      take(room, reason)
    }

    /// What there is room for. Free pages inside etcd's file are used again, but etcd itself counts them as used, so
    /// near the quota they count here too.
    static func room(_ status: EtcdStatus, quota: UInt64, _ address: EtcdAddress) -> (SharedRoom, String) {
      let endpoints = address.endpoints.map(\.description).joined(separator: ",")
      let (used, held) = (Double(status.bytesInUse) / Double(quota), Double(status.bytes) / Double(quota))
      if status.alarms.contains(where: { $0.contains("NOSPACE") }) {
        return (
          .onlyRemovals,
          "etcd refuses writes (NOSPACE): etcdctl --endpoints \(endpoints) compact REVISION, defrag, then alarm disarm"
        )
      }
      if held >= 0.95 {
        return (
          .onlyRemovals, "etcd's file is nearly at its quota: defragment one node after the other, the leader last"
        )
      }
      // Near the quota the free pages have to be enough for what is written next.
      if used >= 0.85 || held >= 0.9 && used >= 0.7 {

        return (.full, "etcd's quota is used up to 85 %: remove models, or raise --quota-backend-bytes")

      }
      return (used >= 0.7 ? .scarce : .enough, "")
    }

    private func take(_ room: SharedRoom, _ reason: String) {
      let room = pretended ?? room
      shown.withLock { shown in (shown.room, shown.roomReason) = (room, reason) }
      guard log.room != room else { return }
      log.room = room
      log.tell(.room(room))
      changed()
    }

    // MARK: History

    /// Compacts what is older than any hub should need.
    private func compact() {
      let now = NIODeadline.now()
      let kept = log.room >= .scarce ? EtcdUpkeep.keptWhereScarce : EtcdUpkeep.kept
      guard let old = revisions.lastIndex(where: { now - $0.time >= kept }) else { return }
      let revision = revisions[old].revision
      revisions.removeFirst(old + 1)
      compact(upTo: revision) {}
    }

    /// Compacts up to a revision. Another hub may have done so.
    func compact(upTo revision: SharedRevision, _ then: @escaping () -> Void) {
      log.client.call("/etcdserverpb.KV/Compact", EtcdRequest.number(1, revision)) { _ in then() }
    }

    /// Notes where the log is now.
    private func note(_ revision: SharedRevision) {
      if let last = revisions.last, .now() - last.time < .seconds(10) { return }
      revisions.append((.now(), revision))
    }
  }
#endif
