import BindingPeer
import BindingProtocol

/// What an application does: it writes, and it reacts after a while to what its session reports or asks.
extension SimulatedPeer {
  // MARK: Writing

  func write(
    _ operations: [FieldOperation], conditions: [Condition] = [], hops: UInt8 = 0, to model: Int,
    mayBeRefused: Bool = false
  ) throws(Violation) {
    try write(
      Proposal(operations: operations, conditions: conditions, hops: hops), to: model, mayBeRefused: mayBeRefused)
  }

  func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], gathering: (field: Int, element: Int)? = nil,
    to model: Int, mayBeRefused: Bool = false
  ) throws(Violation) {
    let id: WriteID
    do {
      id = try session.write(proposal, rules: rules, to: modelNames[model], now: clock, into: &effects)
    } catch {
      switch error {
      case .loop: counts[.stoppedAsLoop] += 1
      case .outboxFull where profile.maxOutboxWrites < 100: counts[.outboxFull] += 1
      default: throw Violation(.oneOutcome, "\(self) cannot write: \(error)")
      }
      return
    }
    context.writeCount += 1
    counts[.written] += 1
    record(
      "\(self) writes \(id.rawValue) to \(modelNames[model]): \(proposal.operations.map { "\($0.verb) \($0.field)" })"
        + (proposal.conditions.isEmpty ? "" : " if unchanged"))
    let write = SimulatedWrite(
      model: model, fields: SimulatedField.plainSets(proposal), isPlain: proposal.isPlainSet,
      condition: proposal.conditions.first, gathered: gathering.map { [$0] } ?? [],
      original: rules.isEmpty ? nil : proposal.operations.first?.value, mayBeRefused: mayBeRefused)
    writes.record(write, proposal, as: id)
    try invariants.observe(.writing((id, write)))
    try settle()
    try invariants.observe(.writing(nil))
    if isChaos, chance.perMille(profile.withdrawals) {
      context.schedule(.withdraw(id), of: self, at: now + chance.within(0...200))
    }
  }

  /// Writes an answer to more hops than the hub allows.
  func writeTooDeep() throws(Violation) {
    let field = SimulatedField.names[chance.below(SimulatedField.plain)]
    try write([FieldOperation(.set, field, context.uniqueValue(of: index))], hops: 9, to: 0, mayBeRefused: true)
  }

  /// Writes in answer to others' writes.
  func writeAnswer(to model: Int, hops: UInt8) throws(Violation) {
    guard !process.isPaused, isChaos, !isQuiet,
      session.joinedModels.contains(modelNames[model])
    else { return }
    let field = SimulatedField.names[chance.below(SimulatedField.plain)]
    counts[.answered] += 1
    try write([FieldOperation(.set, field, context.uniqueValue(of: index))], hops: hops, to: model)
  }

  // MARK: Reacting

  /// Some applications answer what others write.
  func answerSometimes(_ update: ModelUpdate) {
    guard isChaos, profile.answers > 0, process.answers < 60,
      update.commits.contains(where: { !$0.own }), chance.perMille(profile.answers),
      let model = modelNames.firstIndex(of: update.model)
    else { return }
    process.answers += 1
    context.schedule(
      .answer(model: model, hops: update.proposalHops), of: self,
      at: now + chance.within(1...context.profile.pace))
  }

  /// Asks the application to merge two lists.
  func ask(_ question: MergeQuestion, of id: WriteID, in name: String) throws(Violation) {
    guard let model = modelNames.firstIndex(of: name), let write = writes.unacknowledged[id] else { return }
    write.questions += 1
    try invariants.observe(.askedToMerge(id, model: model, self))
    context.schedule(
      .merge(id, model: model, question), of: self,
      at: now + chance.within(0...context.profile.pace))
  }

  /// The hub asks the owner's application about another peer's write.
  func ask(_ request: ApprovalRequest) {
    let temper = profile.temper
    var refuses = false
    var delay = featureChance.within(0...20)
    if isChaos {
      if featureChance.perMille(temper.silences) { return }
      refuses = featureChance.perMille(temper.refusals)
      if featureChance.perMille(temper.delays) { delay = featureChance.within(1_500...2_500) }
      for (rate, fault) in [(temper.cuts, PeerEvent.disconnect), (temper.crashes, .crash)]
      where featureChance.perMille(rate) {
        context.schedule(fault, of: self, at: now + featureChance.within(0...20))
      }
    }
    context.schedule(.approve(request, refuses: refuses), of: self, at: now + delay)
  }

  func answer(_ request: ApprovalRequest, refuses: Bool) throws(Violation) {
    guard !process.isPaused else {
      return context.schedule(.approve(request, refuses: refuses), of: self, at: now + 100)
    }
    record("\(self) \(refuses ? "refuses" : "allows") what \(request.origin.name) writes")
    session.answer(request, refusing: refuses ? "no" : nil, now: clock, into: &effects)
    try settle()
  }

  func answer(_ question: MergeQuestion, of id: WriteID, in model: Int) throws(Violation) {
    guard !process.isPaused else {
      return context.schedule(.merge(id, model: model, question), of: self, at: now + 100)
    }
    counts[.listMerged] += 1
    let base = SimulatedField.elements(of: question.base)
    let theirs = SimulatedField.elements(of: question.theirs)
    let mine = SimulatedField.elements(of: question.mine).filter { !base.contains($0) && !theirs.contains($0) }
    let value = chance.perMille(50) ? nil : SimulatedField.list(of: theirs + mine)
    record("\(self) makes \(describe(value)) of write \(id.rawValue) and \(describe(question.theirs))")
    session.merged(id, question, into: value, now: clock)
    try settle()
  }

  func withdraw(_ id: WriteID) throws(Violation) {
    guard !process.isPaused, let write = writes.unacknowledged[id] else { return }
    record("\(self) withdraws \(id.rawValue)")
    write.isWithdrawn = true
    _ = session.withdraw(id, now: clock, into: &effects)
    try settle()
  }

  /// Waits until others have a version of the first model.
  /// - Parameter count: how many others; 0: all.
  func awaitApplied(_ version: Version, _ count: UInt32, timeout: UInt64) throws(Violation) {
    let model = modelNames[0]
    guard session.joinedModels.contains(model) else { return }
    let id = session.awaitApplied(version, of: model, count: count, timeoutMilliseconds: timeout, now: clock)
    record("\(self) waits for \(count == 0 ? "all" : "\(count)") to have version \(version) of \(model)")
    barriers[id] = PeerBarrier(
      version: version, count: count, askedAt: now, deadline: now + timeout, slept: process.slept)
    try settle()
  }
}

/// A barrier, as the waiting application knows it.
struct PeerBarrier {
  let version: Version
  /// 0: all.
  let count: UInt32
  let askedAt: UInt64
  let deadline: UInt64
  /// How long its process had been stopped before.
  let slept: UInt64
}

func describe(_ value: FieldValue?) -> String { value?.description ?? "none" }
