extension Binding
where
  Value: MutableCollection & SendableMetatype, Value.Index: SendableMetatype, Value.Element: Identifiable & Sendable,
  Value.Element.ID: Sendable
{
  /// A binding to each element that is there now, by its identity: `for todo in todos.binding.elements { … }`.
  ///
  /// Each follows its element wherever that moves, and refuses writes once it is gone. What comes later is not among
  /// them: `observeRowsOnMain` tells of it.
  public var elements: [Binding<Value.Element>] { value.compactMap { self[id: $0.id] } }
}

extension Binding {
  /// The same place for what takes a value that may be missing. It is never nil; writing nil is refused.
  public func optional() -> Binding<Value?> where Value: Sendable {
    Binding<Value?>(
      PartLocation(
        root: location, name: "value", last: nil, get: { .some($0) },
        set: { whole, value in
          guard let value else { return false }
          whole = value
          return true
        }))
  }
}
