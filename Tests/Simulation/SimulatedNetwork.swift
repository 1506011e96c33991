import BindingHub
import BindingProtocol

/// The peers' connections to the hub: late, lossy, and at times dead in one direction.
final class SimulatedNetwork: SimulationPart {
  let context: SimulationContext
  /// The peers at its ends. Peers that send an earlier run's writes follow those of the profile.
  @exclusivity(unchecked) var peers: [SimulatedPeer] = []
  /// What the end of the history withholds from one peer.
  @exclusivity(unchecked) var tailLoss: TailLoss?
  /// Published frames about models so far.
  @exclusivity(unchecked) private var modelFrames = 0
  /// Chance for peers that are away for so long that the hub forgets them.
  @exclusivity(unchecked) private var isolationChance: Chance

  init(_ context: SimulationContext, isolationChance: Chance) {
    self.context = context
    self.isolationChance = isolationChance
  }

  func peer(on connection: ConnectionID) -> SimulatedPeer? { peers.first { $0.link.hubSide == Int(connection) } }

  /// Breaks the cycles of references in which peers stand: with the hub, and with the peers that send for them.
  func removePeers() {
    for peer in peers { peer.outbox = PeerOutbox() }
    peers.removeAll()
  }

  // MARK: Frames

  /// Sends a frame of the hub.
  func send(_ frame: [UInt8], to peer: SimulatedPeer, isPublished: Bool) {
    guard peer.link.isConnected else { return }
    var copies = 1
    if isPublished {
      if tailLoss?.drops(frame, to: peer.index) == true { return }
      let isOfModel = frame[0] != 0 && frame[3] != 0
      if isOfModel {
        modelFrames += 1
        // The end of the history already loses as much as the protocol tolerates.
        if profile.droppedFrame == modelFrames - 1, tailLoss == nil { copies = 0 }
      }
      let isDeaf = now < peer.link.deafUntil
      if isChaos, isDeaf || chance.perMille(profile.lostFrames) { copies = 0 }
      if isChaos, copies == 1, chance.perMille(profile.repeatedFrames) { copies = 2 }
    }
    if copies == 0 { counts[.lostFrame] += 1 }
    for _ in 0..<copies {
      let event = WorldEvent.frame(frame, peer: peer.index, generation: peer.link.generation, isPublished: isPublished)
      if isPublished {
        deliver(event, within: profile.publishDelay, after: &peer.link.lastPublishArrival)
      } else {
        deliver(event, within: profile.requestDelay, after: &peer.link.lastRequestArrival)
      }
    }
  }

  /// Sends a frame of a peer.
  func send(_ frame: [UInt8], of peer: SimulatedPeer) {
    deliver(
      .hub(peer.hub.index, .frame(frame, peer: peer.index, generation: peer.link.hubSide)),
      within: profile.requestDelay,
      after: &peer.link.lastUpArrival)
  }

  func subscribe(_ topic: [UInt8], _ isOn: Bool, of peer: SimulatedPeer) {
    // Who lacks the right cannot connect to where the hub publishes.
    if let rights = context.rights, !rights.users[peer.user].hasFanout { return }
    deliver(
      .hub(
        peer.hub.index, .subscription(topic, isOn: isOn, peer: peer.index, generation: peer.link.generation)),
      within: profile.publishDelay, after: &peer.link.lastSubscriptionArrival)
  }

  /// Frames of one direction of a connection keep their order.
  private func deliver(_ event: WorldEvent, within longest: UInt64, after last: inout UInt64) {
    last = max(now + chance.within(1...longest), last)
    agenda.add(event, at: last)
  }

  // MARK: Faults

  /// Cuts one direction of a peer's connections for a while: either no published frame arrives at the peer, or no
  /// frame of the peer arrives at the hub, which ends with a broken connection.
  func cutOneWay(_ peer: SimulatedPeer) {
    counts[.oneWayCut] += 1
    let end = now + chance.within(500...6_000)
    if chance.perMille(500) {
      record("\(peer) receives nothing that is published")
      peer.link.deafUntil = end
    } else {
      record("nothing that \(peer) sends arrives")
      peer.link.muteUntil = end
      agenda.add(.endMute(peer: peer.index, generation: peer.link.generation), at: end)
    }
  }

  /// A peer may disappear before it receives an outcome, or the welcome that says that the hub has forgotten it (R11).
  func isolateSometimes(_ frame: UnsafeRawBufferPointer, _ kind: HubMessageKind, _ destination: HubOutput.Destination) {
    guard profile.forgetsSoon, kind == .outcomes || kind == .welcome,
      case .connection(let connection) = destination, let peer = peer(on: connection),
      let (_, message) = try? HubMessage.decode(frame)
    else { return }
    switch message {
    case .outcomes:
      if isolationChance.perMille(60) { context.schedule(.isolate, of: peer, at: now) }
    case .welcome(let welcome) where !welcome.knewIdentity:
      if isolationChance.perMille(300) { context.schedule(.disconnect, of: peer, at: now) }
    default: break
    }
  }

  /// How long a peer stays away to be forgotten.
  func isolationTime() -> UInt64 {
    UInt64(profile.leaseMilliseconds) + isolationChance.within(100...2_500)
  }
}
