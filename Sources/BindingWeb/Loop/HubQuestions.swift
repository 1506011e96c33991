import BindingProtocol
import NIOCore

/// Requests the hub's status, for `/status.json` and `/metrics`. Each request has a connection of its own, so that
/// it is answered even before the hub has welcomed the gateway. Belongs to the event loop.
final class HubQuestions: @unchecked Sendable {  // SAFETY: all mutable state is accessed on `loop` only
  private let hub: any InProcessTransport
  private let loop: any EventLoop
  private let limit: TimeAmount
  private var waiting: [(JSON?) -> Void] = []
  private var link: HubLink?
  private var deadline: Scheduled<Void>?

  init(hub: any InProcessTransport, on loop: any EventLoop, timeout: Duration) {
    self.hub = hub
    self.loop = loop
    limit = TimeAmount(timeout)
  }

  /// Passes on the hub's report, or nil if none arrives in time. Callers during a pending request share its answer.
  func ask(_ answer: @escaping (JSON?) -> Void) {
    waiting.append(answer)
    guard link == nil else { return }
    deadline = loop.scheduleTask(in: limit) { self.finish(nil) }
    let link = HubLink(to: hub, on: loop) { link in self.receive(from: link) }
    self.link = link
    link.send(PeerMessage.status.encode(session: 0, start: 0))
  }

  func end() { finish(nil) }

  private func receive(from link: HubLink) {
    guard link === self.link else { return }
    let (frames, hasEnded) = link.take()
    for frame in frames {
      guard case .statusReport(let report)? = (try? HubMessage.decode(frame))?.message else { continue }
      return finish(try? report.json.json)
    }
    if hasEnded { finish(nil) }
  }

  private func finish(_ report: JSON?) {
    deadline?.cancel()
    link?.close()
    link = nil
    let asked = waiting
    waiting = []
    for answer in asked { answer(report) }
  }
}
