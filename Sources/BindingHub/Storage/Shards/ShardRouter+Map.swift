import BindingProtocol

/// What follows from a change of the map, and what the hub is told of all shards together.
extension ShardRouter {
  // MARK: The map

  /// Something was moved out of a shard, or back: nothing that it answers is believed until the root has shown the map.
  mutating func suspend(_ shard: UInt16, _ output: inout Output) {
    let own = syncs.next()
    parts[shard, default: Part()].suspendedUntil = own
    pass(.sync(own), to: ShardMap.root, &output)
  }

  /// Asks the root for its map, which it shows if it has changed. Where the root does not answer for long, one question
  /// is enough.
  package mutating func look(into output: inout Output) {
    guard isWaiting, lookedAt <= parts[ShardMap.root]?.synced ?? 0 else { return }
    lookedAt = syncs.next()
    pass(.sync(lookedAt), to: ShardMap.root, &output)
  }

  /// The root has answered a sync, and shown its map before that if it had changed.
  mutating func believe(_ output: inout Output) {
    let synced = parts[ShardMap.root]?.synced ?? 0
    for (shard, part) in parts.sorted(by: { $0.key < $1.key }) {
      guard let number = part.suspendedUntil, number <= synced else { continue }
      parts[shard]?.suspendedUntil = nil
      askAgain(in: shard, &output)
      goOn(shard, &output)
    }
    let confirmed = unconfirmed.filter { $0.own <= synced }
    unconfirmed.removeAll { $0.own <= synced }
    for (_, question, event, shard) in confirmed { answer(question, event, shard, isConfirmed: true, &output) }
  }

  /// Asks again what a shard may have answered meanwhile.
  private mutating func askAgain(in shard: UInt16, _ output: inout Output) {
    parts[shard]?.waiting.removeAll { $0.question != nil }
    for (question, call) in questions where map.place(of: question.model).shard == shard {
      pass(call, to: shard, &output)
    }
    if lists.restart() { beginList(&output, isAgain: true) }
  }

  /// A shard can be used: what waited for it goes where the map says now.
  mutating func goOn(_ shard: UInt16, _ output: inout Output) {
    guard let part = parts[shard], part.isUsable else { return }
    parts[shard]?.waiting = []
    for call in part.waiting {
      switch call {
      case .sync, .list: output.calls.append((shard, call))
      case .append, .fold: self.call(call, into: &output)
      case .load, .loadToFold, .head, .history: pass(call, to: shard, &output)
      }
    }
  }

  /// The map has changed.
  mutating func take(_ map: ShardMap, _ output: inout Output) {
    guard map.version > self.map.version else { return }
    let before = self.map
    self.map = map
    // Also one without models: it is open by the time at which it gets some.
    for shard in map.shards where parts[shard.number] == nil {
      parts[shard.number] = Part()
      output.opening.append(shard)
    }
    // What goes on in another shard is as this one tells it.
    for shard in parts.keys.sorted() {
      let mine = (parts[shard]?.elsewhere ?? [:]).filter { map.place(of: $0.key).shard == shard }
      guard !mine.isEmpty else { continue }
      for model in mine.keys { parts[shard]?.elsewhere[model] = nil }
      let heads = mine.values.sorted { $0.model < $1.model }.map { ShardRevision.here($0, of: shard) }
      output.events.append(.changed(heads))
    }
    for (question, call) in questions {
      let (old, new) = (before.place(of: question.model).shard, map.place(of: question.model).shard)
      guard old != new else { continue }
      parts[old]?.waiting.removeAll { $0.question == question }
      pass(call, to: new, &output)
    }
    let batches = held
    held.removeAll()
    for (number, batch) in batches { append(number, [batch], &output) }
    if lists.restart() { beginList(&output, isAgain: true) }
    // What was stored in a shard before is told by another one now.
    if let own = syncs.restart() { for shard in counted { pass(.sync(own), to: shard, &output) } }
    tellConnected(&output)
  }

  // MARK: All shards together

  mutating func tellConnected(_ output: inout Output) {
    let states = counted.map { parts[$0]?.isConnected }
    if !told.hasBegun {
      guard !states.contains(nil) else { return }
      told.hasBegun = true
      told.isConnected = states.allSatisfy { $0 == true }
      output.events += [.connected(told.isConnected), .caughtUp(position)]
      return
    }
    let isConnected = states.allSatisfy { $0 == true }
    guard isConnected != told.isConnected else { return }
    told.isConnected = isConnected
    output.events.append(.connected(isConnected))
  }

  mutating func tellSynced(_ output: inout Output) {
    // What was moved out of a shard that is not believed may be in another one that has not told it yet.
    guard !parts.values.contains(where: \.isSuspended) else { return }
    let least = counted.map { parts[$0]?.synced ?? 0 }.min() ?? 0
    if let number = syncs.take(upTo: least) { output.events.append(.synced(number)) }
  }

  mutating func tellRoom(_ output: inout Output) {
    let room = parts.values.map(\.room).max() ?? .enough
    guard room != told.room else { return }
    told.room = room
    output.events.append(.room(room))
  }

  mutating func tellGrade(_ reason: String, _ output: inout Output) {
    guard let grade = counted.compactMap({ parts[$0]?.grade }).min(), grade != told.grade else { return }
    told.grade = grade
    output.events.append(.grade(grade, reason))
  }
}
