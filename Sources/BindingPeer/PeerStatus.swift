public import BindingWire

/// How a peer stands to its hub.
public struct PeerStatus: Sendable, Equatable {
  /// How far the session has come; writing works in all but `stopped`.
  public var phase: Phase
  /// The address of the hub in use, or being tried.
  public var hub: String?
  /// The hub's log and its epoch, once one was seen.
  public var logID: LogID?
  public var epoch: Epoch?
  /// Writes without an outcome, of all models.
  public var unconfirmed: Int = 0
  /// Where those writes are kept.
  public var outbox: OutboxStatus = .memory

  /// Whether the hub answers.
  public var isLive: Bool { phase == .live }
  /// Whether this peer has ended for good.
  public var isStopped: Bool { phase.isStopped }
}
