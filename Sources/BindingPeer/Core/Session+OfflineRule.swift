import BindingWire

extension Session {
  /// A plain set that waited long for a hub yields to what others wrote meanwhile: it goes as compare-and-set on what
  /// its writer saw (DESIGN §5).
  func applyOfflineRule(_ write: WriteID, now: UInt64, in model: inout PeerModel) {
    guard let pending = model.outbox[write], pending.proposal.isPlainSet,
      pending.isOld || now >= pending.writtenAt + options.offlineMilliseconds
    else { return }
    let changed = pending.proposal.operations.map(\.field).first { name in
      guard let seen = pending.seen[name], let place = model.replica.place(of: name) else { return false }
      let field = model.replica.fields[place]
      // What we ourselves, or our earlier lives, committed meanwhile was written before this.
      guard field.origin.tag != identity.tag, !earlierTags.contains(field.origin.tag) else { return false }
      return seen.epoch == model.replica.epoch ? field.version > seen.version : !seen.value.isSame(as: field.value)
    }
    guard let changed, let seen = pending.seen[changed] else { return }
    // One field that others changed decides for the whole proposal.
    let condition = Condition(field: changed, epoch: seen.epoch, version: seen.version)
    model.outbox.update(write) { $0.proposal.conditions = [condition] }
  }
}
