extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Identifiable & Sendable & SendableMetatype {
  /// Observes a list on the main actor until `owner`, which is held weakly, is deallocated, for a view that shows its
  /// rows. The body receives all elements now, then each later list with the difference from the one before: the rows
  /// to insert and to remove.
  ///
  /// Rows are identified by `id`: an element that changes and keeps its `id` stays. See `observeRowsOnMain(on:by:)`
  /// for all else.
  @MainActor @discardableResult
  public func observeRowsOnMain<Owner: AnyObject>(
    on owner: Owner,
    _ body: @escaping @MainActor (Owner, _ rows: Value, _ difference: CollectionDifference<Value.Element>) -> Void
  ) -> ObserverToken {
    observeRowsOnMain(on: owner, by: \.id, body)
  }
}

extension ValueSource where Value: BidirectionalCollection & Sendable, Value.Element: Sendable {
  /// Observes a list on the main actor until `owner`, which is held weakly, is deallocated, for a view that shows its
  /// rows. Elements are identified by a key path:
  /// `files.observeRowsOnMain(on: self, by: \.path) { view, files, difference in … }`.
  ///
  /// The body receives all elements now, then each later list with the rows to insert and to remove. An element that
  /// changes and keeps its identity stays: the difference is then empty, or is about other rows, and the row observes
  /// the change through its own binding, `list.binding[id: …]`. Each difference starts from the list before it, even
  /// when lists are coalesced. Two elements with the same identity are told apart by their indices.
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
  /// Observes a list whose elements have no identity but their value, on the main actor, until `owner`, which is held
  /// weakly, is deallocated. Elements are compared by `==`: one that changes is removed and inserted, and a list
  /// equal to the one before is not delivered. Otherwise like `observeRowsOnMain(on:by:)`.
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
