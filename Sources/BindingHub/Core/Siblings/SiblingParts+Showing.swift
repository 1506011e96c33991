import BindingProtocol

/// What siblings have, shown in the ephemeral models of this hub.
extension SiblingParts {
  /// A sibling has committed.
  mutating func take(
    _ commits: [RecordedCommit], of link: Int, _ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime
  ) {
    var changed: [String: Set<String>] = [:]
    for commit in commits {
      for change in commit.changes {
        set(
          change.field, in: commit.model,
          to: change.value.map { Value(value: $0, origin: commit.origin, time: commit.time) }, of: link)
        changed[commit.model, default: []].insert(change.field)
      }
    }
    show(changed, presence, &hub, time)
  }

  /// A catch-up has brought what a sibling has.
  mutating func take(
    _ fields: FollowedFields, of link: Int, _ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime
  ) {
    var gone = fields.isWhole ? self.fields(in: fields.model, of: link) : []
    for field in fields.fields {
      set(
        field.name, in: fields.model,
        to: field.value.map { Value(value: $0, origin: field.origin, time: field.time) }, of: link)
      gone.remove(field.name)
    }
    for field in gone { set(field, in: fields.model, to: nil, of: link) }
    show([fields.model: gone.union(fields.fields.lazy.map(\.name))], presence, &hub, time)
  }

  /// A sibling does not let this hub read a model.
  mutating func drop(
    _ model: String, of link: Int, _ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime
  ) {
    let gone = fields(in: model, of: link)
    for field in gone { set(field, in: model, to: nil, of: link) }
    show([model: gone], presence, &hub, time)
  }

  /// Forgets what lost siblings had, and models that nobody here has joined for a while.
  mutating func tend(_ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime) {
    // `show` reads what is there when its arguments are evaluated, so these come first.
    var gone = silence(lease: hub.lease, now: time.monotonic)
    for model in followed.keys.sorted() {
      if let index = hub.models.index(named: model), !hub.models[index].members.sessions.isEmpty {
        follow(model, now: time.monotonic)
      } else if isUnused(model, now: time.monotonic) {
        gone[model, default: []].formUnion(unfollow(model))
      }
    }
    show(gone, presence, &hub, time)
    for index in presence.models where isShared(index, hub) { SiblingParts.tidy(index, hub) }
  }

  /// Whether what changes in an ephemeral model here concerns siblings.
  func isShared(_ index: Int, _ hub: HubContext) -> Bool {
    hub.models[index].ephemeral?.part != nil || followed[hub.models[index].id] != nil
  }

  /// Forgets what is no longer taken from siblings, and the writers that came with it.
  private static func tidy(_ index: Int, _ hub: HubContext) {
    let model = hub.models[index]
    for place in [model] + (model.ephemeral?.part.map { [hub.models[$0]] } ?? []) {
      let strangers = place.writers.records.lazy.map(\.origin.tag).filter { tag in
        tag != .none && hub.sessions.identities[tag] == nil
      }
      if !strangers.isEmpty { place.forget(Set(strangers)) }
    }
    guard let ephemeral = model.ephemeral, !ephemeral.takenFrom.isEmpty, !model.batch.hasDecisions else { return }
    ephemeral.keepTaken { field, version in
      model.fields.id(of: field).map { model.fields[$0].version == version && model.fields[$0].hasValue } ?? false
    }
  }

  // MARK: Showing

  /// Brings fields of ephemeral models up to date with what siblings have.
  func show(_ fields: [String: Set<String>], _ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime) {
    for (name, fields) in fields.sorted(by: { $0.key < $1.key }) {
      guard let index = hub.models.index(named: name), let ephemeral = hub.models[index].ephemeral else { continue }
      for field in fields.sorted() where !field.hasPrefix(Names.presencePrefix) { show(field, in: index, &hub, time) }
      guard fields.contains(where: { $0.hasPrefix(Names.presencePrefix) }) else { continue }
      ephemeral.peersElsewhere = peers(in: name)
      presence.publishChange(in: index, &hub, time)
    }
  }

  /// Brings an ephemeral model up to date with all that siblings have.
  func showAll(in model: String, _ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime) {
    let fields = links.indices.reduce(into: Set<String>()) { $0.formUnion(self.fields(in: model, of: $1)) }
    if !fields.isEmpty { show([model: fields], presence, &hub, time) }
  }

  /// Fields that no peer here holds any more: siblings may have values of them.
  func showFreed(_ fields: [FieldID], in index: Int, _ hub: inout HubContext, _ time: HubTime) {
    let model = hub.models[index]
    guard followed[model.id] != nil else { return }
    let free = fields.filter { !model.fields[$0].hasValue }.map { model.fields[$0].name }
    for field in Set(free).sorted() where !field.hasPrefix(Names.presencePrefix) {
      if value(of: field, in: model.id) != nil { show(field, in: index, &hub, time) }
    }
  }

  /// What the peer has claimed that owns a model at a sibling; nil: the log says of none.
  private func owner(of model: ModelLog) -> Value? {
    guard let owner = model.ephemeral?.stored.approval.recorded,
      let link = links.first(where: { $0.homeStart == owner.hub && !$0.isSilent }),
      let value = link.parts[model.id]?[Names.owner], value.origin.tag == owner.origin.tag
    else { return nil }
    return value
  }

  /// Shows the value that counts: that of a peer here, or of a sibling.
  private func show(_ field: String, in index: Int, _ hub: inout HubContext, _ time: HubTime) {
    let model = hub.models[index]
    let elsewhere = field == Names.owner ? owner(of: model) : value(of: field, in: model.id)
    let id = model.fields.id(of: field)
    let isTaken = id.map { model.isTaken($0) } ?? false
    if let id, !isTaken, let holder = model.holder(of: id) {
      let since = model.fields.isDecided(id) ? time.wall : model.fields[id].time
      guard let elsewhere, elsewhere.precedes(holder.tag, since) else { return }
    }
    guard let elsewhere else {
      if isTaken, id.map({ model.fields.decided($0).hasValue }) == true { hub.change(index, [(field, nil)], time) }
      return
    }
    if isTaken, let id, model.holder(of: id) == elsewhere.origin, model.decided(id) == elsewhere.value { return }
    hub.take(index, field, elsewhere.value, by: elsewhere.origin, time)
  }
}
