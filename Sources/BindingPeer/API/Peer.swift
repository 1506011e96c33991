public import BindingModel
public import BindingProtocol
import Foundation
public import Logging

/// A process's membership: it finds the hub, holds replicas of the models that were shared, and writes to them.
///
/// A peer works before there is a hub: what is written shows at once, waits, and is sent when a hub is there. It stays
/// connected by itself, to the first of its addresses that answers. It ends with `close`, or when neither it nor any
/// of its models is held any more and all that was written has its outcome:
/// ```swift
/// let peer = try Peer(name: "kitchen")
/// let lamp = try await peer.share(Lamp.self, id: "lamp")
/// lamp.level = 0.8
/// await peer.close()
/// ```
/// Half a second without a hub is a line in the log, as is the hub that comes then.
public final class Peer: Sendable {
  /// What people see in logs and lists; need not be unique.
  public let name: String
  let runtime: PeerRuntime
  private let identity: Identity

  /// - Parameters:
  ///   - name: 1 to 64 bytes; longer ones are cut, an empty one is `peer`, control characters and marks of direction
  ///     become `_`. nil: the program's.
  ///   - hubs: where to look, in order; nil: `BINDPEER_HUB`, else this user's default.
  ///   - options: times and bounds; the defaults serve.
  /// - Throws: `HubAddressError` if `BINDPEER_HUB` holds something else than addresses.
  public convenience init(
    name: String? = nil, hubs: [HubAddress]? = nil, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) throws(HubAddressError) {
    let addresses = if let hubs { hubs } else { try HubAddress.fromEnvironment() }
    self.init(name: name, link: ZeroMQPeerLink(addresses: addresses), options: options, log: log)
  }

  /// A peer of a hub in the same process, without a socket: for tests and examples. `BindingHub` has the hub:
  /// ```swift
  /// let peer = Peer(name: "kitchen", hub: try Hub.embedded())
  /// ```
  public convenience init(
    name: String? = nil, hub: any InProcessTransport, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) {
    self.init(name: name, link: InProcessPeerLink(transport: hub), options: options, log: log)
  }

  /// A peer whose writes outlive it. What an earlier peer left in the same file is laid over its models again, and sent
  /// to its end first, unchanged.
  /// - Throws: `HubAddressError` as above; `OutboxError` if the file cannot be used.
  public convenience init(
    name: String? = nil, hubs: [HubAddress]? = nil, outbox: OutboxStorage, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) throws {
    let addresses = if let hubs { hubs } else { try HubAddress.fromEnvironment() }
    try self.init(
      name: name, outbox: outbox, options: options, log: log, makeLink: { ZeroMQPeerLink(addresses: addresses) })
  }

  /// The same with a hub in the same process.
  public convenience init(
    name: String? = nil, hub: any InProcessTransport, outbox: OutboxStorage, options: SessionOptions = SessionOptions(),
    log: Logger = Logger(label: "bindpeer")
  ) throws(OutboxError) {
    try self.init(
      name: name, outbox: outbox, options: options, log: log, makeLink: { InProcessPeerLink(transport: hub) })
  }

  convenience init(
    name: String?, outbox: OutboxStorage, options: SessionOptions, log: Logger,
    makeLink: @escaping @Sendable () -> any PeerLink
  ) throws(OutboxError) {
    switch outbox {
    case .memory: self.init(name: name, link: makeLink(), options: options, log: log)
    case .file(let path, let durability):
      let file = try OutboxFile.open(path, durability: durability)
      try self.init(name: name, file: file, options: options, log: log, makeLink: makeLink)
    }
  }

  init(
    name: String?, file: OutboxFile, options: SessionOptions, log: Logger,
    makeLink: @escaping @Sendable () -> any PeerLink
  ) throws(OutboxError) {
    self.name = Names.fittingPeer(name ?? ProcessInfo.processInfo.processName)
    identity = Identity(secret: .random(), name: self.name)
    var random = SystemRandomNumberGenerator()
    var session = Session(
      identity: identity, seed: random.next(), options: options, now: PeerRuntime.now, keepsOutbox: true)
    let runs = file.unfinished
    var restored: [RestoredKey: Restored] = [:]
    for run in runs {
      for (kept, id) in zip(run.writes, session.carry(run, wall: OutboxFile.wall)) {
        restored[RestoredKey(run: run.number, write: kept.id)] = Restored(
          id: id, model: kept.model, write: PendingWrite(kept.proposal.operations))
      }
    }
    let link = makeLink()
    let journal = JournalWriter(file: file, run: try file.begin(identity))
    runtime = PeerRuntime(session: session, link: link, log: log, outbox: journal)
    let previousRuns = PreviousRuns(runs, in: file, options: options, log: log, of: runtime, makeLink: makeLink)
    runtime.state.withLock { [restored] state in
      state.restored = restored
      state.previousRuns = runs.isEmpty ? nil : previousRuns
    }
    if file.tornBytes > 0 {
      log.warning(
        "the outbox ended in a write that was not finished; it was cut off",
        metadata: ["outbox": "\(file.path)", "bytes": "\(file.tornBytes)"])
    }
    link.start(runtime)
    ExitFlush.enter(runtime, timeoutMilliseconds: options.exitMilliseconds)
    if !runs.isEmpty { previousRuns.goOn() }
  }

  init(name: String?, link: any PeerLink, options: SessionOptions, log: Logger) {
    self.name = Names.fittingPeer(name ?? ProcessInfo.processInfo.processName)
    identity = Identity(secret: .random(), name: self.name)
    var random = SystemRandomNumberGenerator()
    let session = Session(identity: identity, seed: random.next(), options: options, now: PeerRuntime.now)
    runtime = PeerRuntime(session: session, link: link, log: log)
    link.start(runtime)
    ExitFlush.enter(runtime, timeoutMilliseconds: options.exitMilliseconds)
  }

  deinit { runtime.abandonPeer() }

  /// The tag under which this peer writes: new at every start.
  public var tag: Tag { identity.tag }

  /// Those of them that an earlier life of the outbox made, in no order.
  public var restored: [RestoredWrite] {
    runtime.state.withLock { $0.restored.values.map { RestoredWrite(model: $0.model, write: $0.write, shared: nil) } }
  }

  /// What was received, dropped, repaired and sent again since the start.
  public var counters: SessionCounters { runtime.state.withLock { $0.session.counters } }

  /// Waits until a hub has welcomed this peer; false when `timeout` passes first, or the task is cancelled.
  public func whenLive(timeout: Duration) async -> Bool {
    await runtime.wait(timeout: timeout) { $0.session.phase == .live }
  }

  /// The model of that id without types, joined from now on. The same object for the same id as long as somebody holds
  /// it.
  /// - Parameter lane: where its observers run, when this is the first use of the model.
  /// - Throws: `ShareError` if the id is not a model's, or this peer has stopped.
  public func model(_ id: String, on lane: Lane = .direct) throws(ShareError) -> SharedModel {
    do throws(WireError) { try Names.checkModel(id) } catch { throw .badID(error) }
    let fresh = SharedModel(id: id, lane: lane, peer: self)
    return try runtime.perform { state, now throws(ShareError) in
      if case .stopped(let reason) = state.session.phase { throw .stopped(reason) }
      return Peer.join(fresh, &state, now)
    }
  }

  /// Joins a line of a model, unless it is: then that one is returned.
  func join(_ fresh: SharedModel) -> SharedModel {
    runtime.perform { state, now in Peer.join(fresh, &state, now) }
  }

  private static func join(_ fresh: SharedModel, _ state: inout PeerRuntime.State, _ now: UInt64) -> SharedModel {
    if let present = state.models[fresh.id]?.model { return present }
    state.models[fresh.id] = .init(model: fresh)
    state.session.join(fresh.id, now: now, into: &state.output)
    return fresh
  }

  /// Ends this peer: waits until what was written has its outcome, and says good-bye to the hub.
  /// ```swift
  /// lamp.level = 0.8
  /// let lost = await peer.close(flush: .seconds(5))
  /// if !lost.isEmpty { print("no answer to", lost) }
  /// ```
  /// What has no outcome by then stays in the outbox, where that is a file. Afterwards every call that gives a model or
  /// writes throws that the peer has stopped. A program that ends by itself does the same for the peers that it did not
  /// close, for a second at most (`SessionOptions.exitMilliseconds`), and logs what had no outcome; one that is killed,
  /// aborts or calls `_exit` cannot.
  ///
  /// In a task that is cancelled it waits for no outcome: what was written is on its way and may well be committed, but
  /// nobody here hears of it. Who has to know calls it in a task of its own.
  /// - Parameter flush: how long to wait for the outcomes of what was written.
  /// - Returns: the fields of writes that had none by then, as `model.field`.
  @discardableResult
  public func close(flush: Duration = .seconds(2)) async -> [String] {
    let begin = PeerRuntime.now
    let limit = UInt64(clamping: flush.wholeMilliseconds)
    var left: [String]?
    while left == nil {
      let passed = PeerRuntime.now - begin
      let rest = Duration.milliseconds(Int64(clamping: limit - min(passed, limit)))
      let isSettled = await runtime.wait(timeout: rest) { $0.isSettled }
      // Between the last outcome and this somebody may have written again: an observer, or the task that describes the
      // model. That is waited for as well, as long as there is time.
      left = isSettled && passed < limit ? runtime.endIfSettled() : runtime.end()
    }
    await runtime.link.whenEnded(timeout: .milliseconds(500))
    return left ?? []
  }
}

extension PeerRuntime.State {
  /// Whether nothing waits for an outcome, or nothing will have one any more.
  fileprivate var isSettled: Bool { unconfirmed == 0 || session.phase.isStopped }
}

extension PeerRuntime {
  /// Says good-bye, ends every write without an outcome as unknown, and lets the link and the outbox go. Harmless when
  /// repeated.
  @discardableResult
  func end() -> [String] { end(unless: { _ in false }) ?? [] }

  /// Ends, unless something has been written that waits for its outcome: then nil.
  fileprivate func endIfSettled() -> [String]? { end(unless: { !$0.isSettled }) }

  private func end(unless isAwaited: (borrowing State) -> Bool) -> [String]? {
    let parts = perform { state, now -> ([UnacknowledgedWrite], [Restored], PreviousRuns?)? in
      guard !isAwaited(state) else { return nil }
      let isSettled = state.session.unconfirmed == 0 && state.outboxProblem == nil
      let wasStopped = state.session.phase.isStopped
      if !wasStopped {
        // What the link has not got to goes before the good-bye.
        state.session.finishDrain(now: now, into: &state.output)
        state.session.bye(now: now, into: &state.output)
      }
      let left = Array(state.writes.elements)
      state.writes.removeAll()
      let restored = Array(state.restored.values)
      state.restored.removeAll()
      state.leavesOutbox = isSettled && !wasStopped
      return (left, restored, state.previousRuns.take())
    }
    guard let (left, restored, previousRuns) = parts else { return nil }
    previousRuns?.end()
    let (outbox, problem) = state.withLock { (onActions == nil ? $0.outbox : nil, $0.outboxProblem) }
    outbox?.file.close()
    let reason =
      "the peer was closed first"
      + (outbox == nil ? "" : problem.map { "; its outbox lacks the newest writes: \($0)" } ?? "; its outbox keeps it")
    for unacknowledged in left { unacknowledged.write.settle(.unknown(reason)) }
    for restored in restored { restored.write.settle(.unknown(reason)) }
    let fields =
      left.flatMap { unacknowledged in unacknowledged.write.fields.map { "\(unacknowledged.model.id).\($0)" } }
      + restored.flatMap { restored in restored.write.fields.map { "\(restored.model).\($0)" } }
    return fields.sorted()
  }
}

extension Phase {
  var isStopped: Bool {
    if case .stopped = self { true } else { false }
  }
}
