public import BindingModel
public import BindingProtocol

/// The state of a peer's connection to its hub.
public struct PeerStatus: Sendable, Equatable, CustomStringConvertible {
  /// The state of the session; writing works in all but `stopped`.
  public var phase: Phase
  /// The address of the hub in use, or being tried.
  public var hub: String?
  /// The hub's log; nil until a hub was seen.
  public var logID: LogID?
  /// The epoch of that log; nil until a hub was seen.
  public var epoch: Epoch?
  /// What commits survive at this hub, as its welcome said; nil without a hub.
  public var durability: Durability?
  /// Whether the hub lets any client on the network read and write everything, and encrypts nothing, as its welcome
  /// said.
  public var isInsecure = false
  /// Why the hub that answers refuses this peer, in its words; nil if it does not, or if no hub answers. The peer
  /// retries.
  public var refusal: String?
  /// Whether the hub is an edge that has not reached its upstream hub: values may be stale, and writes wait.
  public var waitsForUpstream = false
  /// The number of writes without an outcome, over all models.
  public var unconfirmed: Int = 0
  /// When the time without a hub, or without its upstream hub, began; nil while both answer. Instants are of
  /// the clock that `FieldStatus` names.
  public var staleSince: SuspendingClock.Instant?
  /// Where those writes are kept.
  public var outbox: OutboxStatus = .memory

  /// Whether the hub answers.
  public var isLive: Bool { phase == .live }
  /// Whether this peer has ended permanently.
  public var isStopped: Bool { phase.isStopped }

  /// As a sentence: `live at ipc:///run/user/1000/bindhub/hub.sock, durability process; 2 writes have no outcome`.
  public var description: String {
    let location = hub.map { " at \($0)" } ?? ""
    var words =
      switch phase {
      case .offline: "not connected"
      case .connecting, .welcoming: "connecting to a hub\(location)"
      case .live: "live\(location)" + (durability.map { ", durability \($0)" } ?? "") + (isInsecure ? ", INSECURE" : "")
      case .stopped(let reason): "stopped: \(reason)"
      }
    if waitsForUpstream { words += ", waiting(upstream)" }
    if let refusal { words += "; refused: \(refusal)" }
    if unconfirmed > 0 { words += "; \(unconfirmed) \(unconfirmed == 1 ? "write has" : "writes have") no outcome" }
    if case .memoryOnly(let problem) = outbox { words += "; its outbox lacks the newest writes: \(problem)" }
    return words
  }
}

extension Peer {
  /// The state of this peer's connection. Reads are tracked like those of a field's value.
  public var status: PeerStatus {
    ReadTracking.current == .nobody ? runtime.state.withLock { $0.peerStatus } : runtime.statusBroadcaster.read()
  }

  /// `status`, observable on the thread that changes it, or on a lane: `observe(on:lane:)`, `observeOnMain`.
  public var statuses: Statuses<PeerStatus> { Statuses(broadcaster: runtime.statusBroadcaster, subject: runtime) }

  /// Observes the status, now and at each change, on the thread that changes it: do not block there.
  public func observeStatus(_ body: @escaping @Sendable (PeerStatus) -> Void) -> ObserverToken {
    statuses.observe(body)
  }

  /// The number of writes without an outcome, over all models. To observe it alone:
  /// `statuses.derived(\.unconfirmed)`. Reads are tracked like those of the status.
  public var unconfirmed: Int {
    ReadTracking.current == .nobody ? runtime.state.withLock { $0.writes.count } : status.unconfirmed
  }
}

extension Peer {
  /// What the hub said last when it welcomed this peer; nil: none has.
  package var welcome: Welcome? { runtime.state.withLock { $0.session.welcome } }
}

extension PeerRuntime {
  var statusBroadcaster: StatusBroadcaster<PeerStatus> {
    broadcaster.object {
      StatusBroadcaster<PeerStatus>(
        present: { [weak self] in self?.state.withLock { $0.peerStatus } ?? PeerStatus(phase: .offline) },
        begin: { [weak self] _ in self?.state.withLock { $0.observed.isPeer = true } })
    }
  }

  /// Reports the peer's status while it is observed.
  func reportStatus() {
    guard let broadcaster = broadcaster.withLock({ $0 }) else { return }
    broadcaster.invalidate()
    if broadcaster.isObserved { return broadcaster.report() }
    state.withLock { $0.observed.isPeer = broadcaster.wasObserved }
  }
}

extension PeerRuntime.State {
  var peerStatus: PeerStatus {
    PeerStatus(
      phase: session.phase, hub: link.hub, logID: session.logID, epoch: session.epoch,
      durability: session.welcome?.durability,
      isInsecure: session.welcome?.capabilities.contains(Capability.insecure) ?? false,
      refusal: session.refusal.map { PrintedText.escaped($0) },
      waitsForUpstream: session.phase == .live && session.cutOffSince != nil, unconfirmed: writes.count,
      staleSince: session.phase == .live
        ? session.cutOffSince.map(PeerClock.instant) : PeerClock.instant(session.silentSince), outbox: outboxStatus)
  }
}
