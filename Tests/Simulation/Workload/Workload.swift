import BindingPeer
import BindingProtocol

/// What the applications of all peers do in the stored models: usually a write, sometimes more than that.
final class Workload: SimulationPart {
  let context: SimulationContext
  private let network: SimulatedNetwork
  private let faults: Faults
  private let undo: UndoWorkload
  /// Words and numbers put into gathering fields so far.
  @exclusivity(unchecked) private var gatheredCount = 0
  /// Chance for questions about the past: a stream of its own.
  @exclusivity(unchecked) private var historyChance: Chance
  private static let one = FieldValue(bytes: Array("1".utf8))

  init(
    _ context: SimulationContext, _ network: SimulatedNetwork, _ faults: Faults, _ undo: UndoWorkload,
    _ historyChance: Chance
  ) {
    self.undo = undo
    self.historyChance = historyChance
    self.context = context
    self.network = network
    self.faults = faults
  }

  /// One step of a peer's application.
  func step(_ peer: SimulatedPeer) throws(Violation) {
    let profile = profile
    guard isChaos, peer.process.steps < profile.steps else { return }
    agenda.add(.step(peer: peer.index), at: now + 1 + chance.within(0...(2 * profile.pace)))
    if isQuiet {
      guard let model = faults.quietModel(of: peer) else { return }
      return try peer.write([FieldOperation(.set, "b", context.uniqueValue(of: peer.index))], to: model)
    }
    peer.process.steps += 1
    if try faults.inject(at: peer) { return }
    if chance.perMille(profile.leaves) { return try leaveAndJoin(peer) }
    if chance.perMille(profile.visits) { try visit(peer, step: 0) }
    if profile.barriers > 0 { try awaitSometimes(peer) }
    if profile.histories > 0 { try askHistorySometimes(peer) }
    if profile.hasUndo { try undo.step(peer) }
    try writeSomething(peer)
  }

  private func leaveAndJoin(_ peer: SimulatedPeer) throws(Violation) {
    let model = chance.below(profile.models)
    try peer.leave(modelNames[model])
    peer.forgetNotified(model)
    try peer.join(modelNames[model])
  }

  /// Now and then an application waits for a present or future version.
  private func awaitSometimes(_ peer: SimulatedPeer) throws(Violation) {
    guard featureChance.perMille(profile.barriers), peer.outbox.successor == nil else { return }
    let present = peer.session.version(of: modelNames[0]).version
    let version = max(present + Version(featureChance.below(3)), 1)
    let count =
      featureChance.perMille(300) ? UInt32(1 + featureChance.below(profile.peers)) : 0
    try peer.awaitApplied(version, count, timeout: featureChance.within(50...4_000))
  }

  /// Now and then an application asks for the past, in pages of one commit to all, of some versions, fields, writers or
  /// epochs.
  private func askHistorySometimes(_ peer: SimulatedPeer) throws(Violation) {
    guard historyChance.perMille(profile.histories), peer.outbox.successor == nil else { return }
    let model = historyChance.below(modelNames.count)
    let (epoch, version) = peer.session.version(of: modelNames[model])
    var message = HistoryRequest(request: 0, topic: 0)
    message.isOldestFirst = historyChance.perMille(400)
    message.count = [0, 1, 2, 5][historyChance.below(4)]
    if historyChance.perMille(300) { message.epoch = epoch }
    if historyChance.perMille(300) { message.after = Version(historyChance.below(Int(version) + 1)) }
    if historyChance.perMille(300) { message.through = version }
    if historyChance.perMille(300) {
      message.fields = [SimulatedField.names[historyChance.below(SimulatedField.plain)], "a"]
    }
    if historyChance.perMille(200) { message.writers = ["p\(historyChance.below(profile.peers))"] }
    try peer.askHistory(message, of: model)
    try peer.settle()
  }

  // MARK: Writing

  private func writeSomething(_ peer: SimulatedPeer) throws(Violation) {
    let model = chance.below(profile.models)
    if chance.perMille(profile.gatherings), try gather(peer, in: model) { return }
    if chance.perMille(profile.lists) { return try writeList(peer, in: model) }
    let unique = context.uniqueValue(of: peer.index)
    let index = chance.below(SimulatedField.plain)
    let field = SimulatedField.names[index]
    var proposal = Proposal(operations: [FieldOperation(.set, field, unique)])
    var mayBeRefused = false
    switch chance.below(10) {
    case 0:
      let other = (index + 1 + chance.below(SimulatedField.plain - 1)) % SimulatedField.plain
      proposal.operations.append(FieldOperation(.set, SimulatedField.names[other], unique))
    case 1:
      let record = peer.session.fieldRecord(modelNames[model], field)
      proposal.conditions = [Condition(field: field, epoch: record?.epoch ?? 0, version: record?.version ?? 0)]
    case 2, 3:
      proposal.operations = [FieldOperation(.add, SimulatedField.names[SimulatedField.sum], Workload.one)]
      mayBeRefused = profile.describes
    case 6 where profile.describes:
      let release = chance.below(2 * SimulatedRelease.all.upperBound)
      if SimulatedRelease.all.contains(release) {
        mayBeRefused = share(release, as: &proposal, writing: unique)
        break
      }
      let most = chance.below(30)
      let list = profile.lists > 0 ? ",\(SimulatedField.describedList)" : ""
      let description = "{\"fields\":{\"n\":{\"type\":\"integer\",\"max\":\(most),\"unit\":\(unique)}\(list)}}"
      proposal.operations = [FieldOperation(.set, Names.description, FieldValue(bytes: Array(description.utf8)))]
    case 4: proposal.operations = [FieldOperation(.delete, field)]
    case 5: proposal.operations = [FieldOperation(.setIfAbsent, field, unique)]
    default:
      guard chance.perMille(profile.wrongAdditions) else { break }
      proposal.operations = [FieldOperation(.add, field, Workload.one)]
      mayBeRefused = true
    }
    try peer.write(proposal, to: model, mayBeRefused: mayBeRefused)
  }

  /// Shares the model as a release declares it, sometimes with a write under an alias, which is refused.
  /// - Returns: whether the hub has to refuse it.
  private func share(_ release: Int, as proposal: inout Proposal, writing unique: FieldValue) -> Bool {
    let declaration = SimulatedRelease.declaration(release, hasList: profile.lists > 0)
    proposal.operations = [FieldOperation(.describe, Names.description, declaration)]
    guard release == SimulatedRelease.all.upperBound, chance.perMille(300) else { return false }
    proposal.operations.append(FieldOperation(.set, SimulatedField.names[SimulatedField.alias], unique))
    return true
  }

  /// Writes a unique word into a text, or a unique number into a list: writes that add to what others write and must
  /// lose nothing of it.
  /// - Returns: false if the history has enough of them.
  private func gather(_ peer: SimulatedPeer, in model: Int) throws(Violation) -> Bool {
    guard gatheredCount < profile.mostGathered else { return false }
    let element = gatheredCount
    gatheredCount += 1
    let field = [SimulatedField.text, SimulatedField.union, SimulatedField.list][chance.below(3)]
    let name = SimulatedField.names[field]
    let shown = peer.session.shown(modelNames[model], name)
    var elements = SimulatedField.elements(of: shown)
    elements.insert(element, at: chance.below(elements.count + 1))
    let operation: FieldOperation
    var rules: [String: RuledWrite] = [:]
    switch field {
    case SimulatedField.text:
      operation = FieldOperation(.set, name, SimulatedField.text(of: elements))
      rules[name] = RuledWrite(.text, base: shown)
    case SimulatedField.list:
      operation = FieldOperation(.set, name, SimulatedField.list(of: elements))
      rules[name] = RuledWrite(.asked, base: shown)
    default: operation = FieldOperation(.union, name, SimulatedField.list(of: [element]))
    }
    try peer.write(Proposal(operations: [operation]), rules: rules, gathering: (field, element), to: model)
    return true
  }

  // MARK: Visits

  /// A step of a visit to the model that no peer needs for long: join and write, then write again or delete
  /// everything, then leave. The visitor returns later, as others do.
  func visit(_ peer: SimulatedPeer, step: Int) throws(Violation) {
    guard isChaos, !isQuiet, !peer.process.isPaused, let visited = context.visited else { return }
    let model = modelNames.count - 1
    switch step {
    case 0:
      try joinVisited(peer)
      try peer.write([FieldOperation(.set, "a", context.uniqueValue(of: peer.index))], to: model)
    case 1 where peer.session.joinedModels.contains(visited):
      let condition = peer.session.fieldRecord(visited, "a").map {
        Condition(field: "a", epoch: $0.epoch, version: $0.version)
      }
      let set = FieldOperation(.set, "a", context.uniqueValue(of: peer.index))
      if chance.perMille(300), let condition { try peer.write([set], conditions: [condition], to: model) }
      try peer.write([FieldOperation(.clear, "a")], to: model)
    case 2:
      record("\(peer) leaves \(visited)")
      return try peer.leave(visited)
    default: return
    }
    context.schedule(
      .visit(step: step + 1), of: peer,
      at: now + chance.within(1...(profile.pace + 2 * profile.requestDelay)))
  }

  func joinVisited(_ peer: SimulatedPeer) throws(Violation) {
    guard let visited = context.visited, !peer.session.joinedModels.contains(visited) else { return }
    record("\(peer) joins \(visited)")
    peer.forgetNotified(modelNames.count - 1)
    try peer.join(visited)
  }
}
