extension ValueSource
where Value: BidirectionalCollection & Sendable, Value.Element: Equatable & Sendable & SendableMetatype {
  /// Observes a list on the main actor for a view that shows its rows, as long as `owner` lives: all elements now, then
  /// each later list with what has to be inserted and removed to come from the one before to it.
  ///
  /// The differences follow one another without a gap, also where lists that came too quickly are folded. Bind each row
  /// to its element by `list.binding[id: …]`.
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
