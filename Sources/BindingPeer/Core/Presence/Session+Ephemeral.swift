package import BindingProtocol

/// Ephemeral models (protocol.md §9). To a session they are models like others, except for their epochs and claims.
extension Session {
  /// Whether the current hub has an optional capability.
  func hubCan(_ capability: String) -> Bool { welcome?.capabilities.contains(capability) ?? false }

  /// The epoch of a model named in a message about several models, which carries the log's epoch: an ephemeral model
  /// lives as long as the hub's process.
  func modelEpoch(of id: String, ifStored epoch: Epoch) -> Epoch {
    models.index(of: id).map { models[at: $0].isEphemeral } == true ? Epoch(start) : epoch
  }

  /// Claims this peer's ephemeral fields again: the hub may have taken it for gone, or may be another process.
  /// Otherwise the claims change nothing.
  mutating func claimAgain(now: UInt64, _ output: inout PeerOutput) {
    for id in models.keys.sorted() where Names.isEphemeral(id) { claim(in: id, now: now, &output) { _, _ in true } }
  }

  /// Claims again what is missing although no write is under way: its write was decided before the hub took this peer
  /// for gone. Gives up the orphaned fields that remain.
  mutating func claimLost(now: UInt64, _ output: inout PeerOutput) {
    for id in ids(where: { models[at: $0].isEphemeral && models[at: $0].isCurrent }) {
      guard let index = models.index(of: id) else { continue }
      giveUpOrphanedFields(at: index, now: now, &output)
      guard !models[at: index].claims.isEmpty else { continue }
      models[at: index].claims.forget(before: models[at: index].outbox.lowestUnacknowledged)
      let (replica, tag) = (models[at: index].replica, identity.tag)
      claim(in: id, now: now, &output) { !replica.holds($1, in: $0, of: tag) }
    }
  }

  /// Ends decided writes in a model that was recreated or has forgotten this peer. Their results are unknown, and
  /// resent they would apply after later writes. Their values are claimed, except those that a later write took back.
  /// A withdrawn write also ends as unknown, because `expired` would claim that it was never applied; its value is
  /// not claimed.
  mutating func endDecided(at index: Int) {
    for write in models[at: index].outbox.order {
      guard let pending = models[at: index].outbox[write], pending.number != nil, pending.isUnacknowledged,
        pending.isHidden || pending.isVoid
      else { continue }
      end(write, as: .unknown("the hub has forgotten this peer"), at: index)
      if !pending.isVoid { models[at: index].claims.apply(pending, isKept: false) }
    }
  }

  /// Finds this peer's fields from before it joined: the model was left without the hub learning of it, and joined
  /// again before the hub would have taken this peer for gone. The program has announced none of them since.
  mutating func findOrphanedFields(at index: Int, now: UInt64, _ output: inout PeerOutput) {
    guard models[at: index].isEphemeral, models[at: index].orphanedFields == nil else { return }
    let (replica, tag) = (models[at: index].replica, identity.tag)
    let own = replica.fields.filter { $0.value != nil && $0.origin.tag == tag }.map(\.name)
    let announced = replica.value(of: Names.me, ifOf: tag) == nil ? [] : [Names.me]
    models[at: index].orphanedFields = own.filter { !$0.hasPrefix(Names.presencePrefix) }.sorted() + announced
    giveUpOrphanedFields(at: index, now: now, &output)
  }

  /// Deletes the orphaned fields, except those that the program has written since. What cannot be written now is
  /// retried with a later heartbeat.
  private mutating func giveUpOrphanedFields(at index: Int, now: UInt64, _ output: inout PeerOutput) {
    guard let found = models[at: index].orphanedFields, !found.isEmpty else { return }
    let (model, tag) = (models[at: index], identity.tag)
    let left = found.filter { model.replica.value(of: $0, ifOf: tag) != nil && !model.claims.has($0) }
    models[at: index].orphanedFields = left
    for field in left where !model.outbox.isUnacknowledged(field) {
      _ = try? write(Proposal(operations: [FieldOperation(.delete, field)]), to: model.id, now: now, into: &output)
    }
  }

  private mutating func claim(
    in id: String, now: UInt64, _ output: inout PeerOutput, where isMissing: (String, FieldValue) -> Bool
  ) {
    guard let model = models[id] else { return }
    for (field, value) in model.claims.all where !model.outbox.isUnacknowledged(field) && isMissing(field, value) {
      // No caller waits for the outcome. If the outbox has no room now, a later claim succeeds.
      _ = try? write(Proposal(operations: [FieldOperation(.set, field, value)]), to: id, now: now, into: &output)
    }
  }

  /// Sends the owner's answer to `PeerAction.approve`, unless the connection was lost since.
  /// - Parameter reason: why the write is refused; nil: it may be applied.
  package mutating func answer(
    _ request: ApprovalRequest, refusing reason: String?, now: UInt64, into output: inout PeerOutput
  ) {
    guard phase == .live, request.session == sessionID else { return }
    var text = reason ?? ""
    while text.utf8.count > Approval.maxTextBytes { text.removeLast() }
    send(
      .approval(Approval(topic: request.topic, token: request.token, isAccepted: reason == nil, text: text)), now: now,
      &output)
  }
}

extension PeerModel {
  /// Updates the claims by the outcome of a write to this ephemeral model.
  mutating func claim(_ write: Pending, after outcome: Outcome, as tag: Tag) {
    switch outcome {
    case .committed: claims.apply(write, isKept: false)
    case .unchanged: claims.apply(write, isKept: true)
    case .superseded, .expired: break
    case .refused(let refusal):
      guard let number = write.number else { return }
      for operation in write.overlay {
        // Another peer owns it by now, or a new description excludes a value that the hub accepted before.
        let isLost =
          refusal.code == .notOwner
          ? replica.isOthers(operation.field, than: tag) : claims.claims(operation.value, in: operation.field)
        if isLost { claims.record(nil, in: operation.field, by: number) }
      }
    case .conflict, .unknown:
      // The result of a withdrawn write is unknown; earlier values stand.
      guard let number = write.number, !write.isVoid else { return }
      for field in write.overlay.map(\.field) where !field.hasPrefix(Names.presencePrefix) {
        // An earlier write is under way, and the replica does not have its value yet.
        guard !outbox.isUnacknowledged(field, before: number) else { continue }
        claims.record(replica.value(of: field, ifOf: tag), in: field, by: number)
      }
    }
  }
}

extension Replica {
  /// Whether a field of an ephemeral model has the value that its peer claims.
  func holds(_ value: FieldValue, in field: String, of tag: Tag) -> Bool {
    let own = self.value(of: field, ifOf: tag)
    return field == Names.me ? own?.jsonIfValid == value.jsonIfValid : own == value
  }

  /// Whether another peer has a field of an ephemeral model.
  func isOthers(_ field: String, than tag: Tag) -> Bool {
    index(of: field).map { fields[$0].value != nil && fields[$0].origin.tag != tag } ?? false
  }

  /// The value that a peer has in a field of an ephemeral model; nil: none, or the field is another peer's.
  func value(of field: String, ifOf tag: Tag) -> FieldValue? {
    guard field == Names.me else {
      return index(of: field).flatMap { fields[$0].origin.tag == tag ? fields[$0].value : nil }
    }
    // A peer's announcement is stored in the field of its presence slot.
    let slot = fields.lazy.filter { $0.name.hasPrefix(Names.presencePrefix) }.compactMap { $0.value?.jsonIfValid }
      .first { $0["tag"] == .string(tag.description) }
    return slot?["says"].map { FieldValue(json: $0) }
  }
}
