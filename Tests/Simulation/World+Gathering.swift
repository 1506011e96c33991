import BindingPeer
import BindingProtocol

/// Writes that add to what others write and must lose nothing of it.
extension World {
  /// Writes a unique word into a text, or a unique number into a list.
  /// - Returns: false if the history has enough of them.
  func gather(_ peer: Int, in model: Int) throws(Violation) -> Bool {
    guard gatheredCount < context.profile.mostGathered else { return false }
    let element = gatheredCount
    gatheredCount += 1
    let field = [SimulatedField.text, SimulatedField.union, SimulatedField.list][context.chance.below(3)]
    let name = SimulatedField.names[field]
    let shown = peers[peer].session.shown(context.modelNames[model], name)
    var elements = SimulatedField.elements(of: shown)
    elements.insert(element, at: context.chance.below(elements.count + 1))
    switch field {
    case SimulatedField.text:
      try write(
        Proposal(operations: [FieldOperation(.set, name, SimulatedField.text(of: elements))]),
        rules: [name: RuledWrite(.text, base: shown)], gathering: (field, element), to: model, by: peer)
    case SimulatedField.list:
      try write(
        Proposal(operations: [FieldOperation(.set, name, SimulatedField.list(of: elements))]),
        rules: [name: RuledWrite(.asked, base: shown)], gathering: (field, element), to: model, by: peer)
    default:
      try write(
        Proposal(operations: [FieldOperation(.union, name, SimulatedField.list(of: [element]))]),
        gathering: (field, element), to: model, by: peer)
    }
    return true
  }

  /// Asks a peer's application to merge two lists; it answers immediately or after a while.
  func ask(
    _ question: MergeQuestion, of id: WriteID, in name: String, _ peer: SimulatedPeer
  ) throws(Violation) {
    guard let model = context.modelNames.firstIndex(of: name), let questions = peer.writes.unacknowledged[id]?.questions
    else {
      return
    }
    peer.writes.unacknowledged[id]?.questions = questions + 1
    // It is asked again only if another write came meanwhile, or if its number was used up.
    if questions > oracle.listsWritten[model] + losses {
      throw Violation(
        .boundedMerges,
        "\(peer) was asked \(questions + 1) times what becomes of write \(id.rawValue); "
          + "its field was written \(oracle.listsWritten[model]) times")
    }
    context.agenda.add(
      .merge(peer: peer.index, run: peer.process.run, id, model: model, question),
      at: context.now + context.chance.within(0...context.profile.pace))
  }

  func answer(_ question: MergeQuestion, of id: WriteID, in model: Int, _ index: Int) throws(Violation) {
    let peer = peers[index]
    guard !peer.process.isPaused else {
      return context.agenda.add(
        .merge(peer: index, run: peer.process.run, id, model: model, question), at: context.now + 100)
    }
    context.counts[.listMerged] += 1
    let base = SimulatedField.elements(of: question.base)
    let theirs = SimulatedField.elements(of: question.theirs)
    let mine = SimulatedField.elements(of: question.mine).filter { !base.contains($0) && !theirs.contains($0) }
    let value = context.chance.perMille(50) ? nil : SimulatedField.list(of: theirs + mine)
    context.record("p\(index) makes \(describe(value)) of write \(id.rawValue) and \(describe(question.theirs))")
    peer.session.merged(id, question, into: value, now: peerNow(index))
    try settle(index)
  }

  /// A committed write contains everything that it put in, and what it superseded.
  func checkGathered(
    _ write: SimulatedWrite, _ what: @autoclosure () -> String, _ point: Oracle.Point, _ entry: Oracle.Entry
  ) throws(Violation) {
    guard !write.gathered.isEmpty else { return }
    for (field, element) in write.gathered {
      let value = entry.change(of: field) ?? nil
      guard !SimulatedField.elements(of: value).contains(element) else { continue }
      throw Violation(
        .lossless,
        "\(what()) was acknowledged at version \(point.version), which has no \(element): \(describe(value))")
    }
    if let original = write.original, let value = entry.change(of: write.gathered[0].field), value != original,
      write.gathered[0].field == SimulatedField.text
    {
      context.counts[.textMerged] += 1
    }
    if write.original == nil { context.counts[.unionGrown] += 1 }
  }
}
