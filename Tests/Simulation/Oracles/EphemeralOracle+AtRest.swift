import BindingHub
import BindingPeer
import BindingProtocol

/// An ephemeral model after everything has healed.
extension EphemeralOracle {
  /// All peers see exactly what the living peers have said.
  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    guard let head = hub.head(of: log.name) else { return }
    var living: [Tag: EphemeralMember] = [:]
    for peer in peers {
      guard let member = peer.member, !peer.outbox.isOver, peer.read({ $0.knows(log.name) }) else { continue }
      let mine = peer.session.version(of: log.name)
      guard mine == (log.epoch, head.version), peer.session.digest(of: log.name) == head.digest else {
        throw Violation(
          .convergence,
          "\(peer) has version \(mine.version) of \(log.name) in epoch \(mine.epoch), "
            + "the hub \(head.version) in \(log.epoch)")
      }
      if let (id, _) = member.unacknowledged.min(by: { $0.key < $1.key }) {
        throw Violation(.convergence, "write \(id.rawValue) of \(peer) to \(log.name) has no outcome")
      }
      living[peer.tag] = member
      try checkHas(peer, member)
    }
    for (field, held) in log.present.sorted(by: { $0.key < $1.key }) where !field.hasPrefix(Names.presencePrefix) {
      guard living[held.tag]?.has(field) != held.value else { continue }
      let words = living[held.tag].map { "wrote \(describe($0.has(field)))" } ?? "is not there"
      throw Violation(.living, "\(field) of \(log.name) is \(held.value) of \(held.tag.short), which \(words)")
    }
    if !living.isEmpty { try checkPresent(living, peers) }
  }

  private func checkHas(_ peer: SimulatedPeer, _ member: EphemeralMember)
    throws(Violation)
  {
    for field in member.fields where field != Names.me {
      guard let value = member.has(field), log.present[field]?.value != value else { continue }
      let other = log.present[field]?.tag
      // Another peer may have been quicker while the hub took this one for gone, and be gone itself by now.
      let isLost =
        other.map { $0 != peer.tag } ?? (member.refusedClaims > 0 || member.refused.contains(field))
      if member.mayHaveLost, isLost { continue }
      throw Violation(
        .living,
        "\(peer) wrote \(field) = \(value) in \(log.name), where it is "
          + describe(log.present[field]?.value))
    }
  }

  /// Every peer in the model has exactly one slot, which shows what it says; no other slots exist.
  private func checkPresent(_ living: [Tag: EphemeralMember], _ peers: [SimulatedPeer]) throws(Violation) {
    var slots: [Tag: FieldValue] = [:]
    for (field, held) in log.present where field.hasPrefix(Names.presencePrefix) {
      guard let tag = EphemeralLog.slotOwner(held), slots.updateValue(held.value, forKey: tag) == nil else {
        throw Violation(.living, "\(field) of \(log.name) is \(held.value)")
      }
    }
    for peer in peers where !peer.outbox.isOver && peer.session.joinedModels.contains(modelNames[0]) {
      let tag = peer.tag
      guard let slot = slots.removeValue(forKey: tag) else {
        throw Violation(.living, "\(peer) is in \(modelNames[0]), and has no presence slot in \(log.name)")
      }
      // A peer that leaves the model gives up its slot, and with it what it says.
      guard profile.leaves == 0, let member = living[tag], case let announcement = (try? slot.json)?["says"],
        announcement != (try? member.has(Names.me)?.json)
      else { continue }
      throw Violation(.living, "\(peer) wrote \(describe(member.has(Names.me))), and its presence slot is \(slot)")
    }
    if let (tag, _) = slots.min(by: { $0.key < $1.key }) {
      throw Violation(.living, "\(log.name) has a presence slot of \(tag.short), which is not there")
    }
  }

  /// Whether a field still belongs to a peer that is gone.
  func hasFieldsOfAbsent(_ peers: [SimulatedPeer]) -> Bool {
    log.present.contains { field, held in
      let tag = field.hasPrefix(Names.presencePrefix) ? EphemeralLog.slotOwner(held) : held.tag
      return !peers.contains { $0.tag == tag && !$0.outbox.isOver }
    }
  }
}
