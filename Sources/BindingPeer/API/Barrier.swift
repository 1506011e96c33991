import BindingModel
public import BindingProtocol

/// The sessions for which a barrier waits.
public enum Appliers: Sendable, Hashable {
  /// All sessions that have joined the model when the hub is asked, this one included. A session that ends meanwhile,
  /// or is silent for as long as its lease, no longer counts.
  case all
  /// This many sessions, this one included, whichever they are.
  case count(Int)
}

/// Why it is not known that sessions have applied a version.
public enum BarrierError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The timeout passed first. `by` names the peers that have not applied it, 255 at most.
  case notApplied(by: [String], applied: Int, of: Int)
  /// The timeout passed without an answer from a hub.
  case noAnswer
  /// The hub does not support barriers.
  case hubTooOld
  /// This peer, or the hub, has as many barriers as it may.
  case tooMany
  /// The hub's log has begun another epoch, in which the version may be missing.
  case otherEpoch
  /// The model was left, or never shared.
  case notShared
  /// The peer has stopped.
  case stopped(StopReason)
  /// The waiting task was cancelled.
  case cancelled

  public var description: String {
    switch self {
    case .notApplied(let names, let applied, let of):
      "\(applied) of \(of) sessions have applied it"
        + (names.isEmpty ? "" : "; not yet: \(names.joined(separator: ", "))")
    case .noAnswer: "no hub answered in time"
    case .hubTooOld: "this hub does not support barriers; restart it with this version of bindhub"
    case .tooMany: "too many barriers are open; wait until some of them end"
    case .otherEpoch:
      "the hub's log has begun another epoch, in which that version may be missing; check the value, and write again"
    case .notShared: "the model is not shared"
    case .stopped(let reason): "this peer has stopped (\(reason)); start a new one"
    case .cancelled: "the wait was cancelled"
    }
  }
}

extension SharedModel {
  /// Waits until other sessions have *applied* a version: it is in their replicas, and reading there gives it or a
  /// later one. Their observers run on their lanes, and may not have run yet.
  /// ```swift
  /// let version = try await lamp.$level.write(0.8).committed
  /// try await lamp.applied(version, by: .all, timeout: .seconds(2))
  /// ```
  /// A barrier survives a lost connection: the hub is asked again, for the time that is left.
  /// - Parameters:
  ///   - version: of this model, in the current epoch of the hub's log.
  ///   - timeout: the longest wait, up to an hour. If the hub answers late, it takes up to a second more.
  /// - Returns: the number of sessions that have applied it.
  /// - Throws: `BarrierError`, which names the sessions that have not applied it.
  @discardableResult
  public func applied(
    _ version: Version, by appliers: Appliers = .all, timeout: Duration
  ) async throws(BarrierError) -> Int {
    var count: UInt32 = 0
    if case .count(let wanted) = appliers {
      guard wanted > 0 else { return 0 }
      count = UInt32(clamping: wanted)
    }
    let wait = Wait<BarrierEnd?>()
    let (model, milliseconds) = (id, timeout.wholeMilliseconds)
    let barrier = runtime.perform { [count] state, now in
      let barrier = state.session.awaitApplied(
        version, of: model, count: count, timeoutMilliseconds: milliseconds, now: now)
      state.barriers[barrier] = wait
      return barrier
    }
    // Wakes the link, which from now on observes the barrier's deadline too.
    runtime.link.wake()
    // nil: cancelled.
    let end = await wait.value(otherwise: nil)
    // Keeps the model joined: leaving it would end the barrier.
    withExtendedLifetime(self) {}
    if end == nil {
      runtime.perform { state, _ in
        state.session.stopWaiting(barrier)
        state.barriers[barrier] = nil
      }
    }
    switch end {
    case .applied(let count): return count
    case .missing(let names, let applied, let of): throw .notApplied(by: names, applied: applied, of: of)
    case .tooMany: throw .tooMany
    case .otherEpoch: throw .otherEpoch
    case .notJoined: throw .notShared
    case .hubTooOld: throw .hubTooOld
    case .noAnswer: throw .noAnswer
    case .stopped(let reason): throw .stopped(reason)
    case nil: throw .cancelled
    }
  }
}

extension Model {
  /// Waits until other sessions have applied a version, and returns their number; see `SharedModel.applied`.
  @discardableResult
  public func applied(
    _ version: Version, by appliers: Appliers = .all, timeout: Duration
  ) async throws(BarrierError) -> Int {
    guard let shared else { throw .notShared }
    return try await shared.applied(version, by: appliers, timeout: timeout)
  }
}
