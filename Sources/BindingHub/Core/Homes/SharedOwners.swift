import BindingProtocol

/// Who owns a model, as the log says that several hubs share. Only the hub where the owner is asks it, so all others
/// pass on to that hub what is written to the model.
struct RecordedOwner: Hashable {
  let origin: Origin
  /// The number of the start of the owner's hub.
  let hub: StartNumber
}

/// A peer wants to own a model. Its proposal is decided once the log says that it does.
struct OwnerClaim {
  let origin: Origin
  /// A peer that has not proposed it again by then, on the monotonic clock, does not want it any more.
  let until: UInt64

  static let milliseconds: UInt64 = 3_000
}

/// What the sequencer knows of owners where several hubs share the log.
struct SharedOwners {
  /// The number of this hub's start.
  let start: StartNumber
  /// Whether all hubs that this one reaches ask the owners of models.
  var areAsked = false

  /// nil: the hub has its log alone.
  init?(_ configuration: HubMachineConfiguration, start: StartNumber) {
    guard configuration.isShared else { return nil }
    self.start = start
  }
}

extension OwnerApproval {
  /// Whether the log says that the owner is at another hub than the one with this number.
  func isElsewhere(from start: StartNumber) -> Bool {
    return recorded.map { $0.hub != start } ?? false
  }

  /// Whether the log says that this peer owns the model, at the hub with this number.
  func isOwned(by tag: Tag?, at start: StartNumber) -> Bool {
    recorded.map { $0.hub == start && $0.origin.tag == tag } ?? false
  }

  /// Whether the log says that a peer at the hub with this number owns the model, and the peer is still to propose it
  /// again. What others write waits: it may have owned the model at another hub a moment ago.
  func isAwaited(at start: StartNumber) -> Bool {
    return claim.map { isOwned(by: $0.origin.tag, at: start) && $0.origin.tag != owner } ?? false
  }

  /// Whether the log is to say something else soon.
  func isUnsettled(at start: StartNumber) -> Bool {
    claim != nil || missingSince != nil || recorded.map { $0.hub == start && $0.origin.tag != owner } ?? false
  }

  /// When something is due for the log, on the monotonic clock.
  /// - Parameter lease: how long a hub that nobody reaches stays the owner's, milliseconds.
  func deadline(lease: UInt64) -> UInt64 { min(claim?.until ?? .max, missingSince.map { $0 + lease } ?? .max) }

  /// What the log is to say next; nil: what it says.
  func due(at start: StartNumber, lease: UInt64, now: UInt64) -> Decision? {
    if let claim, recorded.map({ $0.hub == start || $0.origin.tag == claim.origin.tag }) ?? true {
      return isOwned(by: claim.origin.tag, at: start) ? nil : Decision(start, of: claim.origin, form: .owner)
    }
    guard let recorded else { return nil }
    let isOver = recorded.hub == start ? recorded.origin.tag != owner : missingSince.map { $0 + lease <= now } ?? false
    return isOver ? Decision(0, of: recorded.origin, form: .owner) : nil
  }
}

// MARK: The log

extension HubMachine {
  /// Adds to a model's batch what changes about its owner, and passes on what waits for an owner elsewhere.
  mutating func tendOwner(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let (model, now) = (hub.models[index], time.monotonic)
    guard shared != nil, model.approval.recorded != nil || model.approval.claim != nil, model.ephemeral == nil,
      model.removal == nil, !model.batch.isAppending, model.position.tail != nil
    else { return }
    if let claim = model.approval.claim, claim.until <= now { model.approval.claim = nil }
    if model.approval.isElsewhere(from: hub.start) { goOnAtOwner(index, time, &output) }
    guard let due = model.approval.due(at: hub.start, lease: hub.lease, now: now) else { return }
    model.batch.borrow()
    model.batch.pending.decisions.append(due)
  }

  /// Does what follows where the log says something else about a model's owner: a peer here owns the model no longer
  /// if the log does not say so, and what a sibling's peer has claimed shows.
  mutating func followOwner(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.approval.followed != model.approval.recorded else { return }
    model.approval.followed = model.approval.recorded
    model.approval.missingSince = nil
    hub.models.touch(index)
    guard let whole = model.counterpart else { return }
    if let owner = model.approval.owner, !model.approval.isOwned(by: owner, at: hub.start) {
      hub.change(whole, [(Names.owner, nil)], time)
    }
    siblings.show([hub.models[whole].id: [Names.owner]], presence, &hub, time)
    settleEphemeral(whole, time, &output)
  }

  /// Whether all hubs that this one reaches ask the owners of models has changed.
  mutating func learnWhoAsks() { proposals.sequencer.owners?.areAsked = siblings.askOwners }
}

// MARK: Other hubs

extension HubMachine {
  /// Goes on in a model whose owner is at another hub: answers what is decided, and passes on what waits. While that
  /// hub is out of reach everything waits.
  mutating func goOnAtOwner(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let (model, now) = (hub.models[index], time.monotonic)
    guard let owner = model.approval.recorded else { return }
    answerPassed(index, time)
    let link = siblings.link(to: owner.hub)
    let lostAt = siblings.lostAt(of: owner.hub) ?? now
    model.approval.missingSince = link == nil ? min(model.approval.missingSince ?? now, lostAt) : nil
    let home = model.batch.shared.home
    if home.link != link || home.isOwners != (link != nil) || home.answerBy <= now {
      model.batch.waiting.insert(contentsOf: model.batch.shared.home.end(at: now), at: 0)
      if let link { model.batch.shared.home.move(to: link, ofOwner: hub.configuration.approvalMilliseconds, at: now) }
    }
    // Who passed it on sees in the log where it belongs.
    model.batch.waiting.removeAll(where: \.isForwarded)
    if let link, !model.batch.waiting.isEmpty { passWaiting(index, to: link, time, &output) }
  }

  /// The owner is elsewhere no longer: what was passed on is decided here.
  mutating func leaveOwner(_ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    answerPassed(index, time)
    model.batch.waiting.insert(contentsOf: model.batch.shared.home.end(at: time.monotonic), at: 0)
  }
}
