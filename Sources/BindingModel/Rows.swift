extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Equatable & Sendable & SendableMetatype {
  /// Observes a list on the main actor for a view that shows its rows, as long as `owner` lives: all elements now, then
  /// each later list with what has to be inserted and removed to come from the one before to it.
  ///
  /// The differences follow one another without a gap, also where lists that came too quickly are folded. Elements are
  /// compared by `==`, so that one that is changed goes and comes. Where elements have an identity, say
  /// `observeRowsOnMain(on:by: \.id)`, as is done by itself for those that are `Identifiable`.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    var shown: [Value.Element]?
    return observeOnMain(on: owner) { owner, rows in
      let difference = rows.difference(from: shown ?? [])
      guard !difference.isEmpty || shown == nil else { return }
      shown = Array(rows)
      body(owner, rows, difference)
    }
  }
}

extension ValueSource where Value: BidirectionalCollection & Sendable, Value.Element: Sendable {
  /// Observes a list on the main actor for a view that shows its rows, as long as `owner` lives, by what its elements
  /// are known by: `files.observeRowsOnMain(on: self, by: \.path) { view, files, difference in … }`.
  ///
  /// The body gets all elements now, then each later list with the rows to insert and remove. An element that is
  /// changed and keeps its identity stays: the difference is then empty, or is about other rows, and the row hears of
  /// it by its own binding, `list.binding[id: …]`. The differences follow one another without a gap, also where lists
  /// that came too quickly are folded. Two elements of one identity are told apart by their places.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject, ID: Hashable>(
    on owner: Owner, by identity: KeyPath<Value.Element, ID>,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    var shown: [Value.Element] = []
    return observeOnMain(on: owner) { owner, rows in
      let difference = rows.difference(from: shown) { $0[keyPath: identity] == $1[keyPath: identity] }
      shown = Array(rows)
      body(owner, rows, difference)
    }
  }
}

extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Identifiable & Sendable & SendableMetatype {
  /// Observes a list of elements with an identity on the main actor, as long as `owner` lives: all elements now, then
  /// each later list with the rows to insert and remove, by `id`. An element that is changed and keeps its `id` stays.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    observeRowsOnMain(on: owner, by: \.id, body)
  }
}

extension ValueSource
where
  Value: BidirectionalCollection & Sendable,
  Value.Element: Identifiable & Equatable & Sendable & SendableMetatype
{
  /// Observes a list of elements with an identity on the main actor, as long as `owner` lives: all elements now, then
  /// each later list with the rows to insert and remove, by `id`. An element that is changed and keeps its `id` stays.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    observeRowsOnMain(on: owner, by: \.id, body)
  }
}
