import BindingProtocol
import Testing

@testable import BindingHub

/// Two hubs over one log. "ann" may own "lamp" at the first one; "ben" writes at the second.
struct OwnerCell {
  var cell = CellBench(hubs: 0)
  static let starts: [StartNumber] = [HubBench.start, 7]
  static let hub = Speaker(40, "hub 1")
  static let ephemeral = Names.ephemeral("lamp")

  /// - Parameter deletedNames: so many the second hub lets a model have before it renumbers its fields; then ben is not
  ///   there yet.
  init(deletedNames: Int? = nil) {
    for (start, other) in zip(OwnerCell.starts, OwnerCell.starts.reversed()) {
      cell.open(start: start, siblings: [other]) { if start != HubBench.start { $0.maxDeletedNames = deletedNames } }
    }
    cell.step()
    enter(0, .ann)
    if deletedNames == nil { enter(1, .ben) }
    cell.greet(0, OwnerCell.hub)
  }

  mutating func enter(_ hub: Int, _ peer: Speaker) {
    cell.hello(hub, peer, capabilities: [Capability.users, Capability.ephemeral])
    cell.join(hub, peer)
    cell.step()
    cell.join(hub, peer, Join(request: 2, model: OwnerCell.ephemeral))
    cell.step()
  }

  mutating func propose(
    _ hub: Int, _ peer: Speaker, _ number: ProposalNumber, _ operation: WireOperation
  ) -> WireOutcome.Rest? {
    let topic = cell.topic(hub, of: OwnerCell.ephemeral)
    let received = cell.send(hub, peer, .propose([.of(number, [operation], topic: topic)]))
    return received.outcomes(peer, topic: topic)[number]
  }

  /// A peer asks until the hub has answered.
  mutating func claim(_ hub: Int, _ peer: Speaker, _ number: ProposalNumber = 1) -> WireOutcome.Rest? {
    var outcome: WireOutcome.Rest?
    for _ in 0..<5 {
      outcome = propose(hub, peer, number, .set(Names.owner, "1"))
      guard case .retryLater? = outcome else { return outcome }
      cell.step()
    }
    return outcome
  }

  func question(_ received: Received, to peer: Speaker = .ann) -> ApprovalRequest? {
    received.messages(to: peer).lazy.compactMap { if case .approve(let request) = $0 { request } else { nil } }.first
  }

  @discardableResult
  mutating func answer(_ request: ApprovalRequest?, _ reason: String? = nil) -> [Received] {
    guard let request else {
      Issue.record("nobody was asked")
      return cell.step()
    }
    let approval = Approval(
      topic: request.topic, token: request.token, isAccepted: reason == nil, text: reason ?? "")
    let received = cell.send(0, .ann, .approval(approval))
    var all = cell.step()
    all[0] = received + all[0]
    return all
  }

  /// ben writes, and the second hub passes it on to the first one.
  mutating func writeElsewhere(_ number: ProposalNumber, _ value: String) -> Received {
    cell.send(1, .ben, .propose([.of(number, [.set("on", value)])]))
    cell.step()
    return cell.forward(from: 1, to: 0, as: OwnerCell.hub)
  }
}
