import BindingModel
import BindingWire

/// How what a peer's session reveals reaches cells, observers and feeds, on the model's lane.
extension SharedModel {
  /// Ties a cell to a field. From now on it is told.
  func attach(_ cell: any AnyFieldCell, as field: String) -> Bool {
    guard cell.attach(to: self, as: field) else { return false }
    staged.withLock { $0.cells[field, default: []].append(WeakCell(cell: cell)) }
    return true
  }

  /// Takes a reveal in, to be told on the lane. Called under the runtime's lock, so stamps come in order.
  func stage(_ reveal: Reveal, stamp: UInt64) {
    staged.withLock { staged in
      // A cell that is tied to a field later is shown what is there then.
      if !staged.cells.isEmpty {
        for change in reveal.changes where staged.cells[change.field] != nil {
          staged.values[change.field] = (change.new, stamp)
        }
      }
      staged.hops = max(staged.hops, reveal.proposalHops)
      if !staged.feeds.isEmpty {
        let steps = staged.steps.steps(of: reveal)
        for following in staged.feeds where following.feed.hear(steps) { staged.dueFeeds.append(following) }
      }
      guard !staged.observers.isEmpty else { return }
      if staged.reveals.count >= SharedModel.maxWaitingReveals {
        staged.reveals.removeFirst()
        staged.missedReveals += 1
      }
      staged.reveals.append((reveal, stamp))
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

  /// Tells all that waits, turn by turn. What comes in meanwhile, from here or elsewhere, is told by whoever is
  /// telling already.
  func deliver() {
    while let turn = takeTurn() {
      for (field, news) in turn.values {
        for weak in turn.cells[field] ?? [] { weak.cell?.accept(news.value, stamp: news.stamp) }
      }
      // What is written here may be an answer to an answer: a delivery inside another one counts on.
      Delivery(proposalHops: max(turn.hops, Delivery.current?.proposalHops ?? 0)).run {
        Turn.run {
          for field in turn.values.keys {
            for weak in turn.cells[field] ?? [] { weak.cell?.publish() }
          }
          if turn.isStatusDue { tell(turn.tellers) }
        }
        for (number, reveal) in turn.beginnings { turn.observers[number]?.body(reveal, 0) }
        for (index, (reveal, stamp)) in turn.reveals.enumerated() {
          for observer in turn.observers.values where stamp > observer.since {
            observer.body(reveal, index == 0 ? turn.missedReveals : 0)
          }
        }
      }
      tell(turn.dueFeeds)
      staged.withLock { $0.isDelivering = false }
    }
  }

  private func takeTurn() -> Staged? {
    staged.withLock { staged in
      staged.isScheduled = false
      guard !staged.isDelivering,
        !staged.values.isEmpty || !staged.reveals.isEmpty || !staged.beginnings.isEmpty || !staged.dueFeeds.isEmpty
          || staged.isStatusDue
      else { return nil }
      let turn = staged
      staged.isDelivering = true
      staged.values.removeAll(keepingCapacity: true)
      staged.reveals.removeAll()
      staged.beginnings.removeAll()
      staged.missedReveals = 0
      staged.dueFeeds.removeAll()
      staged.hops = 0
      staged.isStatusDue = false
      return turn
    }
  }
}

/// A delivery that runs on this thread: what is written meanwhile is an answer to what it tells (R17).
final class Delivery: Sendable {
  private static let slot = ThreadSlot<Delivery>()
  static var current: Delivery? { slot.occupant }

  let proposalHops: UInt8

  init(proposalHops: UInt8) { self.proposalHops = proposalHops }

  func run(_ body: () -> Void) { Delivery.slot.occupy(by: self, body) }
}
