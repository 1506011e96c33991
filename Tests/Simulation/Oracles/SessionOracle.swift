import BindingHub
import BindingPeer
import BindingProtocol

/// Which peers the hub must take for living, and in which models, by what it has received from them (R16, §9).
final class SessionOracle: Invariant, SimulationPart {
  /// What the hub has received from each peer, by tag, as seen from outside.
  struct Received {
    var last: [Tag: UInt64] = [:]
    var hello: [Tag: UInt64] = [:]
    var session: [Tag: SessionID] = [:]
    /// When a member of the model said hello again.
    var comingBack: [Tag: UInt64] = [:]
    /// Since when each peer is in the model by a join after its last hello; and the peers in its ephemeral model.
    var inModel: [Tag: UInt64] = [:]
    var inEphemeralModel: Swift.Set<Tag> = []
    /// The session of an answered join to the model, and how often the peer had left the model before.
    struct Membership: Equatable {
      let session: SessionID
      let leaves: Int
    }
    var served: [Tag: Membership] = [:]
    var leaves: [Tag: Int] = [:]
    /// The peer that is leaving now.
    var leaving: Tag?
  }

  let context: SimulationContext
  private let model: String
  private let ephemeralModel: String?
  @exclusivity(unchecked) private(set) var received = Received()

  init(_ context: SimulationContext) {
    self.context = context
    model = context.modelNames[0]
    ephemeralModel = context.profile.hasEphemeralModel ? Names.ephemeral(model) : nil
  }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .sessionExpired(let peer, let isAfterPause): try checkLease(of: peer, isAfterPause)
    // Other histories do not need the rest.
    case _ where !profile.hasEphemeralOrBarriers: break
    // Another run of the hub has received nothing yet.
    case .hubStarts: received = Received()
    case .received(let frame, let peer, _): record(frame, of: peer)
    case .sent(let frame, .joined, .connection(let connection), let hub):
      guard case (_, .joined(let joined))? = try? HubMessage.decode(frame), joined.model == model,
        let peer = hub.network.peer(on: connection)
      else { return }
      received.served[peer.tag] = .init(session: joined.session, leaves: received.leaves[peer.tag] ?? 0)
    case .hubSettled: received.leaving = nil
    default: break
    }
  }

  /// R16: only silence ends a session, and the hub never blames a peer for a pause of its own.
  private func checkLease(of peer: SimulatedPeer, _ isAfterPause: Bool) throws(Violation) {
    let heard = peer.link.receivedAt
    guard isAfterPause || now < heard + UInt64(profile.leaseMilliseconds) else { return }
    throw Violation(.lease, "the session of \(peer) expired, although the hub received from it at \(heard) ms")
  }

  private func record(_ frame: [UInt8], of peer: SimulatedPeer) {
    let tag = peer.tag
    // If its session has ended, nothing that it sends before another hello counts.
    if !isLiving(tag) {
      forget(tag)
      received.comingBack[tag] = nil
    }
    received.last[tag] = now
    guard let kind = PeerMessageKind(rawValue: frame[0]) else { return }
    switch kind {
    case .hello, .join, .leave: break
    default: return
    }
    guard let (header, message) = try? PeerMessage.decode(frame) else { return }
    switch message {
    case .hello:
      received.hello[tag] = now
      received.session[tag] = header.session
      if received.inModel[tag] != nil { received.comingBack[tag] = now }
      forget(tag)
    case .join(let joins) where peer.hub.read({ $0.hasOpenSession(header.session) }) == true:
      for join in joins where join.form == .model {
        if join.name == model { received.inModel[tag] = received.inModel[tag] ?? now }
        if join.name == ephemeralModel { received.inEphemeralModel.insert(tag) }
      }
    case .leave(let leave):
      received.leaving = tag
      if leave.topics.isEmpty { return forget(tag) }
      for topic in leave.topics {
        let name = peer.hub.name(of: topic)
        if name == model {
          received.inModel[tag] = nil
          received.comingBack[tag] = nil
          received.served[tag] = nil
          received.leaves[tag, default: 0] += 1
        }
        if name == ephemeralModel { received.inEphemeralModel.remove(tag) }
      }
    default: break
    }
  }

  private func forget(_ tag: Tag) {
    received.inModel[tag] = nil
    received.inEphemeralModel.remove(tag)
    received.served[tag] = nil
  }

  /// Whether the hub must not have taken it for gone.
  func isLiving(_ tag: Tag) -> Bool {
    received.last[tag].map { now < $0 + UInt64(profile.leaseMilliseconds) } ?? false
  }
}
