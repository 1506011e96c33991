extension Binding
where
  Value: MutableCollection & SendableMetatype, Value.Index: SendableMetatype, Value.Element: Identifiable & Sendable,
  Value.Element.ID: Sendable
{
  /// Bindings to the elements that exist now, each by its identity: `for todo in todos.binding.elements { … }`.
  ///
  /// Each binding follows its element wherever that moves, and refuses writes once it is gone. Elements that are
  /// added later are not included: `observeRowsOnMain` reports them.
  public var elements: [Binding<Value.Element>] { value.compactMap { self[id: $0.id] } }
}

extension Binding {
  /// This location as one of an optional value, for code that requires one. It is never nil; writing nil is refused.
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
