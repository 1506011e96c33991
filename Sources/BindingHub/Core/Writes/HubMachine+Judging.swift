import BindingProtocol

/// A proposal whose model's owner is being asked about it (protocol.md §9.3).
struct Judging {
  let token: UInt32
  /// The session that was asked.
  let asked: SessionID
  let owner: Tag
  /// Whose proposal it is.
  let origin: Origin
  let proposal: ModelLog.Waiting
  let fields: [JudgedField]
  /// From then on the owner is silent, on the monotonic clock.
  let answerBy: UInt64
  /// What it has answered.
  var leave: Sequencer.Leave?
}

/// Asking a model's owner, one proposal after the other: what comes meanwhile for that model waits.
extension HubMachine {
  /// Whether somebody else has to agree to what this peer writes.
  func needsLeave(_ tag: Tag, in model: ModelLog) -> Bool {
    guard let owner = model.owner, owner != tag else { return false }
    return session(ofOwner: owner, of: model) != nil
  }

  private func session(ofOwner owner: Tag, of model: ModelLog) -> SessionID? {
    guard let id = sessions.identities[owner]?.session, sessions[id]?.joins[model.topic] != nil else { return nil }
    return id
  }

  mutating func ask(
    about fields: [JudgedField], of proposal: ModelLog.Waiting, by origin: Origin, in index: Int, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    let model = models[index]
    guard let owner = model.owner, let asked = session(ofOwner: owner, of: model) else { return }
    lastToken &+= 1
    model.judging = Judging(
      token: lastToken, asked: asked, owner: owner, origin: origin, proposal: proposal, fields: fields,
      answerBy: time.monotonic + configuration.judgingMilliseconds)
    sequencer.counters.judged += 1
    touch(index)
    send(
      .judge(Judge(session: asked, topic: model.topic, token: lastToken, origin: origin, fields: fields)), to: asked,
      &output)
  }

  mutating func take(_ judged: Judged, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    guard let index = index(of: judged.topic), let judging = models[index].judging, judging.asked == session,
      judging.token == judged.token, judging.leave == nil
    else { return }
    let name = sessions[session]?.identity.name ?? ""
    models[index].judging?.leave =
      judged.isAccepted
      ? .givenFor(judging.fields)
      : .denied(Refusal(.refusedByOwner, "\(models[index].id): \(name) says: \(PrintedText.escaped(judged.text))"))
    goOn(index, time, &output)
  }

  /// The owner is another one now, or there is none: what the old one was asked is decided afresh.
  mutating func judgeAgain(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard let judging = models[index].judging, judging.owner != models[index].owner else { return }
    // What was refused is only waiting for the store.
    if case .denied? = judging.leave { return }
    models[index].judging = nil
    models[index].waiting.insert(judging.proposal, at: 0)
    goOn(index, time, &output)
  }

  /// An owner that does not answer is not waited for any longer, and owns the model no more: else each write that comes
  /// would wait as long.
  mutating func endSilence(_ time: HubTime, _ output: inout HubOutput) {
    for index in touched {
      guard let judging = models[index].judging, judging.leave == nil, judging.answerBy <= time.monotonic else {
        continue
      }
      sequencer.counters.silentOwners += 1
      let name = sessions[judging.asked]?.identity.name ?? "its owner"
      let limit = configuration.judgingMilliseconds
      models[index].judging?.leave = .denied(
        Refusal(.ownerSilent, "\(models[index].id): \(name), which owns it, did not answer within \(limit) ms"))
      disown(index, judging.owner, time)
      goOn(index, time, &output)
    }
  }

  /// Deletes what names a model's owner, unless it is another's by now.
  private mutating func disown(_ index: Int, _ owner: Tag, _ time: HubTime) {
    models[index].owner = nil
    guard let place = models[index].otherLine, let field = models[place].fields.id(of: Names.owner),
      models[place].holder(of: field)?.tag == owner
    else { return }
    change(place, [(Names.owner, nil)], time)
  }
}
