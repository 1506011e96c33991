import BindingProtocol

extension Session {
  /// Applies published commits (R14).
  mutating func commits(
    _ reader: WireReader, _ frame: UnsafeRawBufferPointer, _ topic: Topic, now: UInt64, _ output: inout PeerOutput
  ) throws(WireError) {
    guard let id = topics[topic], let index = models.index(of: id) else {
      counters.otherTopic += 1
      return
    }
    var cursor = try CommitCursor(reader)
    guard models[at: index].isCurrent else { return buffer(frame, at: index) }
    guard fits(cursor, index, frame, now: now, &output) else { return }
    // A complete replica would know every name: this one is not complete, and nothing is applied.
    guard try models[at: index].replica.knowsFields(of: cursor) else {
      models[at: index].replica.forgetIDs()
      return rejoin(id, now: now, &output)
    }
    var names = cursor.names
    while try names.next() {
      _ = models[at: index].replica.learn(String(decoding: names.name, as: UTF8.self), as: names.id)
    }
    var origins: [Origin] = []
    var list = cursor.origins
    while try list.next() { origins.append(list.origin) }
    while try cursor.next() {
      let origin = origins[Int(cursor.origin)]
      let isOwn = origin.tag == identity.tag
      models[at: index].replica.seen.record(origin.tag, cursor.number)
      if isOwn { recordOwn(cursor.number, at: cursor.version, epoch: cursor.epoch, at: index) }
      if previousTags.contains(origin.tag) { recordEarlier(origin.tag, cursor.number, at: index) }
      if cursor.version <= models[at: index].replica.version {
        counters.repeats += 1
        continue
      }
      var listed: [FieldChange] = []
      var changes = cursor.changes
      while try changes.next() {
        guard let field = models[at: index].replica.index(ofID: changes.field) else { continue }
        let value = changes.value.map { FieldValue(bytes: Array($0)) }
        models[at: index].replica.commit(
          value, at: field, version: cursor.version, origin: origin, number: cursor.number, time: cursor.time)
        listed.append(FieldChange(field: models[at: index].replica.fields[field].name, value: value))
      }
      models[at: index].replica.reach(cursor.version, epoch: cursor.epoch)
      counters.commitsApplied += 1
      if !isOwn { models[at: index].hops = max(models[at: index].hops, cursor.hops) }
      if models[at: index].commits.count < options.maxListedCommits {
        models[at: index].commits.append(
          CommitInfo(
            version: cursor.version, origin: origin, number: cursor.number, time: cursor.time, hops: cursor.hops,
            changes: listed, own: isOwn))
      } else {
        models[at: index].coalesced += 1
      }
    }
    models[at: index].drop(reached: models[at: index].replica.version)
    models[at: index].record(.commits)
  }

  /// Whether the commits follow the replica's version; if not, asks for a catch-up.
  private mutating func fits(
    _ cursor: CommitCursor, _ index: Int, _ frame: UnsafeRawBufferPointer, now: UInt64,
    _ output: inout PeerOutput
  ) -> Bool {
    let (id, epoch, version) = (models.keys[index], models[at: index].replica.epoch, models[at: index].replica.version)
    let isOther = cursor.epoch != epoch
    let isPastGap = cursor.previous > version
    if isPastGap, !isOther {
      counters.gaps += 1
      output.add(.notice(.gap(model: id, from: version, to: cursor.lastVersion)))
    }
    if isOther || isPastGap { rejoin(id, now: now, &output) }
    if isPastGap, !isOther { buffer(frame, at: index) }
    return !isOther && !isPastGap
  }

  private mutating func buffer(_ frame: UnsafeRawBufferPointer, at index: Int) {
    guard models[at: index].bufferedBytes + frame.count <= options.maxBufferedBytes else {
      counters.unbuffered += 1
      return
    }
    models[at: index].buffered.append(Array(frame))
    models[at: index].bufferedBytes += frame.count
  }

  /// R4: an own commit is the outcome of its write. That write and all own lower ones of this model leave the
  /// overlay.
  mutating func recordOwn(_ number: ProposalNumber, at version: Version, epoch: Epoch, at index: Int) {
    if let id = models[at: index].outbox.id(of: number), models[at: index].outbox.isUnacknowledged(id) {
      settle(id, as: .committed(epoch: epoch, version: version), at: index)
      release(id, at: index)
    }
    models[at: index].touch(models[at: index].outbox.hide(upTo: number))
  }

  // MARK: Recovery

  /// Sends the committed values, as they were in the old epoch, to a hub that lacks them.
  mutating func offer(_ ask: AskOffer, now: UInt64, _ output: inout PeerOutput) {
    guard let id = topics[ask.topic], let index = models.index(of: id), ask.session == sessionID else { return }
    let (replica, seen) = (models[at: index].replica, models[at: index].replica.seen.latest())
    let fields = replica.fields.filter { $0.version > 0 }
    let numbers = hubCan(Capability.recovery) ? seen : nil
    var chunk: UInt32 = 0
    var part: [OfferedField] = []
    var bytes = 0
    func send(isLast: Bool, _ session: inout Session, _ output: inout PeerOutput) {
      session.send(
        .offer(
          Offer(
            request: ask.request, topic: ask.topic, epoch: replica.epoch, version: replica.version, chunk: chunk,
            isLast: isLast, fields: part, numbers: isLast ? numbers : nil)), now: now, &output)
      chunk += 1
      part.removeAll()
      bytes = 0
    }
    for field in fields {
      let size = 64 + field.name.utf8.count + field.origin.name.utf8.count + (field.value?.bytes.count ?? 0)
      if bytes > 0, bytes + size > limits.chunkBytes { send(isLast: false, &self, &output) }
      part.append(
        OfferedField(
          name: field.name, version: field.version, origin: field.origin, number: field.number, time: field.time,
          value: field.value))
      bytes += size
    }
    send(isLast: true, &self, &output)
    output.add(.notice(.offered(model: id, fields: fields.count)))
  }
}
