public import BindingModel

extension Model {
  /// Hears of the model as a whole, on its lane, as long as `owner` lives, which is held weakly: what is there, then
  /// what changes, as the pace has it, each with the number of commits that were folded into it.
  ///
  /// Without a pace: the newest state, once a turn of the lane. A model that was never shared has no commits: nothing
  /// comes.
  @discardableResult
  public func observe(
    _ pace: Pace<ModelChange> = .latest(every: .zero), on owner: AnyObject,
    _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    shared?.observe(pace, on: owner, body) ?? ObserverToken {}
  }

  /// As above, until the token is cancelled or released.
  public func observe(
    _ pace: Pace<ModelChange> = .latest(every: .zero), _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    shared?.observe(pace, body) ?? ObserverToken {}
  }

  /// The changes of the model as a whole, for `for await`. Without a pace: the newest state each time the loop comes
  /// back. It finishes when nobody holds the model any more or the reading task is cancelled.
  public func changes(_ pace: Pace<ModelChange> = .latest(every: .zero)) -> ModelChanges {
    guard let shared else { return ModelChanges(PacedValues(pace) { _ in ObserverToken {} }) }
    return shared.changes(pace)
  }
}

extension SharedModel {
  /// Hears of the model as a whole, on its lane, as long as `owner` lives, which is held weakly: what is there, then
  /// what changes, as the pace has it, each with the number of commits that were folded into it.
  @discardableResult
  public func observe(
    _ pace: Pace<ModelChange>, on owner: AnyObject, _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner) { change, commits in body(change.counting(commits)) }
  }

  /// As above, until the token is cancelled or released.
  public func observe(
    _ pace: Pace<ModelChange>, _ body: @escaping @Sendable (ModelChange) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil) { change, commits in body(change.counting(commits)) }
  }

  /// The changes of the model, for `for await`. The sequence does not keep the model; it finishes when that goes, or
  /// when the reading task is cancelled.
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
    return follow(ModelFeed(delivery), owner: owner)
  }
}

/// The changes of a model, as `changes(_:)` gives them.
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
