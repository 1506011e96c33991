extension BindingSource {
  /// A binding to the target of the binding stored here: `selected.flattened()`, where `selected` is an observable of
  /// a binding. When another binding is stored, observers receive its value, and nothing more from the former one.
  ///
  /// Use it for a selection, or for a view model that is replaced: controls that are bound here need not be bound
  /// again. Other libraries call it *switch to latest*.
  public func flattened<Inner: Sendable>() -> Binding<Inner> where Value == Binding<Inner> {
    Binding<Inner>(FlattenedLocation(choice: binding.location))
  }
}

/// The location that the binding in another location points at.
struct FlattenedLocation<Value: Sendable>: BindingLocation {
  let choice: any BindingLocation<Binding<Value>>

  private var chosen: any BindingLocation<Value> { choice.read().location }

  func read() -> Value { chosen.read() }

  func track() {
    choice.track()
    chosen.track()
  }

  var target: AnyObject? { chosen.target }

  func write(_ value: Value, by writer: Writer) throws(BindingError) { try chosen.write(value, by: writer) }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    try chosen.modify(by: writer, body)
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    // The former value and the new one may be written concurrently, so both pass through one observable. It reads the
    // current choice again: a late notification of the former cannot replace the new one's value.
    let relay = Observable(read(), filter: .everyWrite)
    relay.cell.markFollower()
    let follow: @Sendable (Writer) -> Void = { writer in relay.update(by: writer) { $0 = read() } }
    let inner = Protected<ObserverToken?>(nil)
    let weakly = owner.map { WeakOwner($0) }
    let outer = choice.observe(owner: owner) { chosen, _ in
      let owner = weakly?.object
      if owner == nil, weakly != nil { return }
      let token = chosen.location.observe(owner: owner) { _, writer in follow(writer) }
      let former = inner.withLock { inner in
        defer { inner = token }
        return inner
      }
      former?.cancel()
    }
    let token = relay.binding.location.observe(owner: owner, body)
    return ObserverToken(cancelsWhenReleased: owner == nil) {
      outer.cancel()
      inner.withLock { $0 }?.cancel()
      token.cancel()
    }
  }

  func remove(observer owner: AnyObject) {
    choice.remove(observer: owner)
    chosen.remove(observer: owner)
  }
}
