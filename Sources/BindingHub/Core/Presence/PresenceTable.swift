import BindingProtocol

extension SessionRecord {
  /// Whether a session that has joined a model is shown in its ephemeral model. An edge reads for its peers; each of
  /// them is present in the session of its own, if it has joined the ephemeral model.
  fileprivate func isPresent(in ephemeral: ModelLog) -> Bool {
    capabilities.onlyWrites ? joins[ephemeral.topic] != nil : !capabilities.isEdge
  }
}

/// Ephemeral models (protocol.md §9): a second log of a model, in memory only, whose fields vanish with their
/// writers, and in which the hub publishes which peers are present.
struct PresenceTable {
  /// A peer that has said hello again, and an ephemeral model that it had joined before.
  private struct Returning: Hashable, Comparable {
    let tag: Tag
    let model: Int

    static func < (left: Returning, right: Returning) -> Bool { (left.tag, left.model) < (right.tag, right.model) }
  }
  /// The indices of the ephemeral models, which each heartbeat visits.
  private(set) var models: [Int] = []
  private var returning: Set<Returning> = []
  /// Whether this is an edge: its upstream hub has the ephemeral models, and publishes who is present.
  private let isUpstream: Bool

  /// How long the slot of a disconnected peer is kept for its next join, milliseconds.
  static let slotKeptMilliseconds: UInt64 = 3_000

  init(isUpstream: Bool = false) { self.isUpstream = isUpstream }

  /// Makes the ephemeral model of a stored one.
  mutating func makeModel(_ name: String, of stored: Int, _ hub: inout HubContext) -> Int {
    let index = hub.models.make(
      name, ephemeral: EphemeralState(of: hub.models[stored], epoch: Epoch(hub.start)),
      from: LogFloor(version: hub.models.ephemeralFloor))
    models.append(index)
    hub.models[index].counterpart = stored
    hub.models[stored].counterpart = index
    return index
  }

  /// An ephemeral model is removed.
  mutating func forget(_ index: Int) { models.removeAll { $0 == index } }

  // MARK: Releasing fields

  /// Deletes a peer's fields in one ephemeral model.
  func release(_ tag: Tag, in index: Int, _ hub: inout HubContext, _ time: HubTime) {
    let model = hub.models[index]
    guard !isUpstream, model.ephemeral != nil, model.writers.index(of: tag) != nil else { return }
    let fields = model.fields.slots.indices.lazy.map(FieldID.init).filter { id in
      model.holder(of: id)?.tag == tag && !model.isTaken(id)
    }
    // Slots are the hub's: a peer that is still present loses only its announcement.
    let slot = model.ephemeral?.slot(of: tag)
    let changes: [(name: String, value: FieldValue?)] = fields.map { id in
      let name = model.fields[id].name
      return (name, name.hasPrefix(Names.presencePrefix) ? slot?.value(announcing: nil) : nil)
    }
    hub.change(index, changes, time)
  }

  /// Deletes a peer's fields in all ephemeral models; its session has ended.
  func release(_ tag: Tag, _ hub: inout HubContext, _ time: HubTime) {
    for index in hub.sessions.identities[tag]?.models.sorted() ?? [] { release(tag, in: index, &hub, time) }
  }

  /// A peer says hello again: its fields in ephemeral models wait for it to join them.
  mutating func awaitReturn(of tag: Tag, after session: SessionID, _ hub: inout HubContext) {
    for topic in isUpstream ? [] : hub.sessions[session]?.joins.keys.sorted() ?? [] {
      guard let index = hub.models.index(of: topic), hub.models[index].ephemeral != nil else { continue }
      returning.insert(Returning(tag: tag, model: index))
    }
  }

  /// Whether a peer may come back to an ephemeral model.
  func isAwaited(in index: Int) -> Bool { returning.contains { $0.model == index } }

  /// Deletes the fields of peers that came back without joining the ephemeral model: they left it while they were
  /// away.
  mutating func endReturns(_ hub: inout HubContext, _ time: HubTime) {
    for entry in returning.sorted() {
      let session = hub.sessions.identities[entry.tag]?.session.flatMap { hub.sessions[$0] }
      if let session, session.joins[hub.models[entry.model].topic] == nil {
        guard time.monotonic >= session.welcomedAt + PresenceTable.slotKeptMilliseconds else { continue }
        release(entry.tag, in: entry.model, &hub, time)
      }
      returning.remove(entry)
    }
  }

  // MARK: Presence

  /// Updates the presence fields of a model's ephemeral counterpart, if a session has joined that.
  func publish(ofModelAt stored: Int, _ hub: inout HubContext, _ time: HubTime) {
    guard !isUpstream, let index = hub.models[stored].counterpart, let ephemeral = hub.models[index].ephemeral else {
      return
    }
    let model = hub.models[index]
    // Without sessions there is nothing to publish; the next join computes it.
    let isWatched = PresenceTable.isWatched(index, hub)
    let topic = hub.models[stored].topic
    let elsewhere = isWatched ? ephemeral.peersElsewhere : [:]
    var present: [Tag: EphemeralState.Slot] = [:]
    for id in isWatched ? hub.models[stored].members.sessions.sorted() : [] {
      guard let session = hub.sessions[id], session.isPresent(in: model) else { continue }
      let identity = session.identity
      let since = hub.sessions.identities[identity.tag]?.presentSince[topic] ?? time.wall
      present[identity.tag] =
        ephemeral.slot(of: identity.tag) ?? .init(tag: identity.tag, name: identity.name, since: since)
    }
    var changes: [(String, FieldValue?)] = []
    for tag in ephemeral.tags.sorted() where present[tag] == nil && elsewhere[tag] == nil {
      if isWatched, isComingBack(tag, to: topic, &hub, time) { continue }
      if let field = ephemeral.free(tag) { changes.append((field, nil)) }
    }
    for (tag, slot) in present.sorted(by: { $0.key < $1.key }) {
      if let field = ephemeral.field(of: tag) {
        // It has come here from a sibling.
        guard let id = model.fields.id(of: field), model.isTaken(id) else { continue }
        changes.append((field, model.decided(id)))
      } else {
        let field = ephemeral.occupy(slot)
        changes.removeAll { $0.0 == field }
        changes.append((field, slot.value(announcing: nil)))
      }
    }
    hub.change(index, changes, time)
    publish(elsewhere.filter { present[$0.key] == nil }, in: index, &hub, time)
  }

  /// Updates the presence fields of peers that are at siblings.
  private func publish(
    _ elsewhere: [Tag: FieldValue], in index: Int, _ hub: inout HubContext, _ time: HubTime
  ) {
    let model = hub.models[index]
    guard let ephemeral = model.ephemeral else { return }
    for (tag, value) in elsewhere.sorted(by: { $0.key < $1.key }) {
      guard let slot = EphemeralState.Slot(value) else { continue }
      let field = ephemeral.field(of: tag) ?? ephemeral.occupy(slot)
      if let id = model.fields.id(of: field), model.isTaken(id), model.decided(id) == value { continue }
      hub.take(index, field, value, by: nil, time)
    }
  }

  /// Whether anybody follows an ephemeral model: a session here, or a sibling.
  static func isWatched(_ index: Int, _ hub: HubContext) -> Bool {
    let model = hub.models[index]
    return !model.members.sessions.isEmpty
      || model.ephemeral?.part.map { !hub.models[$0].members.sessions.isEmpty } ?? false
  }

  /// A session has joined or left a model, or no longer follows its presence.
  func publishChange(in index: Int, _ hub: inout HubContext, _ time: HubTime) {
    let whole = hub.models[index].ephemeral?.whole ?? index
    let stored = hub.models[whole].ephemeral == nil ? whole : hub.models[whole].counterpart
    if let stored { publish(ofModelAt: stored, &hub, time) }
  }

  /// Updates presence in every ephemeral model that somebody follows, or has followed: a slot that waited for its peer
  /// may be free now.
  func publishAll(_ hub: inout HubContext, _ time: HubTime) {
    for index in models where PresenceTable.isWatched(index, hub) || hub.models[index].ephemeral?.tags.isEmpty == false
    {
      if let stored = hub.models[index].counterpart { publish(ofModelAt: stored, &hub, time) }
    }
  }

  /// Whether a peer that is not joined only lost its connection, and its new session may still join.
  private func isComingBack(_ tag: Tag, to topic: Topic, _ hub: inout HubContext, _ time: HubTime) -> Bool {
    guard let identity = hub.sessions.identities[tag], let session = identity.session.flatMap({ hub.sessions[$0] })
    else { return false }
    return identity.presentSince[topic] != nil
      && time.monotonic < session.welcomedAt + PresenceTable.slotKeptMilliseconds
  }
}
