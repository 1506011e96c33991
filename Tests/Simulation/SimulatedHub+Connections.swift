import BindingHub
import BindingProtocol

/// Connections that have ended.
extension SimulatedHub {
  /// Both connections of a peer are gone.
  func closed(_ link: PeerLink) {
    guard isThere else { return }
    let topic = Topics.sessionTopic(link.session)
    topic.withUnsafeBytes { machine?.unsubscribed($0, by: UInt64(link.hubSide), time: time, into: &output) }
    closed(UInt64(link.hubSide))
  }

  /// Receives what a peer has said over a connection that it has given up, unless the hub was started again since. Only
  /// a hello matters: before it nothing of that connection means anything to a hub, and all else belongs to a session
  /// that has ended.
  func receiveLate(_ frame: [UInt8], of peer: SimulatedPeer, _ generation: Int) throws(Violation) {
    guard isThere, frame[0] == PeerMessageKind.hello.rawValue, peer.link.lost == generation, peer.link.lostIn == run
    else { return }
    record("\(peer) → hub  over a connection that it has lost: \(FrameText.text(ofPeerFrame: frame))")
    receive(frame, on: UInt64(generation))
    // One that comes before the next hello begins a session.
    let session = frame.withUnsafeBytes { PeerHeader.session(ofFrame: $0) }
    if read({ $0.hasOpenSession(session) }) == true {
      try invariants.observe(.received(frame, peer, self))
    } else if peer.link.isConnected {
      counts[.lateHello] += 1
    }
    closed(UInt64(generation))
    try settle()
  }
}
