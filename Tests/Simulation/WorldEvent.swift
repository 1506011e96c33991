import BindingHub
import BindingPeer
import BindingProtocol

/// What is to happen in a simulated world.
enum WorldEvent {
  /// The number of the hub, and what happens there.
  case hub(Int, HubEvent)
  /// Void once that process of the peer has ended.
  indirect case peer(Int, run: Int, PeerEvent)
  case tick(peer: Int, run: Int)
  /// A frame of the hub arrives at a peer.
  case frame([UInt8], peer: Int, generation: Int, isPublished: Bool)
  case connect(peer: Int, generation: Int)
  case endMute(peer: Int, generation: Int)
  /// The application of a peer does something.
  case step(peer: Int)
  case stepInEphemeralModel(peer: Int)
  case stepExpiring(peer: Int)
  case lookAtExpiring
  case startHub(Int)
  case endQuiet
  case forgeOffer(hubRun: Int)
  case attack
  case changeRights
  case changeKeys
}

/// What is to happen at the hub. What a run of it began is void in another.
enum HubEvent {
  case frame([UInt8], peer: Int, generation: Int)
  case subscription([UInt8], isOn: Bool, peer: Int, generation: Int)
  case appended([Batch], run: Int)
  case reload(String, run: Int)
  // Queries are large and rare.
  indirect case history(HistoryQuery, run: Int)
  case tick(run: Int)
  case resume(run: Int)
  /// In a cell: its handle of the log does what is due, and reaches the log again.
  case stepLog(run: Int)
  case healLog(run: Int)
  /// Its links to the other hubs do what is due, and a message of such a link arrives.
  case turnLinks(run: Int)
  case linkFrame([UInt8], ConnectionID, run: Int)
}

/// What is to happen at one process of a peer.
enum PeerEvent {
  case resume
  /// It stores what has changed in its replicas, or that is synced.
  case keep
  case kept
  case crash
  case disconnect
  /// It is cut off until the hub forgets it.
  case isolate
  case answer(model: Int, hops: UInt8)
  case merge(WriteID, model: Int, MergeQuestion)
  case withdraw(WriteID)
  case visit(step: Int)
  case rejoinEphemeralModel
  case withdrawInEphemeralModel(WriteID)
  case approve(ApprovalRequest, refuses: Bool)
}
