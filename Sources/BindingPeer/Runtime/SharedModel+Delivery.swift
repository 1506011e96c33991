import BindingModel
import BindingProtocol

/// How the updates of a peer's session reach cells, observers and feeds, on the model's lane.
extension SharedModel {
  /// Connects a cell to a field. From now on it receives updates.
  func attach(_ cell: any AnyFieldCell, as field: String) -> Bool {
    guard cell.attach(to: self, as: field) else { return false }
    staged.withLock { $0.fields[field, default: StagedField()].cells.append(WeakCell(cell)) }
    return true
  }

  /// Stages an update for delivery on the lane. Called under the runtime's lock, so stamps come in order.
  /// - Returns: whether a delivery is due.
  func stage(_ update: ModelUpdate, stamp: UInt64) -> Bool {
    staged.withLock { staged in
      staged.hops = max(staged.hops, update.proposalHops)
      // A cell that is connected later is shown the value of that moment.
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

  /// What is delivered in one turn.
  fileprivate struct DeliveryTurn: Sendable {
    var fieldUpdates: [(cells: [WeakCell], update: FieldUpdate)] = []
    var updates: [(update: ModelUpdate, stamp: UInt64)]
    var beginnings: [(observer: UInt64, update: ModelUpdate)]
    let missedUpdates: UInt64
    let hops: UInt8
    let observers: [UInt64: Observer]
    let feeds: [Following<any UpdateFeed>]
    /// nil: no status may have changed.
    let reporters: [ObjectIdentifier: WeakReporter]?

    /// Whether an observer is called that may write in answer.
    var hasNotifications: Bool { !fieldUpdates.isEmpty || !updates.isEmpty || !beginnings.isEmpty || reporters != nil }
  }

  /// Delivers all that is staged, turn by turn. What is staged meanwhile, here or elsewhere, is delivered by the call
  /// that is delivering already.
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
    // What is written here may answer an answer (R17): a delivery inside another one continues its count.
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
  /// Stages the next value; it replaces values that were not delivered.
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
  /// Sets the value of the last notification to one that this peer wrote in between, perhaps from an observer, and
  /// that others reverted before it was delivered. Otherwise the reverted value would equal the last notification,
  /// and the writer would take its own value for the committed one.
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
      feeds: dueFeeds, reporters: statuses.isDue ? statuses.reporters : nil)
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
    statuses.isDue = false
    return turn
  }
}
