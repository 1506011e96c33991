import BindingProtocol

/// This hub's own part of an ephemeral model: what its own peers have in it. A model by itself, which siblings join
/// under the name of the ephemeral model.
enum OwnPart {
  /// The index of the part, made if there is none.
  static func index(of whole: Int, _ hub: inout HubContext) -> Int {
    let model = hub.models[whole]
    guard let ephemeral = model.ephemeral else { return whole }
    if let part = ephemeral.part { return part }
    let part = hub.models.make(
      Names.partPrefix + Names.model(ofEphemeral: model.id),
      ephemeral: EphemeralState(of: ephemeral.stored, epoch: ephemeral.epoch, whole: whole),
      from: LogFloor(version: hub.models.ephemeralFloor))
    ephemeral.part = part
    return part
  }

  /// A change of a part. It has the time of the value, by which siblings tell which of two values of one peer is later.
  struct Change {
    let field: String
    let value: FieldValue?
    let origin: Origin?
    let time: UInt64
  }

  /// What brings fields of a part up to date with the stored state of the ephemeral model, in the order of the times.
  static func changes(
    of part: Int, _ fields: some Sequence<FieldID>, of model: ModelLog, _ hub: HubContext, _ time: HubTime
  ) -> [Change] {
    let own = hub.models[part]
    var changes: [Change] = []
    for id in fields {
      let field = model.fields[id]
      let present = own.fields.id(of: field.name).map { own.fields[$0] }
      if field.hasValue, !model.isTaken(id) {
        if present?.hasValue == true, present?.value == field.value, present?.origin == field.origin { continue }
        changes.append(Change(field: field.name, value: field.fieldValue, origin: field.origin, time: field.time))
      } else if present?.hasValue == true {
        changes.append(Change(field: field.name, value: nil, origin: nil, time: time.wall))
      }
    }
    return changes.sorted { $0.time < $1.time }
  }
}

extension HubMachine {
  /// What a session joins that names an ephemeral model: a sibling joins the part.
  mutating func part(of whole: Int, for session: SessionID) -> Int {
    guard hub.models[whole].ephemeral != nil, hub.sessions[session]?.capabilities.isSibling == true else {
      return whole
    }
    return OwnPart.index(of: whole, &hub)
  }

  /// A session has joined a model, or a sibling a part of an ephemeral one.
  /// - Parameters:
  ///   - index: what was joined.
  ///   - whole: the model, of a part the ephemeral model.
  ///   - isNew: whether the join has made that.
  mutating func joined(_ index: Int, _ whole: Int, isNew: Bool, _ time: HubTime, _ output: inout HubOutput) {
    hub.models.touch(index)
    presence.publishChange(in: index, &hub, time)
    let model = hub.models[whole]
    guard model.ephemeral != nil else { return }
    guard index != whole else {
      if !siblings.isEmpty { siblings.follow(model.id, now: time.monotonic) }
      // What siblings have may have come while there was no such model here.
      if model.members.sessions.count == 1 { siblings.showAll(in: model.id, presence, &hub, time) }
      return
    }
    if shared != nil, isNew { loadNew(whole, &output) }
    settleEphemeral(whole, time, &output)
    update(index, 0..<FieldID(model.fields.count), of: model, time, &output)
  }

  /// Fields of an ephemeral model have changed here: those of this hub's own peers change in its part too, and what
  /// they have given up siblings may have.
  mutating func shareChanged(_ fields: [FieldID], of index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard !fields.isEmpty else { return }
    if let part = hub.models[index].ephemeral?.part {
      update(part, fields, of: hub.models[index], time, &output)
    }
    siblings.showFreed(fields, in: index, &hub, time)
    settleEphemeral(index, time, &output)
  }

  /// Brings fields of a part up to date, at once.
  private mutating func update(
    _ part: Int, _ fields: some Sequence<FieldID>, of model: ModelLog, _ time: HubTime, _ output: inout HubOutput
  ) {
    var begun: UInt64?
    for change in OwnPart.changes(of: part, fields, of: model, hub, time) {
      // A batch has one time.
      if let begun, begun != change.time { settleEphemeral(part, time, &output) }
      begun = change.time
      let written = HubTime(monotonic: time.monotonic, wall: change.time)
      hub.change(part, [(change.field, change.value)], by: change.origin, written)
    }
    settleEphemeral(part, time, &output)
  }
}
