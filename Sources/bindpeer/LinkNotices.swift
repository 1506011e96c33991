import BindingPeer
import BindingTerminal

/// Tells on standard error when a command that goes on for long loses its hub, and when one serves again.
final class LinkNotices: Sendable {
  /// Whether no hub serves, which served last, and why one refuses this peer, as told.
  private let told = Protected((isDown: false, hub: String?.none, refusal: String?.none))

  /// The status has changed. Callable from any thread.
  func tell(_ status: PeerStatus) {
    if case .stopped = status.phase { return }
    told.withLock { told in
      if status.isLive, told.isDown {
        (told.isDown, told.refusal) = (false, nil)
        let isOther = told.hub != nil && status.hub != told.hub
        Terminal.complain(isOther ? "! another hub serves now: \(status.hub ?? "")" : "! the hub is back")
      } else if !status.isLive, !told.isDown, status.epoch != nil {
        told.isDown = true
        Terminal.complain("! the hub does not answer; waiting")
      }
      if status.isLive { told.hub = status.hub }
      if told.isDown, let refusal = status.refusal, refusal != told.refusal {
        told.refusal = refusal
        Terminal.complain("! refused: \(refusal). Waiting")
      }
    }
  }
}
