import BindingHub
import BindingPeer
import BindingProtocol

/// What the peers' programs do.
extension World {
  func makePeer(_ index: Int, run: Int = 0, generation: Int = 0, book: OutboxBook? = nil) -> SimulatedPeer {
    let fresh = Identity(secret: Secret(high: context.chance.next(), low: context.chance.next()), name: "p\(index)")
    #if MUTANTS
      let identity = run > 0 && Mutant.isOn(.keepIdentity) ? peers[index].session.identity : fresh
    #else
      let identity = fresh
    #endif
    let offset = context.chance.below(2) == 0 ? 0 : UInt64(context.chance.below(5_000))
    var options = SessionOptions()
    options.offlineMilliseconds = context.profile.offlineMilliseconds
    if context.profile.writesTooDeep { options.limits.maxHops = 20 }
    options.maxOutboxWrites = context.profile.maxOutboxWrites
    options.maxBufferedBytes = context.profile.maxBufferedBytes
    var session = Session(
      identity: identity, seed: context.chance.next(), options: options, now: context.now + offset,
      keepsOutbox: book != nil)
    var book = book
    let previousRuns = (book?.reopen() ?? []).map { ($0, session.carry($0, wall: context.wall)) }
    let bookRun = book?.begin(identity) ?? 0
    var output = PeerOutput()
    for model in context.modelNames where model != context.visited || !context.isChaos {
      session.join(model, now: context.now + offset, into: &output)
    }
    if context.profile.joinsPrefix { session.joinPrefix("", now: context.now + offset, into: &output) }
    let member = joinEphemeralModel(index, &session, &output, now: context.now + offset)
    let peer = SimulatedPeer(
      index: index, session: session, output: output,
      generation: generation == 0 ? (index + 1) * 1_000_000 : generation, run: run,
      clockOffset: offset, models: context.modelNames.count)
    peer.outbox.book = book
    peer.outbox.bookRun = bookRun
    peer.outbox.previousRuns = previousRuns
    peer.member = member
    return peer
  }

  /// One step of a peer's application: usually a write, sometimes a fault.
  func act(_ peer: Int) throws(Violation) {
    guard context.isChaos, peers[peer].process.steps < context.profile.steps else { return }
    context.agenda.add(.act(peer: peer), at: context.now + 1 + context.chance.within(0...(2 * context.profile.pace)))
    if context.isQuiet {
      guard peer == newcomer, let model = (0..<context.profile.models).first(where: { !lostModels.contains($0) }) else {
        return
      }
      return try write(
        Proposal(operations: [FieldOperation(.set, "b", context.uniqueValue(of: peer))]), to: model, by: peer)
    }
    peers[peer].process.steps += 1
    if hub != nil, context.chance.perMille(context.profile.hubCrashes) { try crashHub() }
    if context.chance.perMille(context.profile.unnoticedLosses), isAllQuiet { return try loseAndGoOn() }
    if hub != nil, !isHubPaused, context.chance.perMille(context.profile.hubPauses) { pauseHub() }
    if context.chance.perMille(context.profile.impostors), hub != nil, !isHubPaused { try impersonate(peer) }
    if context.chance.perMille(context.profile.cuts) {
      context.record("cut p\(peer)")
      breakConnection(peer)
      try settle(peer)
    }
    if context.chance.perMille(context.profile.peerCrashes) { return try crash(peer) }
    if context.chance.perMille(context.profile.oneWayCuts) { cutOneWay(peers[peer]) }
    if peers[peer].process.isPaused { return }
    if context.chance.perMille(context.profile.pauses) { return pause(peer) }
    if context.chance.perMille(context.profile.leaves) {
      let index = context.chance.below(context.profile.models)
      let model = context.modelNames[index]
      peers[peer].session.leave(model, now: peerNow(peer), into: &peers[peer].output)
      try settle(peer)
      if !peers[peer].session.knows(model) {
        for field in peers[peer].observed.notified[index].indices { peers[peer].observed.notified[index][field] = nil }
      }
      peers[peer].session.join(model, now: peerNow(peer), into: &peers[peer].output)
      if peers[peer].session.version(of: model).version == 0 {
        peers[peer].observed.seen[index] = (0, 0)
        peers[peer].numbers.seen[index].removeAll()
      }
      return try settle(peer)
    }
    if context.chance.perMille(context.profile.visits) { try visit(peer, step: 0) }
    if context.profile.barriers > 0 { try awaitSometimes(peer) }
    try writeSomething(peer)
  }

  func crash(_ peer: Int) throws(Violation) {
    context.record("p\(peer) crashes")
    context.counts[.peerCrash] += 1
    breakConnection(peer)
    if peers[peer].outbox.book != nil { try crashWithOutbox(peer) }
    let steps = peers[peer].process.steps
    peers[peer] = makePeer(
      peer, run: peers[peer].process.run + 1, generation: peers[peer].link.generation + 1, book: peers[peer].outbox.book
    )
    peers[peer].process.steps = steps
    context.agenda.add(
      .tickPeer(peer: peer, run: peers[peer].process.run), at: context.now + context.chance.within(1...800))
    if context.profile.writesTooDeep, !context.isQuiet { try writeTooDeep(peer) }
    try settle(peer)
    try carryOn(peer)
  }

  private func pause(_ peer: Int) {
    context.record("p\(peer) is stopped")
    context.counts[.peerPause] += 1
    stop(peer)
    context.agenda.add(
      .goOn(peer: peer, run: peers[peer].process.run), at: context.now + context.chance.within(100...4_000))
  }

  func stop(_ peer: Int) {
    peers[peer].process.isPaused = true
    peers[peer].process.pausedAt = context.now
  }

  func goOn(_ peer: Int) throws(Violation) {
    context.record("p\(peer) goes on")
    peers[peer].process.isPaused = false
    peers[peer].process.slept += context.now - peers[peer].process.pausedAt
    let inbox = peers[peer].process.inbox
    peers[peer].process.inbox.removeAll()
    peers[peer].process.publishedInInbox = 0
    for (generation, frame) in inbox { try deliver(frame, generation, to: peer) }
  }

  // MARK: An unnoticed loss

  /// Whether nothing is pending anywhere and every peer is current.
  private var isAllQuiet: Bool {
    guard hub != nil, !isHubPaused, underway.isEmpty, !log.isEmpty else { return false }
    return peers.indices.allSatisfy { peer in
      !peers[peer].process.isPaused && peers[peer].writes.unacknowledged.isEmpty
        && context.modelNames.prefix(context.profile.models).allSatisfy { model in
          guard let head = hub?.head(of: model) else { return true }
          return peers[peer].session.isCurrent(model)
            && peers[peer].session.version(of: model) == (epoch, head.version)
        }
    }
  }

  /// The hub restarts without its last commits and does not notice. No peer writes for a while: decisions made
  /// before a peer that is ahead returns could not be told apart from the lost ones.
  private func loseAndGoOn() throws(Violation) {
    context.isQuiet = true
    context.agenda.add(.endQuiet, at: context.now + 4_000)
    try crashHub(losingUnnoticed: true)
    let newcomer = context.chance.below(peers.count)
    self.newcomer = newcomer
    try crash(newcomer)
  }

  // MARK: Writing

  private func writeSomething(_ peer: Int) throws(Violation) {
    let model = context.chance.below(context.profile.models)
    if context.chance.perMille(context.profile.gatherings), try gather(peer, in: model) { return }
    let unique = context.uniqueValue(of: peer)
    let index = context.chance.below(SimulatedField.plain)
    let field = SimulatedField.names[index]
    var proposal = Proposal(operations: [FieldOperation(.set, field, unique)])
    var mayBeRefused = false
    switch context.chance.below(10) {
    case 0:
      let other = (index + 1 + context.chance.below(SimulatedField.plain - 1)) % SimulatedField.plain
      proposal.operations.append(FieldOperation(.set, SimulatedField.names[other], unique))
    case 1:
      let record = peers[peer].session.fieldRecord(context.modelNames[model], field)
      proposal.conditions = [Condition(field: field, epoch: record?.epoch ?? 0, version: record?.version ?? 0)]
    case 2, 3:
      proposal.operations = [FieldOperation(.add, SimulatedField.names[SimulatedField.sum], World.one)]
      mayBeRefused = context.profile.describes
    case 6 where context.profile.describes:
      let description =
        "{\"fields\":{\"n\":{\"type\":\"integer\",\"max\":\(context.chance.below(30)),\"unit\":\(unique)}}}"
      proposal.operations = [FieldOperation(.set, Names.description, FieldValue(bytes: Array(description.utf8)))]
    case 4: proposal.operations = [FieldOperation(.delete, field)]
    case 5: proposal.operations = [FieldOperation(.setIfAbsent, field, unique)]
    default:
      guard context.chance.perMille(context.profile.wrongAdditions) else { break }
      proposal.operations = [FieldOperation(.add, field, World.one)]
      mayBeRefused = true
    }
    try write(proposal, to: model, by: peer, mayBeRefused: mayBeRefused)
  }

  private static let one = FieldValue(bytes: Array("1".utf8))

  func writeTooDeep(_ peer: Int) throws(Violation) {
    let field = SimulatedField.names[context.chance.below(SimulatedField.plain)]
    let set = FieldOperation(.set, field, context.uniqueValue(of: peer))
    try write(Proposal(operations: [set], hops: 9), to: 0, by: peer, mayBeRefused: true)
  }

  func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], gathering: (field: Int, element: Int)? = nil,
    to model: Int, by peer: Int, mayBeRefused: Bool = false
  ) throws(Violation) {
    let peer = peers[peer]
    let time = context.now + peer.process.clockOffset
    let id: WriteID
    do {
      id = try peer.session.write(proposal, rules: rules, to: context.modelNames[model], now: time, into: &peer.output)
    } catch {
      switch error {
      case .loop: context.counts[.stoppedAsLoop] += 1
      case .outboxFull where context.profile.maxOutboxWrites < 100: context.counts[.outboxFull] += 1
      default: throw Violation(.oneOutcome, "\(peer) cannot write: \(error)")
      }
      return
    }
    context.writeCount += 1
    context.counts[.written] += 1
    context.record(
      "\(peer) writes \(id.rawValue) to \(context.modelNames[model]): "
        + "\(proposal.operations.map { "\($0.verb) \($0.field)" })"
        + (proposal.conditions.isEmpty ? "" : " if unchanged"))
    let sets = World.plainSets(proposal)
    for (_, value) in sets { peer.writes.writers[value] = id }
    let write = SimulatedWrite(
      model: model, fields: sets, isPlain: proposal.isPlainSet, condition: proposal.conditions.first,
      gathered: gathering.map { [$0] } ?? [], original: rules.isEmpty ? nil : proposal.operations.first?.value,
      mayBeRefused: mayBeRefused)
    peer.writes.unacknowledged.add(write, as: id)
    if proposal.operations.contains(where: { $0.verb == .clear }) {
      for field in 0..<SimulatedField.count { peer.writes.lastPlain[model][field] = nil }
      peer.writes.acknowledged.removeAll { $0.model == model }
    }
    for operation in proposal.operations {
      guard let field = SimulatedField.index(of: operation.field) else { continue }
      let isPlain = proposal.isPlainSet && !SimulatedField.isGathered(field)
      peer.writes.lastPlain[model][field] = isPlain ? operation.value.map { .init(id: id, value: $0) } : nil
      peer.writes.acknowledged.removeAll { $0.model == model && $0.field == field }
    }
    writing = (id, write)
    try settle(peer.index)
    writing = nil
    if context.isChaos, context.chance.perMille(context.profile.withdrawals) {
      context.agenda.add(
        .withdraw(peer: peer.index, run: peer.process.run, id), at: context.now + context.chance.within(0...200))
    }
  }

  /// What a proposal sets in the fields whose values identify their writer.
  static func plainSets(_ proposal: Proposal) -> [(field: Int, value: FieldValue)] {
    proposal.operations.compactMap { operation in
      guard operation.verb == .set, let value = operation.value, let field = SimulatedField.index(of: operation.field),
        !SimulatedField.isGathered(field)
      else { return nil }
      return (field, value)
    }
  }

  func withdraw(_ id: WriteID, of peer: Int) throws(Violation) {
    guard !peers[peer].process.isPaused, peers[peer].writes.unacknowledged[id] != nil else { return }
    context.record("p\(peer) withdraws \(id.rawValue)")
    peers[peer].writes.unacknowledged[id]?.isWithdrawn = true
    _ = peers[peer].session.withdraw(id, now: peerNow(peer), into: &peers[peer].output)
    try settle(peer)
  }
}
