import BindingHub
import BindingPeer
import BindingProtocol

/// What must hold at every moment of a history. An invariant learns what happens from observations alone.
protocol Invariant {
  /// Checks one step of the history. Throws if it must not have happened.
  mutating func observe(_ event: Observation) throws(Violation)

  /// Checks what must hold once everything has healed.
  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation)
}

extension Invariant {
  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {}
}

/// One step of a history, as seen from outside the machines.
enum Observation {
  /// A hub starts; its log is proven if it lacks nothing.
  case hubStarts(SimulatedHub, isProven: Bool)
  /// A peer has proven to the hub that commits are missing: another epoch begins with the log as it is.
  case epochBegins(SimulatedHub)
  /// The log has lost its end, whether the store notices or not.
  case logLost
  /// The hub wants these batches stored.
  case decided([Batch])
  case stored(Batch, SimulatedHub)
  /// A frame leaves the hub.
  case sent(UnsafeRawBufferPointer, HubMessageKind, HubOutput.Destination, SimulatedHub)
  /// A frame of a peer is about to be read by the hub.
  case received([UInt8], SimulatedPeer, SimulatedHub)
  /// A hub is about to read what another one passes on to it.
  case forwarded(Forward)
  /// A process of a hub has opened its log, which others share.
  case opened(SimulatedHub)
  /// A hub asks something of a log that others share, or is told something of it.
  case asked(ShardCall, SimulatedHub)
  case told(SharedEvent, SimulatedHub)
  /// The hub has read an offer.
  case offerRead([UInt8], SimulatedPeer, wasAccepted: Bool)
  /// The hub has done all that it had to do.
  case hubSettled
  /// A tick of the hub ended a peer's session.
  case sessionExpired(SimulatedPeer, isAfterPause: Bool)
  /// The hub is about to learn other rights and limits.
  case rightsChange

  /// A peer begins to read a frame of this kind, or has read it (nil).
  case reading(HubMessageKind?)
  /// A frame leaves a peer.
  case peerSent([UInt8], SimulatedPeer)
  /// An application makes a write, which may supersede others, or has made it (nil).
  case writing((id: WriteID, write: SimulatedWrite)?)
  case updated(ModelUpdate, SimulatedPeer)
  case ended(WriteID, model: String, Outcome, SimulatedPeer)
  case askedToMerge(WriteID, model: Int, SimulatedPeer)
  /// A replica differed from the hub at the same version.
  case diverged
  case barrierEnded(BarrierID, BarrierEnd, SimulatedPeer)
  case historyEnded(HistoryID, HistoryEnd, SimulatedPeer)
  /// A peer has performed all actions of its session.
  case peerSettled(SimulatedPeer)
}

/// All invariants of a history.
final class Invariants {
  let log: LogOracle
  let sessions: SessionOracle
  /// The truth about the first model's ephemeral model, if any peer joins it and there is one hub.
  let ephemeral: EphemeralOracle?
  /// The truth about fields that expire, if there are any.
  let expiry: ExpiryOracle?
  /// The truth about the model in which peers undo, if they do.
  let undo: UndoOracle?
  @exclusivity(unchecked) private var all: [any Invariant]

  init(_ context: SimulationContext) {
    log = LogOracle(modelNames: context.modelNames, mayRepeatWords: context.profile.forgetsSoon)
    sessions = SessionOracle(context)
    var all: [any Invariant] = [log, sessions]
    let approvals = ApprovalQuestions()
    let isCell = context.profile.cell.hubs > 1
    ephemeral = context.profile.hasEphemeralModel && !isCell ? EphemeralOracle(context, sessions, approvals) : nil
    if let ephemeral {
      all.append(ephemeral)
      all.append(
        ApprovalOracle(
          context: context, log: log, ephemeral: ephemeral, sessions: sessions, questions: approvals))
    }
    undo = context.profile.hasUndo ? UndoOracle() : nil
    if let undo { all.append(undo) }
    if context.profile.lists > 0 {
      all.append(ListOracle(context: context, log: log))
      all.append(ShownListOracle(context: context, log: log))
    }
    if context.rights != nil { all.append(AccessOracle(context: context, log: log)) }
    if context.profile.hasLimits { all.append(LimitOracle(context: context)) }
    expiry = context.profile.hasExpiry ? ExpiryOracle(context) : nil
    if let expiry { all.append(expiry) }
    if context.profile.hasKeys { all.append(KeysOracle(context: context)) }
    if isCell { all += [CellOracle(), SharedStoreOracle()] as [any Invariant] }
    if isCell, context.profile.hasOwner { all.append(CellOwnerOracle(context, log)) }
    all.append(SentStateOracle(context: context, log: log))
    all.append(ReplicaOracle(context: context, log: log))
    all.append(OfferOracle(context: context, log: log))
    if context.profile.barriers > 0 { all.append(BarrierOracle(context: context, sessions: sessions)) }
    if context.profile.histories > 0 { all.append(PastOracle(context: context)) }
    all.append(OutcomeOracle(context: context, log: log))
    all.append(ConvergenceOracle(context: context, log: log))
    self.all = all
  }

  func observe(_ event: Observation) throws(Violation) {
    for index in all.indices { try all[index].observe(event) }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for invariant in all { try invariant.atRest(hub, peers) }
  }
}
