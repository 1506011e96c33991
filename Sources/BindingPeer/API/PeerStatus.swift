public import BindingModel
public import BindingProtocol

/// How a peer stands to its hub.
public struct PeerStatus: Sendable, Equatable, CustomStringConvertible {
  /// How far the session has come; writing works in all but `stopped`.
  public var phase: Phase
  /// The address of the hub in use, or being tried.
  public var hub: String?
  /// The hub's log and its epoch, once one was seen.
  public var logID: LogID?
  public var epoch: Epoch?
  /// What commits survive there, as the hub said at the welcome; nil while there is none.
  public var durability: Durability?
  /// Why the hub that answers lets nobody in now, as it says; nil: it does, or none answers. It is asked again.
  public var refusal: String?
  /// Writes without an outcome, of all models.
  public var unconfirmed: Int = 0
  /// Since when no hub was heard; nil while one is. Instants as with `FieldStatus`.
  public var staleSince: SuspendingClock.Instant?
  /// Where those writes are kept.
  public var outbox: OutboxStatus = .memory

  /// Whether the hub answers.
  public var isLive: Bool { phase == .live }
  /// Whether this peer has ended for good.
  public var isStopped: Bool { phase.isStopped }

  /// As a sentence: `live at ipc:///run/user/1000/bindhub/hub.sock, durability process; 2 writes have no outcome`.
  public var description: String {
    let location = hub.map { " at \($0)" } ?? ""
    var words =
      switch phase {
      case .offline: "not connected"
      case .connecting, .welcoming: "looking for a hub\(location)"
      case .live: "live\(location)" + (durability.map { ", durability \($0)" } ?? "")
      case .stopped(let reason): "stopped: \(reason)"
      }
    if let refusal { words += "; refused: \(refusal)" }
    if unconfirmed > 0 { words += "; \(unconfirmed) \(unconfirmed == 1 ? "write has" : "writes have") no outcome" }
    if case .memoryOnly(let problem) = outbox { words += "; its outbox lacks the newest writes: \(problem)" }
    return words
  }
}

extension Peer {
  /// How this peer stands to its hub. It is tracked as a field's value is.
  public var status: PeerStatus {
    ReadTracking.current == .nobody ? runtime.state.withLock { $0.peerStatus } : runtime.statusBroadcaster.read()
  }

  /// `status`, to be observed on whichever thread brings the news, or on a lane: `observe(on:lane:)`, `observeOnMain`.
  public var statuses: Statuses<PeerStatus> { Statuses(broadcaster: runtime.statusBroadcaster, subject: runtime) }

  /// Hears the status now and at each change, on the thread that changed it: do not wait in it.
  public func observeStatus(_ body: @escaping @Sendable (PeerStatus) -> Void) -> ObserverToken {
    statuses.observe(body)
  }

  /// Writes without an outcome, of all models. To observe the number alone: `statuses.derived(\.unconfirmed)`. It is
  /// tracked as the status is.
  public var unconfirmed: Int {
    ReadTracking.current == .nobody ? runtime.state.withLock { $0.unconfirmed } : status.unconfirmed
  }
}

extension PeerRuntime {
  var statusBroadcaster: StatusBroadcaster<PeerStatus> {
    if let present = broadcaster.withLock({ $0 }) { return present }
    let fresh = StatusBroadcaster<PeerStatus>(
      present: { [weak self] in self?.state.withLock { $0.peerStatus } ?? PeerStatus(phase: .offline) },
      begin: { [weak self] _ in self?.state.withLock { $0.isPeerObserved = true } })
    return broadcaster.withLock { broadcaster in
      let made = broadcaster ?? fresh
      broadcaster = made
      return made
    }
  }

  /// Tells the peer's status, as long as somebody wants to know.
  func reportStatus() {
    guard let broadcaster = broadcaster.withLock({ $0 }) else { return }
    broadcaster.invalidate()
    if broadcaster.isObserved { return broadcaster.report() }
    state.withLock { $0.isPeerObserved = broadcaster.wasObserved }
  }
}

extension PeerRuntime.State {
  var peerStatus: PeerStatus {
    PeerStatus(
      phase: session.phase, hub: hubInUse, logID: session.logID, epoch: session.epoch,
      durability: session.welcome?.durability, refusal: session.refusal.map { PrintedText.escaped($0) },
      unconfirmed: unconfirmed,
      staleSince: session.phase == .live ? nil : PeerClock.instant(session.silentSince), outbox: outboxStatus)
  }
}
