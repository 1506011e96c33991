import BindingProtocol

/// Ephemeral models (protocol.md §9): a second log of a model, in memory only, whose fields vanish with their
/// writers.
extension HubMachine {
  /// How long the slot of a disconnected peer is kept for its next join, milliseconds.
  static let slotKeptMilliseconds: UInt64 = 3_000

  /// Makes the ephemeral model, and its stored model if there is none.
  mutating func makeEphemeralModel(_ name: String) -> Int {
    let model = Names.model(ofEphemeral: name)
    let stored = hub.models.index(named: model) ?? makeModel(model)
    let index = hub.models.make(
      name, ephemeral: EphemeralState(of: hub.models[stored], epoch: Epoch(hub.start)),
      from: LogFloor(version: removals.ephemeralFloor))
    ephemeralModels.append(index)
    hub.models[index].counterpart = stored
    hub.models[stored].counterpart = index
    return index
  }

  /// Settles decisions of an ephemeral model immediately, without the store.
  mutating func settleEphemeral(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.ephemeral != nil, model.hasPendingBatch else { return }
    stored(model.finishBatch(epoch: model.epoch(ifStored: hub.epoch)), index, time, &output)
    guard let storedIndex = model.counterpart else { return }
    let field = model.fields.id(of: Names.owner).map { model.fields[$0] }
    let owner = field?.hasValue == true ? field?.origin.tag : nil
    guard hub.models[storedIndex].owner != owner else { return }
    hub.models[storedIndex].owner = owner
    askAgain(storedIndex, time, &output)
  }

  // MARK: Releasing fields

  /// Deletes a peer's fields in one ephemeral model.
  mutating func release(_ tag: Tag, in index: Int, _ time: HubTime) {
    let model = hub.models[index]
    guard model.ephemeral != nil, model.knownWriter(tag) != nil else { return }
    let fields = model.fields.slots.indices.lazy.map(FieldID.init).filter { id in
      model.holder(of: id)?.tag == tag
    }
    // Slots are the hub's: a peer that is still present loses only its announcement.
    let slot = model.ephemeral?.slot(of: tag)
    let changes: [(name: String, value: FieldValue?)] = fields.map { id in
      let name = model.fields[id].name
      return (name, name.hasPrefix(Names.presencePrefix) ? slot?.value(announcing: nil) : nil)
    }
    change(index, changes, time)
  }

  /// Deletes a peer's fields in all ephemeral models; its session has ended.
  mutating func release(_ tag: Tag, _ time: HubTime) {
    for index in hub.sessions.identities[tag]?.models.sorted() ?? [] { release(tag, in: index, time) }
  }

  /// A peer says hello again: its fields in ephemeral models wait for it to join them.
  mutating func awaitReturn(of tag: Tag, after session: SessionID) {
    for topic in hub.sessions[session]?.joins.keys.sorted() ?? [] {
      guard let index = hub.models.index(of: topic), hub.models[index].ephemeral != nil else { continue }
      returning.insert(Returning(tag: tag, model: index))
    }
  }

  /// Deletes the fields of peers that came back without joining the ephemeral model: they left it while they were
  /// away.
  mutating func endReturns(_ time: HubTime) {
    for entry in returning.sorted() {
      let session = hub.sessions.identities[entry.tag]?.session.flatMap { hub.sessions[$0] }
      if let session, session.joins[hub.models[entry.model].topic] == nil {
        guard time.monotonic >= session.welcomedAt + HubMachine.slotKeptMilliseconds else { continue }
        release(entry.tag, in: entry.model, time)
      }
      returning.remove(entry)
    }
  }

  // MARK: Presence

  /// Updates the presence fields of a model's ephemeral counterpart, if a session has joined that.
  mutating func publishPresence(ofModelAt stored: Int, _ time: HubTime) {
    guard let index = hub.models[stored].counterpart, let ephemeral = hub.models[index].ephemeral else { return }
    // Without sessions there is nothing to publish; the next join computes it.
    let isWatched = !hub.models[index].sessions.isEmpty
    var present: [Tag: EphemeralState.Slot] = [:]
    for id in isWatched ? hub.models[stored].sessions.sorted() : [] {
      guard let session = hub.sessions[id] else { continue }
      let identity = session.identity
      let since = hub.sessions.identities[identity.tag]?.presentSince[hub.models[stored].topic] ?? time.wall
      present[identity.tag] =
        ephemeral.slot(of: identity.tag) ?? .init(tag: identity.tag, name: identity.name, since: since)
    }
    var changes: [(String, FieldValue?)] = []
    for tag in ephemeral.tags.sorted() where present[tag] == nil {
      if isWatched, isComingBack(tag, to: stored, time) { continue }
      if let field = ephemeral.free(tag) { changes.append((field, nil)) }
    }
    for (tag, slot) in present.sorted(by: { $0.key < $1.key }) where ephemeral.slot(of: tag) == nil {
      let field = ephemeral.occupy(slot)
      changes.removeAll { $0.0 == field }
      changes.append((field, slot.value(announcing: nil)))
    }
    change(index, changes, time)
  }

  /// Whether a peer that is not joined only lost its connection, and its new session may still join.
  private func isComingBack(_ tag: Tag, to stored: Int, _ time: HubTime) -> Bool {
    guard let identity = hub.sessions.identities[tag], let session = identity.session.flatMap({ hub.sessions[$0] })
    else {
      return false
    }
    return identity.presentSince[hub.models[stored].topic] != nil
      && time.monotonic < session.welcomedAt + HubMachine.slotKeptMilliseconds
  }

  /// Updates presence in every joined ephemeral model: a slot that waited for its peer may be free now.
  mutating func publishPresences(_ time: HubTime) {
    for index in ephemeralModels where !hub.models[index].sessions.isEmpty {
      if let stored = hub.models[index].counterpart { publishPresence(ofModelAt: stored, time) }
    }
  }

  /// Commits changes of the hub's own in an ephemeral model.
  mutating func change(_ index: Int, _ changes: [(name: String, value: FieldValue?)], _ time: HubTime) {
    let model = hub.models[index]
    var rest = changes[...]
    while !rest.isEmpty {
      let part = rest.prefix(10_000)
      rest = rest.dropFirst(part.count)
      model.openBatch(epoch: model.epoch(ifStored: hub.epoch), time: time.wall)
      let origin = Origin(tag: .none, name: hub.configuration.name)
      let (version, writer) = (model.nextVersion, model.writer(for: origin))
      model.pendingBatch.commits.beginCommit(origin: model.pendingBatch.commits.origin(origin), number: 0, hops: 0)
      for (name, value) in part {
        let id = model.fields.id(of: name) ?? model.introduce(name)
        model.pendingBatch.commits.change(id, value)
        model.record(
          id, version, value: value.map { model.pendingBatch.commits.lastValue(of: $0.bytes.count) }, by: writer)
      }
      model.pendingBatch.commits.endCommit()
    }
    if !changes.isEmpty { hub.models.touch(index) }
  }
}

/// A peer that has said hello again, and an ephemeral model that it had joined before.
struct Returning: Hashable, Comparable {
  let tag: Tag
  let model: Int

  static func < (left: Returning, right: Returning) -> Bool { (left.tag, left.model) < (right.tag, right.model) }
}

extension ModelLog {
  func origin(ofWriter index: Int) -> Origin { writers[index].origin }

  /// Gives a field the next id.
  func introduce(_ name: String) -> FieldID {
    _ = pendingBatch.commits.introduce(name)
    return fields.add(name)
  }

  /// The holder of a field in an ephemeral model; nil: the field is free.
  func holder(of id: FieldID) -> Origin? {
    let decided = fields.decided(id)
    guard decided.hasValue else { return nil }
    return fields.isDecided(id) ? origin(ofWriter: decided.writer) : fields[id].origin
  }
}
