public import BindingModel

extension Model {
  /// Observes the whole model on its lane while `owner` lives, which is held weakly: the present state, then changes
  /// at the given pace, each with the number of commits coalesced into it.
  ///
  /// The default pace delivers the newest state, once per turn of the lane. A model that was never shared has no
  /// commits: nothing is delivered.
  @discardableResult
  public func observe(
    _ pace: Pace<ModelChange> = .latest(every: .zero), on owner: AnyObject,
    _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    shared?.observe(pace, on: owner, body) ?? ObserverToken {}
  }

  /// Observes the whole model on its lane until the token is cancelled or released: the present state, then changes
  /// at the given pace, by default the newest state once per turn of the lane.
  public func observe(
    _ pace: Pace<ModelChange> = .latest(every: .zero), _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    shared?.observe(pace, body) ?? ObserverToken {}
  }

  /// The changes of the whole model, for `for await`. The default pace gives the newest state at each iteration. The
  /// sequence finishes when the model is no longer referenced, or the reading task is cancelled.
  public func changes(_ pace: Pace<ModelChange> = .latest(every: .zero)) -> ModelChanges {
    guard let shared else { return ModelChanges(PacedValues(pace) { _ in ObserverToken {} }) }
    return shared.changes(pace)
  }
}

extension SharedModel {
  /// Observes the whole model on its lane while `owner` lives, which is held weakly: the present state, then changes
  /// at the given pace, each with the number of commits coalesced into it.
  @discardableResult
  public func observe(
    _ pace: Pace<ModelChange>, on owner: AnyObject, _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner) { change, commits in body(change.counting(commits)) }
  }

  /// Observes the whole model on its lane until the token is cancelled or released: the present state, then changes
  /// at the given pace, each with the number of commits coalesced into it.
  public func observe(
    _ pace: Pace<ModelChange>, _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil) { change, commits in body(change.counting(commits)) }
  }

  /// The changes of the model at a pace, for `for await`. The sequence does not keep the model alive; it finishes
  /// when the model is no longer referenced, or the reading task is cancelled.
  public func changes(_ pace: Pace<ModelChange>) -> ModelChanges {
    ModelChanges(
      PacedValues(pace) { [weak self] mailbox in
        let source = MailboxSource(mailbox)
        guard let self else { return ObserverToken {} }
        return observe(pace.untimed, owner: nil) { source.mailbox.post($0, weight: $1) }
      })
  }

  private func observe(
    _ pace: Pace<ModelChange>, owner: AnyObject?, _ body: @escaping @Sendable (ModelChange, Int) -> Void
  ) -> ObserverToken {
    let delivery = PacedDelivery<ModelChange, ModelChange>(
      pace, lane: lane, owner: owner, coalesce: pace.coalesce, form: { $0 },
      body: { raw, change, commits in Hops.answering(raw.hops) { body(change, commits) } })
    let token = observers.follow(ModelFeed(delivery), owner: owner)
    scheduleDelivery()
    return token
  }
}

/// The changes of a model, as returned by `changes(_:)`.
public struct ModelChanges: AsyncSequence, Sendable {
  let values: PacedValues<ModelChange>

  init(_ values: PacedValues<ModelChange>) { self.values = values }

  public func makeAsyncIterator() -> Iterator { Iterator(values: values.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    var values: PacedValues<ModelChange>.Iterator

    public mutating func next() async -> ModelChange? {
      guard let next = await values.next() else { return nil }
      return next.value.counting(next.coalesced + 1)
    }
  }
}
