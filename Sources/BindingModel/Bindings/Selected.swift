extension Binding where Value: Sendable {
  /// A binding to the element that is selected by its identity: `todos.binding[id: selection]`, where `selection` holds
  /// the `id`, or nil for none. It is nil where nothing is selected, or what is selected is not there.
  ///
  /// A control that is bound to it, or to a member (`todos.binding[id: selection].title`), shows the next selection
  /// when another is made, and what was typed for the former stays there. Writing it changes the selected element; it
  /// is refused while there is none. Writing nil is refused.
  public subscript<Selection: ValueSource>(id selection: Selection) -> Binding<Value.Element?>
  where
    Value: MutableCollection & SendableMetatype, Value.Index: SendableMetatype,
    Value.Element: Identifiable & Sendable & SendableMetatype, Value.Element.ID: Sendable,
    Selection.Value == Value.Element.ID?
  {
    Binding<Value.Element?>(SelectedLocation(list: location, selection: selection.location))
  }
}

/// The element of a list that another location's value names.
private struct SelectedLocation<List: MutableCollection & Sendable & SendableMetatype>: BindingLocation
where
  List.Element: Identifiable & Sendable & SendableMetatype, List.Element.ID: Sendable, List.Index: SendableMetatype
{
  typealias ID = List.Element.ID

  let list: any BindingLocation<List>
  let selection: any BindingLocation<ID?>
  private let identity: SelectionIdentity<ID>

  init(list: any BindingLocation<List>, selection: any BindingLocation<ID?>) {
    self.list = list
    self.selection = selection
    identity = SelectionIdentity(selection.read())
  }

  func read() -> List.Element? {
    guard let id = selection.read() else { return nil }
    return list.read().first { $0.id == id }
  }

  func track() {
    selection.track()
    list.track()
  }

  /// Another selection is another place.
  var target: AnyObject? { identity.object(for: selection.read()) }

  func write(_ value: List.Element?, by writer: Writer) throws(BindingError) {
    try modify(by: writer) { element in
      element = value
      return true
    }
  }

  func modify(by writer: Writer, _ body: (inout List.Element?) -> Bool) throws(BindingError) {
    guard let id = selection.read() else { throw BindingError(.refused, "nothing is selected") }
    var refusal: String?
    try list.modify(by: writer) { list in
      refusal = nil
      guard let index = list.firstIndex(where: { $0.id == id }) else {
        refusal = "there is no element \(id) to write to"
        return false
      }
      var element: List.Element? = list[index]
      guard body(&element) else { return false }
      guard let element else {
        refusal = "the element \(id) is in the list: remove it there"
        return false
      }
      list[index] = element
      return true
    }
    if let refusal { throw BindingError(.refused, refusal) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (List.Element?, Writer) -> Void) -> ObserverToken {
    // List and selection may be written at once, so both pass through one observable, which reads both again: a late
    // word of the one cannot take the place of the other's.
    let relay = Observable(read(), filter: equality(of: List.Element?.self).map { .unless($0) } ?? .everyWrite)
    relay.cell.markFollower()
    let follow: @Sendable (Writer) -> Void = { writer in relay.update(by: writer) { $0 = read() } }
    let tokens = [
      selection.observe(owner: owner) { _, writer in follow(writer) },
      list.observe(owner: owner) { _, writer in follow(writer) },
      relay.binding.location.observe(owner: owner, body),
    ]
    return ObserverToken(cancelsWhenReleased: owner == nil) { for token in tokens { token.cancel() } }
  }

  func remove(observer owner: AnyObject) {
    selection.remove(observer: owner)
    list.remove(observer: owner)
  }
}

/// An object for what is selected: another one for another selection.
private final class SelectionIdentity<ID: Hashable & Sendable>: Sendable {
  private final class Identity: Sendable {}

  private let present: Protected<(id: ID?, identity: Identity)>

  init(_ id: ID?) { present = Protected((id, Identity())) }

  func object(for id: ID?) -> AnyObject {
    // Compared without the lock, for it is anybody's code.
    let known = present.withLock { $0 }
    if known.id == id { return known.identity }
    let next = (id: id, identity: Identity())
    present.withLock { $0 = next }
    return next.identity
  }
}
