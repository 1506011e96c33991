import BindingModel
import BindingProtocol

/// What one model has to deliver in this process: to the cells of its fields, to the observers of its updates and of
/// its status, and to paced observers.
///
/// The runtime stages updates under its lock, in order. They are delivered on the model's lane, turn by turn.
final class ModelObservers: Sendable {
  /// Everything that is not yet delivered, with those who receive it.
  struct Staged: Sendable {
    var fields = StagedFields()
    var updates = StagedUpdates()
    var feeds = StagedFeeds()
    var statuses = StagedStatuses()
    var hops: UInt8 = 0
    /// Numbers observers in the order in which they began.
    private var lastObserver: UInt64 = 0
    fileprivate var isScheduled = false
    fileprivate var isDelivering = false

    fileprivate var isSomethingDue: Bool {
      fields.isSomethingDue || updates.isSomethingDue || !feeds.due.isEmpty || statuses.isDue
    }

    mutating func numberObserver() -> UInt64 {
      lastObserver += 1
      return lastObserver
    }
  }
  let id: String
  let runtime: PeerRuntime
  let staged = Protected(Staged())

  init(of id: String, in runtime: PeerRuntime) {
    self.id = id
    self.runtime = runtime
  }

  /// Stages an update for delivery on the lane. Called under the runtime's lock, so stamps come in order.
  /// - Returns: whether a delivery is due.
  func stage(_ update: ModelUpdate, stamp: UInt64) -> Bool {
    staged.withLock { staged in
      staged.hops = max(staged.hops, update.proposalHops)
      staged.fields.stage(update, stamp: stamp)
      staged.feeds.stage(update, staged.fields)
      staged.updates.stage(update, stamp: stamp)
      return staged.isSomethingDue
    }
  }

  /// Marks a delivery as scheduled. Returns false if one was.
  func schedule() -> Bool {
    staged.withLock { staged in
      defer { staged.isScheduled = true }
      return !staged.isScheduled
    }
  }

  /// What is delivered in one turn.
  private struct DeliveryTurn: Sendable {
    let fields: [StagedFields.Due]
    let updates: StagedUpdates
    let feeds: [Following<any UpdateFeed>]
    /// nil: no status may have changed.
    let reporters: [ObjectIdentifier: WeakReporter]?
    let hops: UInt8

    /// Whether an observer is called that may write in answer.
    var hasNotifications: Bool { !fields.isEmpty || updates.isSomethingDue || reporters != nil }
  }

  /// Delivers all that is staged, turn by turn; called on the lane. What is staged meanwhile, here or elsewhere, is
  /// delivered by the call that is delivering already.
  func deliver() {
    while let turn = takeTurn() {
      if turn.hasNotifications { notify(turn) }
      notify(turn.feeds)
      staged.withLock { $0.isDelivering = false }
    }
  }

  private func notify(_ turn: DeliveryTurn) {
    for (cells, update) in turn.fields {
      for weak in cells { weak.cell?.accept(update) }
    }
    // What is written here may answer an answer (R17): a delivery inside another one continues its count.
    Hops.answering(turn.hops) {
      Turn.run {
        for (cells, update) in turn.fields {
          for weak in cells { weak.cell?.publish(after: update.overwritten) }
        }
        if let reporters = turn.reporters { report(reporters) }
      }
      turn.updates.notify()
    }
  }

  private func takeTurn() -> DeliveryTurn? {
    staged.withLock { staged in
      staged.isScheduled = false
      guard !staged.isDelivering, staged.isSomethingDue else { return nil }
      staged.isDelivering = true
      defer { staged.hops = 0 }
      return DeliveryTurn(
        fields: staged.fields.takeDue(), updates: staged.updates.takeDue(), feeds: staged.feeds.takeDue(),
        reporters: staged.statuses.takeDue(), hops: staged.hops)
    }
  }
}
