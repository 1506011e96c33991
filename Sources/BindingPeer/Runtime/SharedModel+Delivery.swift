import BindingModel
import BindingProtocol

/// How the updates of a peer's session reach cells, observers and feeds, on the model's lane.
extension SharedModel {
  /// Ties a cell to a field. From now on it is told.
  func attach(_ cell: any AnyFieldCell, as field: String) -> Bool {
    guard cell.attach(to: self, as: field) else { return false }
    staged.withLock { $0.fields[field, default: StagedField()].cells.append(WeakCell(cell)) }
    return true
  }

  /// Takes an update in, to be told on the lane. Called under the runtime's lock, so stamps come in order.
  /// - Returns: whether there is something to be told.
  func stage(_ update: ModelUpdate, stamp: UInt64) -> Bool {
    staged.withLock { staged in
      staged.hops = max(staged.hops, update.proposalHops)
      // A cell that is tied to a field later is shown what is there then.
      if !staged.fields.isEmpty {
        for change in update.changes {
          guard let index = staged.fields.index(of: change.field) else { continue }
          if staged.fields[at: index].update == nil { staged.dueFields.append(index) }
          staged.fields[at: index].apply(change, stamp: stamp)
        }
        for name in update.confirmed where !update.covered.contains(name) {
          if let index = staged.fields.index(of: name) { staged.fields[at: index].isOurs = false }
        }
      }
      if !staged.feeds.isEmpty || staged.fieldFeeds > 0 { staged.feed(update) }
      if !staged.observers.isEmpty {
        if staged.updates.count >= SharedModel.maxWaitingUpdates {
          staged.updates.removeFirst()
          staged.missedUpdates += 1
        }
        staged.updates.append((update, stamp))
      }
      return staged.isSomethingDue
    }
  }

  /// Delivers now when this thread is on the lane, else later there.
  func scheduleDelivery() {
    if lane.isCurrent { return deliver() }
    let isFirst = staged.withLock { staged in
      defer { staged.isScheduled = true }
      return !staged.isScheduled
    }
    if isFirst { lane.run { [self] in deliver() } }
  }

  /// What is told at once.
  fileprivate struct DeliveryTurn: Sendable {
    var fieldUpdates: [(cells: [WeakCell], update: FieldUpdate)] = []
    var updates: [(update: ModelUpdate, stamp: UInt64)]
    var beginnings: [(observer: UInt64, update: ModelUpdate)]
    let missedUpdates: UInt64
    let hops: UInt8
    let observers: [UInt64: Observer]
    let feeds: [Following<any UpdateFeed>]
    /// Nil: no status may be another one.
    let reporters: [ObjectIdentifier: WeakReporter]?

    /// Whether somebody is called who may answer.
    var hasNotifications: Bool { !fieldUpdates.isEmpty || !updates.isEmpty || !beginnings.isEmpty || reporters != nil }
  }

  /// Tells all that waits, turn by turn. What comes in meanwhile, from here or elsewhere, is told by whoever is
  /// telling already.
  func deliver() {
    while let turn = takeTurn() {
      if turn.hasNotifications { notify(turn) }
      notify(turn.feeds)
      staged.withLock { $0.isDelivering = false }
    }
  }

  private func notify(_ turn: DeliveryTurn) {
    for (cells, update) in turn.fieldUpdates {
      for weak in cells { weak.cell?.accept(update) }
    }
    // What is written here may be an answer to an answer (R17): a delivery inside another one counts on.
    Hops.answering(turn.hops) {
      Turn.run {
        for (cells, update) in turn.fieldUpdates {
          for weak in cells { weak.cell?.publish(after: update.overwritten) }
        }
        if let reporters = turn.reporters { report(reporters) }
      }
      for (number, update) in turn.beginnings { turn.observers[number]?.body(update, 0) }
      for (index, (update, stamp)) in turn.updates.enumerated() {
        for observer in turn.observers.values where stamp > observer.since {
          observer.body(update, index == 0 ? turn.missedUpdates : 0)
        }
      }
    }
  }

  private func takeTurn() -> DeliveryTurn? {
    staged.withLock { staged in
      staged.isScheduled = false
      guard !staged.isDelivering, staged.isSomethingDue else { return nil }
      staged.isDelivering = true
      return staged.takeTurn()
    }
  }
}

extension SharedModel.StagedField {
  /// What it is to hear next; values that it has not heard yet are replaced.
  mutating func apply(_ change: ShownChange, stamp: UInt64) {
    var overwritten = update?.overwritten
    if let update, update.isOurs, !change.isOurs { overwritten = .init(value: update.value) }
    update = .init(
      value: change.new, stamp: stamp, isOurs: change.isOurs, keepsShown: !isOurs && update?.keepsShown ?? true,
      overwritten: overwritten)
    isOurs = change.isOurs
  }
}

extension AnyFieldCell {
  func publish() { publish(after: nil) }
}

extension FieldCell {
  /// Has observers told what they were told last, because this peer has written something else in between, perhaps one
  /// of them, and others have put back what was there before anybody heard of it. Who wrote it would take it for what
  /// stands.
  func forgetPublished(_ value: Value, after overwritten: SharedModel.Overwritten) {
    guard published.binding.location.read() == value else { return }
    guard let between = overwritten.value.map(codec.decode) ?? declared, between != value else { return }
    published.setSilently(between)
  }
}

extension SharedModel.Staged {
  fileprivate mutating func takeTurn() -> SharedModel.DeliveryTurn {
    var turn = SharedModel.DeliveryTurn(
      updates: updates, beginnings: beginnings, missedUpdates: missedUpdates, hops: hops, observers: observers,
      feeds: dueFeeds, reporters: isStatusDue ? reporters : nil)
    turn.fieldUpdates.reserveCapacity(dueFields.count)
    for index in dueFields {
      guard let update = fields[at: index].update.take() else { continue }
      turn.fieldUpdates.append((fields[at: index].cells, update))
    }
    dueFields.removeAll(keepingCapacity: true)
    updates = []
    beginnings = []
    missedUpdates = 0
    dueFeeds = []
    hops = 0
    isStatusDue = false
    return turn
  }
}
