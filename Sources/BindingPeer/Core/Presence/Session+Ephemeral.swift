public import BindingProtocol

/// Ephemeral lines (protocol.md §9): to a session they are models like others, but for their life and their claims.
extension Session {
  /// Whether the present hub can do something that not every hub can.
  func hubCan(_ capability: String) -> Bool { welcome?.capabilities.contains(capability) ?? false }

  /// The life that a line is in, where a message about several lines names that of the log: ephemeral ones live as
  /// long as the hub's process.
  func modelEpoch(of id: String, ifStored epoch: Epoch) -> Epoch {
    models.index(of: id).map { models[at: $0].isEphemeral } == true ? Epoch(start) : epoch
  }

  /// Writes again what this peer has in ephemeral lines, for the hub may have taken it for gone, or be another process.
  /// Where it has not, nothing happens there.
  mutating func claimAgain(now: UInt64, _ output: inout PeerOutput) {
    for id in models.keys.sorted() where Names.isEphemeral(id) { claim(in: id, now: now, &output) { _, _ in true } }
  }

  /// The same for what is not there though nothing is under way: its write was decided before the hub took us for gone.
  /// What it should not have any more is given up, if that has not been done.
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

  /// In a line that is another now, or has forgotten this peer, nobody knows what became of a write of which only that
  /// it was decided is known: sent again, it would be carried out behind what was written after it. What it said is
  /// claimed, but for what a later write took back. Nor does anybody know it of a write that was withdrawn: `expired`
  /// would say that it was never carried out. What was said before it stands.
  mutating func endDecided(at index: Int) {
    for write in models[at: index].outbox.order {
      guard let pending = models[at: index].outbox[write], pending.number != nil, pending.isUnacknowledged,
        pending.isHidden || pending.isVoid
      else { continue }
      end(write, as: .unknown("the hub has forgotten this peer"), at: index)
      if !pending.isVoid { models[at: index].claims.apply(pending, isKept: false) }
    }
  }

  /// A line that was left without the hub hearing of it, and joined again before the hub would have taken this peer for
  /// gone: nothing of what it had there was said by who joins now.
  mutating func findOrphanedFields(at index: Int, now: UInt64, _ output: inout PeerOutput) {
    guard models[at: index].isEphemeral, models[at: index].orphanedFields == nil else { return }
    let (replica, tag) = (models[at: index].replica, identity.tag)
    let own = replica.fields.filter { $0.value != nil && $0.origin.tag == tag }.map(\.name)
    let announced = replica.value(of: Names.me, ifOf: tag) == nil ? [] : [Names.me]
    models[at: index].orphanedFields = own.filter { !$0.hasPrefix(Names.presencePrefix) }.sorted() + announced
    giveUpOrphanedFields(at: index, now: now, &output)
  }

  /// Deletes them, what cannot be written now with a later heartbeat, but for what the program has said there
  /// meanwhile.
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
      // Nobody waits for its outcome. Where there is no room for it now, there is later.
      _ = try? write(Proposal(operations: [FieldOperation(.set, field, value)]), to: id, now: now, into: &output)
    }
  }

  /// The owner's answer to `PeerAction.approve`; nothing is said if the hub was lost since.
  /// - Parameter reason: why not; nil: it may be carried out.
  public mutating func answer(
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
  /// A write of this ephemeral line has its outcome.
  mutating func claim(_ write: Pending, after outcome: Outcome, as tag: Tag) {
    switch outcome {
    case .committed: claims.apply(write, isKept: false)
    case .unchanged: claims.apply(write, isKept: true)
    case .superseded, .expired: break
    case .refused(let refusal):
      guard let number = write.number else { return }
      for operation in write.overlay {
        // It is another's by now, or the hub does not take any more what it took once: a description came between.
        let isLost =
          refusal.code == .notOwner
          ? replica.isOthers(operation.field, than: tag) : claims.claims(operation.value, in: operation.field)
        if isLost { claims.record(nil, in: operation.field, by: number) }
      }
    case .conflict, .unknown:
      // Of a withdrawn write nobody knows; what was said before it stands.
      guard let number = write.number, !write.isVoid else { return }
      for field in write.overlay.map(\.field) where !field.hasPrefix(Names.presencePrefix) {
        // The replica does not have yet what an earlier write says that is still under way.
        guard !outbox.isUnacknowledged(field, before: number) else { continue }
        claims.record(replica.value(of: field, ifOf: tag), in: field, by: number)
      }
    }
  }
}

extension Replica {
  /// Whether a field of an ephemeral line has the value that its peer claims.
  func holds(_ value: FieldValue, in field: String, of tag: Tag) -> Bool {
    let own = self.value(of: field, ifOf: tag)
    return field == Names.me ? own?.jsonIfValid == value.jsonIfValid : own == value
  }

  /// Whether another peer has a field of an ephemeral line.
  func isOthers(_ field: String, than tag: Tag) -> Bool {
    index(of: field).map { fields[$0].value != nil && fields[$0].origin.tag != tag } ?? false
  }

  /// What a peer has in a field of an ephemeral line; nil: nothing, or it is another's.
  func value(of field: String, ifOf tag: Tag) -> FieldValue? {
    guard field == Names.me else {
      return index(of: field).flatMap { fields[$0].origin.tag == tag ? fields[$0].value : nil }
    }
    // What a peer says stands in the field of its place.
    let slot = fields.lazy.filter { $0.name.hasPrefix(Names.presencePrefix) }.compactMap { $0.value?.jsonIfValid }
      .first { $0["tag"] == .string(tag.description) }
    return slot?["says"].map { FieldValue(json: $0) }
  }
}
