import BindingModel
import BindingProtocol

/// A feed with the number of its observer.
struct Following<Feed: Sendable>: Sendable {
  let number: UInt64
  let feed: Feed
}

/// The paced observers of a model and of its fields, which hold their undelivered changes themselves.
struct StagedFeeds: Sendable {
  private var ofModel: [Following<ModelFeed>] = []
  /// The number of paced observers of single fields, which are listed there.
  private var fieldFeeds = 0
  /// Those with something to deliver.
  private(set) var due: [Following<any UpdateFeed>] = []
  /// Splits each update once for all of them.
  private var steps = UpdateSteps()
  /// What the description says of the values that were last staged.
  private var forms = ShownForms()

  /// Passes an update to the feeds.
  mutating func stage(_ update: ModelUpdate, _ fields: borrowing StagedFields) {
    guard !ofModel.isEmpty || fieldFeeds > 0 else { return }
    let steps = steps.steps(of: update)
    for following in ofModel where following.feed.receive(steps) { markDue(following.feed, following.number) }
    guard fieldFeeds > 0 else { return }
    for step in steps {
      for change in step.changes where change.field == Names.description { _ = forms.read(change.value) }
      for change in step.changes {
        guard let index = fields.byName.index(of: change.field) else { continue }
        let paced = PacedFieldValue(value: change.value, hops: step.hops, form: forms[change.field])
        for following in fields.byName[at: index].feeds
        where following.feed.receive(paced, weight: max(step.commits, 1)) {
          markDue(following.feed, following.number)
        }
      }
    }
    for list in update.lists {
      guard let index = fields.byName.index(of: list.name), !fields.byName[at: index].feeds.isEmpty else { continue }
      let paced = PacedFieldValue(value: list.isWritten ? list.array : nil, hops: update.proposalHops)
      for following in fields.byName[at: index].feeds
      where following.feed.receive(paced, weight: max(update.commits.count, 1)) {
        markDue(following.feed, following.number)
      }
    }
  }

  mutating func add(_ feed: ModelFeed, number: UInt64, present: ModelUpdate?) {
    if let present { _ = feed.receive([steps.begin(with: present)]) }
    ofModel.append(Following(number: number, feed: feed))
    markDue(feed, number)
  }

  mutating func add(
    _ feed: FieldFeed, to field: inout StagedField, number: UInt64, present: ModelUpdate?, _ forms: ShownForms
  ) {
    if let present { _ = steps.begin(with: present) }
    self.forms = forms
    fieldFeeds += 1
    // A field that seldom changes would not find its orphaned feeds: a new one looks for them.
    for other in field.feeds where other.feed.isOrphaned { markDue(other.feed, other.number) }
    field.feeds.append(Following(number: number, feed: feed))
    markDue(feed, number)
  }

  mutating func remove(_ number: UInt64, _ fields: inout StagedFields) -> (any UpdateFeed)? {
    if let index = ofModel.firstIndex(where: { $0.number == number }) { return ofModel.remove(at: index).feed }
    guard let feed = fields.remove(feed: number) else { return nil }
    fieldFeeds -= 1
    return feed
  }

  mutating func takeDue() -> [Following<any UpdateFeed>] {
    defer { due = [] }
    return due
  }

  private mutating func markDue(_ feed: any UpdateFeed, _ number: UInt64) {
    due.append(Following(number: number, feed: feed))
  }
}

extension ModelObservers {
  /// Adds a feed of the present state and of each later update. It ends when the token is cancelled, and without an
  /// owner also when the token is released.
  func follow(_ feed: ModelFeed, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      staged.feeds.add(feed, number: number, present: state.session.present(id))
    }
  }

  /// Adds a feed of a field's present value and of each later one. It ends like that of a whole model.
  func follow(_ feed: FieldFeed, of field: String, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      let forms = staged.fields.forms
      _ = feed.receive(
        PacedFieldValue(value: state.session.presentValue(id, field), hops: 0, form: forms[field]))
      staged.feeds.add(feed, to: &staged.fields[field], number: number, present: state.session.present(id), forms)
    }
  }

  private func follow(
    _ feed: any UpdateFeed, owner: AnyObject?,
    enter: (borrowing PeerRuntime.State, inout Staged, _ number: UInt64) -> Void
  ) -> ObserverToken {
    let number = runtime.state.withLock { state in
      staged.withLock { staged in
        let number = staged.numberObserver()
        enter(state, &staged, number)
        return number
      }
    }
    return ObserverToken(cancelsWhenReleased: owner == nil) { [weak self, weak feed] in
      feed?.end()
      self?.drop(feed: number)
    }
  }

  /// Delivers what the feeds hold; called on the lane.
  func notify(_ feeds: [Following<any UpdateFeed>]) {
    // In the order in which the observations began.
    for following in feeds.count > 1 ? feeds.sorted(by: { $0.number < $1.number }) : feeds {
      following.feed.notify()
      if following.feed.isOver { drop(feed: following.number) }
    }
  }

  private func drop(feed number: UInt64) {
    // It is released outside the lock: its captures may run any code.
    let gone: (any UpdateFeed)? = staged.withLock { $0.feeds.remove(number, &$0.fields) }
    withExtendedLifetime(gone) {}
  }
}
