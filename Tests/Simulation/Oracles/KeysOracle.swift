import BindingPeer
import BindingProtocol

/// The hub's keys: once all has healed, each peer with a session was told the present ones last (protocol.md §15.8).
struct KeysOracle: Invariant, SimulationPart {
  let context: SimulationContext

  mutating func observe(_ event: Observation) throws(Violation) {}

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for peer in peers where hub.isRunning && peer.session.phase == .live {
      var learned = peer.process.learned
      learned?.session = 0
      guard learned != hub.keys else { continue }
      throw Violation(.hubKeys, "\(peer) was not told the keys that the hub has and will have")
    }
  }
}
