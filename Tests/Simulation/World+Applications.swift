import BindingHub
import BindingPeer
import BindingProtocol

/// What the peers' programs do.
extension World {
  func makePeer(_ index: Int, run: Int = 0, generation: Int = 0, book: OutboxBook? = nil) -> SimulatedPeer {
    let fresh = Identity(secret: Secret(high: chance.next(), low: chance.next()), name: "p\(index)")
    #if MUTANTS
      let identity = run > 0 && Mutant.isOn(.keepIdentity) ? peers[index].session.identity : fresh
    #else
      let identity = fresh
    #endif
    let offset = chance.below(2) == 0 ? 0 : UInt64(chance.below(5_000))
    var options = SessionOptions()
    options.offlineMilliseconds = profile.offlineMilliseconds
    if profile.writesTooDeep { options.limits.maxHops = 20 }
    options.maxOutboxWrites = profile.maxOutboxWrites
    options.maxBufferedBytes = profile.maxBufferedBytes
    var session = Session(
      identity: identity, seed: chance.next(), options: options, now: now + offset, keepsOutbox: book != nil)
    var book = book
    let previousRuns = (book?.reopen() ?? []).map { ($0, session.carry($0, wall: wall)) }
    let bookRun = book?.begin(identity) ?? 0
    var output = PeerOutput()
    for model in modelNames where model != visited || !isChaos { session.join(model, now: now + offset, into: &output) }
    if profile.joinsPrefix { session.joinPrefix("", now: now + offset, into: &output) }
    let member = joinEphemeralModel(index, &session, &output, now: now + offset)
    let peer = SimulatedPeer(
      index: index, session: session, output: output,
      generation: generation == 0 ? (index + 1) * 1_000_000 : generation, run: run,
      clockOffset: offset, models: modelNames.count)
    peer.book = book
    peer.bookRun = bookRun
    peer.previousRuns = previousRuns
    peer.member = member
    return peer
  }

  /// One step of a peer's application: usually a write, sometimes a fault.
  func act(_ peer: Int) throws(Broken) {
    guard isChaos, peers[peer].steps < profile.steps else { return }
    agenda.add(.act(peer: peer), at: now + 1 + chance.within(0...(2 * profile.pace)))
    if isQuiet {
      guard peer == newcomer, let model = (0..<profile.models).first(where: { !lostModels.contains($0) }) else {
        return
      }
      return try write(Proposal(operations: [FieldOperation(.set, "b", uniqueValue(of: peer))]), to: model, by: peer)
    }
    peers[peer].steps += 1
    if hub != nil, chance.perMille(profile.hubCrashes) { try crashHub() }
    if chance.perMille(profile.unnoticedLosses), isAllQuiet { return try loseAndGoOn() }
    if hub != nil, !isHubPaused, chance.perMille(profile.hubPauses) { pauseHub() }
    if chance.perMille(profile.impostors), hub != nil, !isHubPaused { try impersonate(peer) }
    if chance.perMille(profile.cuts) {
      record("cut p\(peer)")
      breakConnection(peer)
      try settle(peer)
    }
    if chance.perMille(profile.peerCrashes) { return try crash(peer) }
    if chance.perMille(profile.oneWayCuts) { cutOneWay(peers[peer]) }
    if peers[peer].isPaused { return }
    if chance.perMille(profile.pauses) { return pause(peer) }
    if chance.perMille(profile.leaves) {
      let index = chance.below(profile.models)
      let model = modelNames[index]
      peers[peer].session.leave(model, now: peerNow(peer), into: &peers[peer].output)
      try settle(peer)
      if !peers[peer].session.knows(model) {
        for field in peers[peer].notified[index].indices { peers[peer].notified[index][field] = nil }
      }
      peers[peer].session.join(model, now: peerNow(peer), into: &peers[peer].output)
      if peers[peer].session.version(of: model).version == 0 {
        peers[peer].seen[index] = (0, 0)
        peers[peer].saw[index].removeAll()
      }
      return try settle(peer)
    }
    if chance.perMille(profile.visits) { try visit(peer, step: 0) }
    if profile.barriers > 0 { try awaitSometimes(peer) }
    try writeSomething(peer)
  }

  func crash(_ peer: Int) throws(Broken) {
    record("p\(peer) crashes")
    counts[.peerCrash] += 1
    breakConnection(peer)
    if peers[peer].book != nil { try crashWithOutbox(peer) }
    let steps = peers[peer].steps
    peers[peer] = makePeer(
      peer, run: peers[peer].run + 1, generation: peers[peer].generation + 1, book: peers[peer].book)
    peers[peer].steps = steps
    agenda.add(.tickPeer(peer: peer, run: peers[peer].run), at: now + chance.within(1...800))
    if profile.writesTooDeep, !isQuiet { try writeTooDeep(peer) }
    try settle(peer)
    try carryOn(peer)
  }

  private func pause(_ peer: Int) {
    record("p\(peer) is stopped")
    counts[.peerPause] += 1
    stop(peer)
    agenda.add(.goOn(peer: peer, run: peers[peer].run), at: now + chance.within(100...4_000))
  }

  func stop(_ peer: Int) {
    peers[peer].isPaused = true
    peers[peer].pausedAt = now
  }

  func goOn(_ peer: Int) throws(Broken) {
    record("p\(peer) goes on")
    peers[peer].isPaused = false
    peers[peer].slept += now - peers[peer].pausedAt
    let inbox = peers[peer].inbox
    peers[peer].inbox.removeAll()
    peers[peer].publishedInInbox = 0
    for (generation, frame) in inbox { try deliver(frame, generation, to: peer) }
  }

  // MARK: An unnoticed loss

  /// Whether nothing is pending anywhere and every peer is current.
  private var isAllQuiet: Bool {
    guard hub != nil, !isHubPaused, underway.isEmpty, !log.isEmpty else { return false }
    return peers.indices.allSatisfy { peer in
      !peers[peer].isPaused && peers[peer].unacknowledged.isEmpty
        && modelNames.prefix(profile.models).allSatisfy { model in
          guard let head = hub?.head(of: model) else { return true }
          return peers[peer].session.isCurrent(model)
            && peers[peer].session.version(of: model) == (epoch, head.version)
        }
    }
  }

  /// The hub restarts without its last commits and does not notice. No peer writes for a while: decisions made
  /// before a peer that is ahead returns could not be told apart from the lost ones.
  private func loseAndGoOn() throws(Broken) {
    isQuiet = true
    agenda.add(.endQuiet, at: now + 4_000)
    try crashHub(losingUnnoticed: true)
    let newcomer = chance.below(peers.count)
    self.newcomer = newcomer
    try crash(newcomer)
  }

  // MARK: Writing

  /// Every value is unique, so that its origin can be identified.
  func uniqueValue(of peer: Int) -> FieldValue { FieldValue(bytes: Array("\"p\(peer).\(writeCount)\"".utf8)) }

  private func writeSomething(_ peer: Int) throws(Broken) {
    let model = chance.below(profile.models)
    if chance.perMille(profile.gatherings), try gather(peer, in: model) { return }
    let unique = uniqueValue(of: peer)
    let index = chance.below(SimulatedField.plain)
    let field = SimulatedField.names[index]
    var proposal = Proposal(operations: [FieldOperation(.set, field, unique)])
    var mayBeRefused = false
    switch chance.below(10) {
    case 0:
      let other = (index + 1 + chance.below(SimulatedField.plain - 1)) % SimulatedField.plain
      proposal.operations.append(FieldOperation(.set, SimulatedField.names[other], unique))
    case 1:
      let record = peers[peer].session.fieldRecord(modelNames[model], field)
      proposal.conditions = [Condition(field: field, epoch: record?.epoch ?? 0, version: record?.version ?? 0)]
    case 2, 3:
      proposal.operations = [FieldOperation(.add, SimulatedField.names[SimulatedField.sum], World.one)]
      mayBeRefused = profile.describes
    case 6 where profile.describes:
      let description = "{\"fields\":{\"n\":{\"type\":\"integer\",\"max\":\(chance.below(30)),\"unit\":\(unique)}}}"
      proposal.operations = [FieldOperation(.set, Names.description, FieldValue(bytes: Array(description.utf8)))]
    case 4: proposal.operations = [FieldOperation(.delete, field)]
    case 5: proposal.operations = [FieldOperation(.setIfAbsent, field, unique)]
    default:
      guard chance.perMille(profile.wrongAdditions) else { break }
      proposal.operations = [FieldOperation(.add, field, World.one)]
      mayBeRefused = true
    }
    try write(proposal, to: model, by: peer, mayBeRefused: mayBeRefused)
  }

  private static let one = FieldValue(bytes: Array("1".utf8))

  func writeTooDeep(_ peer: Int) throws(Broken) {
    let field = SimulatedField.names[chance.below(SimulatedField.plain)]
    let set = FieldOperation(.set, field, uniqueValue(of: peer))
    try write(Proposal(operations: [set], hops: 9), to: 0, by: peer, mayBeRefused: true)
  }

  func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], gathering: (field: Int, element: Int)? = nil,
    to model: Int, by peer: Int, mayBeRefused: Bool = false
  ) throws(Broken) {
    let peer = peers[peer]
    let now = self.now + peer.clockOffset
    let id: WriteID
    do {
      id = try peer.session.write(proposal, rules: rules, to: modelNames[model], now: now, into: &peer.output)
    } catch {
      switch error {
      case .loop: counts[.stoppedAsLoop] += 1
      case .outboxFull where profile.maxOutboxWrites < 100: counts[.outboxFull] += 1
      default: throw broken(.oneOutcome, "p\(peer.index) cannot write: \(error)")
      }
      return
    }
    writeCount += 1
    counts[.written] += 1
    record(
      "p\(peer.index) writes \(id.rawValue) to \(modelNames[model]): "
        + "\(proposal.operations.map { "\($0.verb) \($0.field)" })"
        + (proposal.conditions.isEmpty ? "" : " if unchanged"))
    let sets = World.plainSets(proposal)
    for (_, value) in sets { peer.writers[value] = id }
    let write = SimulatedPeer.Write(
      model: model, fields: sets, isPlain: proposal.isPlainSet, condition: proposal.conditions.first,
      gathered: gathering.map { [$0] } ?? [], original: rules.isEmpty ? nil : proposal.operations.first?.value,
      mayBeRefused: mayBeRefused)
    peer.unacknowledged.add(write, as: id)
    if proposal.operations.contains(where: { $0.verb == .clear }) {
      for field in 0..<SimulatedField.count { peer.lastPlain[model][field] = nil }
      peer.acknowledged.removeAll { $0.model == model }
    }
    for operation in proposal.operations {
      guard let field = SimulatedField.index(of: operation.field) else { continue }
      let isPlain = proposal.isPlainSet && !SimulatedField.isGathered(field)
      peer.lastPlain[model][field] = isPlain ? operation.value.map { .init(id: id, value: $0) } : nil
      peer.acknowledged.removeAll { $0.model == model && $0.field == field }
    }
    writing = (id, write)
    try settle(peer.index)
    writing = nil
    if isChaos, chance.perMille(profile.withdrawals) {
      agenda.add(.withdraw(peer: peer.index, run: peer.run, id), at: self.now + chance.within(0...200))
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

  func withdraw(_ id: WriteID, of peer: Int) throws(Broken) {
    guard !peers[peer].isPaused, peers[peer].unacknowledged[id] != nil else { return }
    record("p\(peer) withdraws \(id.rawValue)")
    peers[peer].unacknowledged[id]?.isWithdrawn = true
    _ = peers[peer].session.withdraw(id, now: peerNow(peer), into: &peers[peer].output)
    try settle(peer)
  }
}
