import BindingProtocol

/// What differs for proposals to an ephemeral model (protocol.md §9).
extension Sequencer {
  /// Refuses a write to a field that another live peer holds.
  func checkHolder(of id: FieldID, _ writer: Int, in model: ModelLog) throws(Verdict) {
    let name = model.fields[id].name
    if name.hasPrefix(Names.presencePrefix) {
      throw .refused(.notOwner, "\(name) belongs to the hub; write \(Names.me)")
    }
    guard let holder = model.holder(of: id), holder.tag != model.origin(ofWriter: writer).tag else { return }
    let field = "\(Names.model(ofEphemeral: model.id)).\(name)"
    throw .refused(.notOwner, "\(field) belongs to \(holder), until that peer deletes it or disconnects")
  }

  /// Refuses an owner, or puts it off, where several hubs share the log: it may have the model once the log says so,
  /// because the other hubs would let writes pass until then that it has not approved.
  func checkOwnable(_ field: String, _ writer: Int, in model: ModelLog) throws(Verdict) {
    guard let owners, field == Names.owner, let stored = model.ephemeral?.stored else { return }
    guard owners.areAsked else {
      throw .refused(
        .notPermitted,
        "\(stored.id) cannot have an owner, because several hubs share its log and they cannot ask it; start each with "
          + "--sibling and the addresses of the others, in this version or a later one")
    }
    let tag = model.origin(ofWriter: writer).tag
    if stored.approval.isOwned(by: tag, at: owners.start) { return }
    guard let recorded = stored.approval.recorded, recorded.hub != owners.start, recorded.origin.tag != tag else {
      throw .claim
    }
    throw .refused(
      .notOwner,
      "\(stored.id).\(field) belongs to \(recorded.origin) at another hub, until that peer deletes it or disconnects")
  }

  /// A peer wants to own the model of an ephemeral one, which nobody else here does.
  func claim(_ model: ModelLog, by origin: Origin, _ time: HubTime, _ hub: inout HubContext) {
    guard let stored = model.ephemeral?.stored, let index = model.counterpart else { return }
    if let claim = stored.approval.claim, claim.origin.tag != origin.tag, claim.until > time.monotonic { return }
    stored.approval.claim = OwnerClaim(origin: origin, until: time.monotonic + OwnerClaim.milliseconds)
    hub.models.touch(index)
  }

  /// Checks a value against the stored model's description, which applies to the ephemeral model too.
  func check(
    _ value: UnsafeRawBufferPointer, for field: String, by stored: ModelLog
  ) throws(Verdict) {
    guard let index = stored.rules.current.rules.index(of: field) else { return }
    let rule = stored.rules.current.rules[index]
    if rule.isAlias { throw .refused(.doesNotFit, DescriptionCheck(model: stored).violation(ofAlias: field)) }
    if rule.isList { throw .refused(.doesNotFit, "\(stored.id).\(field) is a list, which has no ephemeral value") }
    guard let words = rule.words(against: value) else { return }
    throw .refused(.doesNotFit, "\(stored.id).\(field): \(words)")
  }

  /// Writes what a peer announces of itself into the field of its slot.
  /// - Returns: how many fields change.
  mutating func announce(
    _ value: UnsafeRawBufferPointer?, _ verb: Verb, _ version: Version, _ writer: Int, in model: ModelLog
  ) throws(Verdict) -> Int {
    guard verb == .set || verb == .delete else {
      throw .refused(.malformedValue, "\(Names.me) can only be set and deleted")
    }
    let origin = model.origin(ofWriter: writer)
    guard let slot = model.ephemeral?.slot(of: origin.tag), let name = model.ephemeral?.field(of: origin.tag),
      let id = model.fields.id(of: name)
    else {
      let joined = Names.model(ofEphemeral: model.id)
      throw .refused(.notPermitted, "\(origin) is not present in \(joined); join it, and its ephemeral model too")
    }
    guard model.fields.decidedVersion(id) != version else {
      throw .refused(.duplicateField, "\(Names.me) appears twice in one proposal")
    }
    if let value, !JSON.isValid(value) { throw malformed(value, Names.me) }
    if let value, value.count > limits.maxValueBytes / 2 {
      throw .refused(.valueTooLarge, "\(Names.me) has \(value.count) bytes; \(limits.maxValueBytes / 2) are allowed")
    }
    let announced = slot.value(announcing: value)
    if announced.bytes.withUnsafeBytes({ model.isDecided(id, as: $0) }), !model.isTaken(id) { return 0 }
    let fits = model.batch.pending.commits.change(id, announced)
    try record(fits, announced.bytes.count, for: id, version, writer, in: model)
    return 1
  }
}
