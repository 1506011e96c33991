extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Identifiable & Sendable & SendableMetatype {
  /// Observes a list on the main actor for a view that shows its rows, as long as `owner` lives: all elements now, then
  /// each later list with the rows to insert and remove to come from the one before to it.
  ///
  /// Rows are told apart by `id`: an element that is changed and keeps its `id` stays. For all else see
  /// `observeRowsOnMain(on:by:)`.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    observeRowsOnMain(on: owner, by: \.id, body)
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
    observeRows(on: owner, isSame: { $0[keyPath: identity] == $1[keyPath: identity] }, body)
  }

  @MainActor
  fileprivate func observeRows<Owner: AnyObject>(
    on owner: Owner, isSame: @escaping (Value.Element, Value.Element) -> Bool,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    var shown: [Value.Element] = []
    return observeOnMain(on: owner) { owner, rows in
      let difference = rows.difference(from: shown, by: isSame)
      shown = Array(rows)
      body(owner, rows, difference)
    }
  }
}

extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Equatable & Sendable & SendableMetatype {
  /// Observes a list of elements that have no identity but their value. They are compared by `==`: one that is changed
  /// goes and comes, and a list that is equal to the one before calls nobody. All else is as with
  /// `observeRowsOnMain(on:by:)`.
  @MainActor @discardableResult @_disfavoredOverload  // An element that has an `id` too is known by that.
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    var isFirst = true
    return observeRows(on: owner, isSame: ==) { owner, rows, difference in
      if isFirst || !difference.isEmpty { body(owner, rows, difference) }
      isFirst = false
    }
  }
}
