public import BindingModel
import BindingProtocol

extension SharedField {
  /// Observes the value at a pace, now and at changes, on the model's lane while `owner` lives, which is held weakly.
  /// With `.everyChange(limit:)` these are all states that this peer passes through: one call per commit that sets
  /// the field, or own write of it.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner) { value, _ in body(value) }
  }

  /// Observes the value at a pace on the model's lane while `owner` lives, which is held weakly. Each call gets the
  /// number of changes since the last one that were not delivered. Commits that the hub coalesced count, whichever
  /// fields they set: only the hub knows.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner) { body($0, max($1 - 1, 0)) }
  }

  /// Observes the value at a pace on the model's lane until the token is cancelled or released.
  public func observe(_ pace: Pace<Value>, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    observe(pace, owner: nil) { value, _ in body(value) }
  }

  /// Observes the value at a pace on the model's lane until the token is cancelled or released. Each call gets the
  /// number of changes since the last one that were not delivered.
  public func observe(
    _ pace: Pace<Value>, _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil) { body($0, max($1 - 1, 0)) }
  }

  /// The values at a pace, each with the number of changes coalesced into it.
  public func values(_ pace: Pace<Value>) -> PacedValues<Value> {
    PacedValues(pace) { [weak cell] mailbox in
      let source = MailboxSource(mailbox)
      guard let cell else { return ObserverToken {} }
      return SharedField(cell: cell).observe(pace.untimed, owner: nil) { source.mailbox.post($0, weight: $1) }
    }
  }

  private func observe(
    _ pace: Pace<Value>, owner: AnyObject?, _ body: @escaping @Sendable (Value, Int) -> Void
  ) -> ObserverToken {
    // A field that is not shared is a local value.
    guard let (model, name) = cell.attachment else {
      return cell.published.observe(pace, owner: owner, .direct) { body($0, $1 + 1) }
    }
    let (decode, declared, isCompared) = (cell.decoder, cell.declared, pace.comparesValues)
    let notification: @Sendable (Value) -> FieldNotification = { value in
      FieldNotification(value: isCompared ? value : nil) { body(value, $0) }
    }
    let delivery = PacedDelivery<PacedFieldValue, FieldNotification>(
      pace.mapped(by: notification) { $0.value as? Value }, lane: model.lane, owner: owner, coalesce: { $0.absorb($1) },
      // A value that cannot be decoded leaves the last good one shown.
      form: { paced in
        guard let value = paced.value else { return notification(declared) }
        guard let decoded = decode(value, paced.form) else { return nil }
        return notification(decoded)
      },
      body: { paced, notification, changes in Hops.answering(paced.hops) { notification.call(changes) } })
    let token = model.observers.follow(FieldFeed(delivery), of: name, owner: owner)
    model.scheduleDelivery()
    return token
  }
}
