public import BindingModel
public import BindingProtocol
import Foundation
public import Logging

/// A process's connection to a hub: it holds replicas of the models that the program shares, and writes to them.
///
/// A peer works without a hub: a write shows immediately, waits, and is sent once there is a hub. The peer reconnects
/// by itself, to any of the hubs that it was given or told of. It ends with `close`, or when neither it nor any of its
/// models is referenced any more and every write has its outcome:
/// ```swift
/// let peer = try Peer(name: "kitchen")
/// let lamp = try await peer.share(Lamp.self, id: "lamp")
/// lamp.level = 0.8
/// await peer.close()
/// ```
/// A missing hub is logged after half a second, and so is the hub that answers then.
public final class Peer: Sendable {
  /// The name in logs and lists; need not be unique.
  public let name: String
  let runtime: PeerRuntime
  private let identity: Identity

  /// Creates a peer, which connects to its hub by itself.
  /// - Parameters:
  ///   - name: 1 to 64 bytes; longer names are cut, an empty one becomes `peer`, control characters and bidirectional
  ///     marks become `_`. nil: the program's name.
  ///   - hub: where the hub is; a text such as `"tcp://127.0.0.1:7877"` is its address.
  ///   - keeping: the file for its writes and values; nil: as the configuration says, by default none.
  ///   - configuration: times and limits; the defaults serve.
  /// - Throws: `PeerError` if what `hub` or `BINDPEER_HUB` names is no address and no known hub, or the file cannot
  ///   be used.
  public convenience init(
    name: String? = nil, hub: HubLocation = .default, keeping: Keeping? = nil,
    configuration: Configuration = Configuration(), logger: Logger = Logger(label: "bindpeer")
  ) throws(PeerError) {
    let makeLink = try hub.linkFactory()
    let keeping = keeping ?? configuration.keeping
    do throws(OutboxError) {
      try self.init(
        name: name, file: try keeping.open(), keeping: keeping, options: SessionOptions(configuration), log: logger,
        makeLink: makeLink)
    } catch {
      throw .outbox(error)
    }
  }

  /// - Parameter file: the outbox; nil: writes without an outcome are kept in memory.
  init(
    name: String?, file: OutboxFile?, keeping: Keeping = .memory, options: SessionOptions, log: Logger,
    makeLink: @escaping @Sendable () -> any PeerLink
  ) throws(OutboxError) {
    self.name = Names.fittingPeer(name ?? ProcessInfo.processInfo.processName)
    identity = Identity(secret: .random(), name: self.name)
    var random = SystemRandomNumberGenerator()
    let choice = file == nil ? nil : keeping.choice
    let stored = choice == nil ? KeptReplicas() : file?.takeReplicas() ?? KeptReplicas()
    var session = Session(
      identity: identity, seed: random.next(), options: options, now: PeerRuntime.now, keepsOutbox: file != nil,
      keeping: choice, stored: stored, wall: OutboxFile.wall)
    let runs = file?.unfinished ?? []
    var restored: [RestoredKey: Restored] = [:]
    for run in runs {
      for (kept, id) in zip(run.writes, session.carry(run, wall: OutboxFile.wall)) {
        restored[RestoredKey(run: run.number, write: kept.id)] = Restored(
          id: id, model: kept.model, write: PendingWrite(kept.proposal.operations))
      }
    }
    if let file { session.restoreUndo(file.undo) }
    let link = makeLink()
    var journal: JournalWriter?
    if let file { journal = JournalWriter(file: file, run: try file.begin(identity)) }
    runtime = PeerRuntime(session: session, link: link, log: log, outbox: journal)
    var previousRuns: PreviousRuns?
    if let file, !runs.isEmpty {
      previousRuns = PreviousRuns(
        runs, in: file, options: options, defersOutcomes: choice?.defersOutcomes ?? false, log: log, of: runtime,
        makeLink: makeLink)
    }
    let keeper = choice == nil ? nil : file.map { ReplicaKeeper(of: runtime, in: $0, stored, keeping, log: log) }
    runtime.state.withLock { [restored, previousRuns] state in
      state.writes = WriteRegistry(restored: restored)
      state.previousRuns = previousRuns
      state.keeper = keeper
    }
    if let file { report(torn: file, log) }
    link.start(runtime)
    ExitFlush.enter(runtime, timeoutMilliseconds: options.exitMilliseconds)
    previousRuns?.goOn()
  }

  deinit { runtime.abandonPeer() }

  private func report(torn file: OutboxFile, _ log: Logger) {
    guard file.tornBytes > 0 else { return }
    let copy = file.tornCopy.map { "; the file as it was is \($0)" } ?? ""
    log.warning(
      "the outbox ended with an incomplete entry, which was removed\(copy)",
      metadata: ["outbox": "\(file.path)", "bytes": "\(file.tornBytes)"])
  }

  /// The tag under which this peer writes: new at every start.
  public var tag: Tag { identity.tag }

  /// The unacknowledged writes that earlier runs left in the outbox, in no order.
  public var restored: [RestoredWrite] {
    let restored = runtime.state.withLock { $0.writes.restored }
    return restored.values.map { RestoredWrite(model: $0.model, write: $0.write, shared: nil) }
  }

  /// Counts of what was received, dropped, repaired and resent since the start.
  public var counters: SessionCounters { runtime.state.withLock { $0.session.counters } }

  /// Waits until a hub has welcomed this peer. Returns false when `timeout` passes first, or the task is cancelled.
  public func whenLive(timeout: Duration) async -> Bool {
    await runtime.wait(timeout: timeout) { $0.session.phase == .live }
  }

  /// Joins a model and returns it, without types. The same id gives the same object while that is referenced.
  /// - Parameter lane: where its observers run, if this call creates the object.
  /// - Throws: `ShareError` if the id is not a model's, or this peer has stopped.
  public func model(_ id: String, on lane: Lane = .direct) throws(ShareError) -> SharedModel {
    do throws(WireError) { try Names.checkModel(id) } catch { throw .badID(error) }
    let fresh = SharedModel(id: id, lane: lane, peer: self)
    return try runtime.perform { state, now throws(ShareError) in
      if case .stopped(let reason) = state.session.phase { throw .stopped(reason) }
      return Peer.join(fresh, &state, now)
    }
  }

  /// Joins a stored or ephemeral model. If it is joined already, returns the object that exists.
  func join(_ fresh: SharedModel) -> SharedModel {
    runtime.perform { state, now in Peer.join(fresh, &state, now) }
  }

  private static func join(_ fresh: SharedModel, _ state: inout PeerRuntime.State, _ now: UInt64) -> SharedModel {
    if let present = state.models[fresh.id]?.model { return present }
    state.models[fresh.id] = .init(model: fresh)
    state.session.join(fresh.id, now: now, into: &state.effects)
    return fresh
  }

  /// Runs until its task is cancelled or the peer is closed, and then closes it. For a program of tasks, as a member of
  /// a task group or a service of swift-service-lifecycle:
  /// ```swift
  /// try await withThrowingTaskGroup(of: Void.self) { group in
  ///   group.addTask { try await peer.run() }
  ///   group.addTask { try await dim(lamp) }
  ///   try await group.next()
  ///   group.cancelAll()
  /// }
  /// ```
  /// Unlike a `close` in a cancelled task, it waits for the outcomes of what was written.
  /// - Parameter flush: how long to wait for outcomes.
  /// - Throws: `ShareError.stopped` if the peer stopped by itself: the hub refuses it for good.
  public func run(flush: Duration = .seconds(2)) async throws(ShareError) {
    _ = await runtime.wait(timeout: nil) { $0.session.phase.isStopped }
    let reason = runtime.state.withLock { state -> StopReason? in
      if case .stopped(let reason) = state.session.phase { reason } else { nil }
    }
    // In a task of its own: this one may be cancelled.
    await Task { _ = await close(flush: flush) }.value
    if let reason, reason != .closed { throw .stopped(reason) }
  }

  /// Ends this peer: waits until its writes have their outcomes, and says goodbye to the hub.
  /// ```swift
  /// lamp.level = 0.8
  /// let lost = await peer.close(flush: .seconds(5))
  /// if !lost.isEmpty { print("no answer to", lost) }
  /// ```
  /// A write without an outcome by then stays in the outbox, if that is a file. Afterwards every call that returns a
  /// model or writes throws that the peer has stopped. A program that ends by itself does the same for the peers that
  /// it did not close, for a second at most (`Configuration.exitTimeout`), and logs the writes without an
  /// outcome; one that is killed, aborts or calls `_exit` cannot.
  ///
  /// In a cancelled task it does not wait for outcomes: the writes are on their way and may well be committed, but
  /// this program does not learn it. A program that has to know calls it in a task of its own.
  /// - Parameter flush: how long to wait for outcomes.
  /// - Returns: the fields of writes without an outcome, as `model.field`.
  @discardableResult
  public func close(flush: Duration = .seconds(2)) async -> [String] {
    let begin = PeerRuntime.now
    let limit = UInt64(clamping: flush.wholeMilliseconds)
    if runtime.state.withLock({ $0.keeper != nil && $0.isSettled }) {
      // An outcome may be a moment ahead of its commit, which the file would lack.
      _ = await runtime.wait(timeout: .milliseconds(500)) { !$0.session.awaitsKeptCommits }
    }
    var left: [String]?
    while left == nil {
      let passed = PeerRuntime.now - begin
      let rest = Duration.milliseconds(Int64(clamping: limit - min(passed, limit)))
      let isSettled = await runtime.wait(timeout: rest) { $0.isSettled }
      // Since the last outcome an observer, or the task that describes the model, may have written again: wait for
      // that write too, while there is time.
      left = isSettled && passed < limit ? runtime.endIfSettled() : runtime.end()
    }
    await runtime.link.whenEnded(timeout: .milliseconds(500))
    return left ?? []
  }
}

extension Phase {
  var isStopped: Bool {
    if case .stopped = self { true } else { false }
  }
}
