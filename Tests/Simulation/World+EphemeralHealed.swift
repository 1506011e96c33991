import BindingHub
import BindingPeer
import BindingProtocol

/// An ephemeral model after everything has healed.
extension World {
  /// All peers see exactly what the living peers have said.
  func checkEphemeralModelHealed() throws(Violation) {
    guard let ephemeral, let head = hub?.head(of: ephemeral.name) else { return }
    var living: [Tag: EphemeralMember] = [:]
    for peer in peers {
      guard let member = peer.member, !peer.outbox.isOver, peer.read({ $0.knows(ephemeral.name) }) else { continue }
      let mine = peer.session.version(of: ephemeral.name)
      guard mine == (ephemeral.epoch, head.version), peer.session.digest(of: ephemeral.name) == head.digest else {
        throw Violation(
          .convergence,
          "\(peer) has version \(mine.version) of \(ephemeral.name) in epoch \(mine.epoch), "
            + "the hub \(head.version) in \(ephemeral.epoch)")
      }
      if let (id, _) = member.unacknowledged.min(by: { $0.key < $1.key }) {
        throw Violation(.convergence, "write \(id.rawValue) of \(peer) to \(ephemeral.name) has no outcome")
      }
      living[peer.session.identity.tag] = member
      try checkHas(peer, member, ephemeral)
    }
    for (field, held) in ephemeral.present.sorted(by: { $0.key < $1.key }) where !field.hasPrefix(Names.presencePrefix)
    {
      guard living[held.tag]?.has(field) != held.value else { continue }
      let words = living[held.tag].map { "has said \(describe($0.has(field)))" } ?? "is not there"
      throw Violation(.living, "\(field) of \(ephemeral.name) is \(held.value) of \(held.tag.short), which \(words)")
    }
    if !living.isEmpty { try checkPresent(ephemeral, living) }
  }

  private func checkHas(_ peer: SimulatedPeer, _ member: EphemeralMember, _ ephemeral: EphemeralOracle)
    throws(Violation)
  {
    for field in member.fields where field != Names.me {
      guard let value = member.has(field), ephemeral.present[field]?.value != value else { continue }
      let other = ephemeral.present[field]?.tag
      // Another peer may have been quicker while the hub took this one for gone, and be gone itself by context.now.
      let isLost =
        other.map { $0 != peer.session.identity.tag } ?? (member.refusedClaims > 0 || member.refused.contains(field))
      if member.mayHaveLost, isLost { continue }
      throw Violation(
        .living,
        "\(peer) has said \(field) = \(value) in \(ephemeral.name), where it is "
          + describe(ephemeral.present[field]?.value))
    }
  }

  /// Every peer in the model has exactly one slot, which shows what it says; no other slots exist.
  private func checkPresent(_ ephemeral: EphemeralOracle, _ living: [Tag: EphemeralMember]) throws(Violation) {
    var slots: [Tag: FieldValue] = [:]
    for (field, held) in ephemeral.present where field.hasPrefix(Names.presencePrefix) {
      guard let tag = EphemeralOracle.slotOwner(held), slots.updateValue(held.value, forKey: tag) == nil else {
        throw Violation(.living, "\(field) of \(ephemeral.name) is \(held.value)")
      }
    }
    for peer in peers where !peer.outbox.isOver && peer.session.joinedModels.contains(context.modelNames[0]) {
      let tag = peer.session.identity.tag
      guard let slot = slots.removeValue(forKey: tag) else {
        throw Violation(
          .living, "\(peer) is in \(context.modelNames[0]), and \(ephemeral.name) does not tell of it")
      }
      // A peer that leaves the model gives up its slot, and with it what it says.
      guard context.profile.leaves == 0, let member = living[tag], case let announcement = (try? slot.json)?["says"],
        announcement != (try? member.has(Names.me)?.json)
      else { continue }
      throw Violation(.living, "\(peer) has said \(describe(member.has(Names.me))), and its place is \(slot)")
    }
    if let (tag, _) = slots.min(by: { $0.key < $1.key }) {
      throw Violation(.living, "\(ephemeral.name) tells of \(tag.short), which is not there")
    }
  }
}
