extension Binding where Value: Sendable {
  /// A binding to the selected element: `todos.binding[id: selection]`, where `selection` holds its `id`, or nil. It
  /// is nil if nothing is selected, or the selected element is not in the list.
  ///
  /// A control that is bound to it, or to a member (`todos.binding[id: selection].title`), shows the next element
  /// when the selection changes; what was typed for the former stays with that. Writing changes the selected element,
  /// and is refused while there is none. Writing nil is refused.
  public subscript<Selection: ValueSource>(id selection: Selection) -> Binding<Value.Element?>
  where
    Value: MutableCollection & SendableMetatype, Value.Index: SendableMetatype,
    Value.Element: Identifiable & Sendable & SendableMetatype, Value.Element.ID: Sendable,
    Selection.Value == Value.Element.ID?
  {
    Binding<Value.Element?>(SelectedLocation(list: location, selection: selection.location))
  }
}

/// The element of a list whose identity is another location's value.
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

  /// Another selection is another target.
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
    // List and selection may be written concurrently, so both pass through one observable, which reads both again: a
    // late notification of one cannot replace the value of the other.
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

/// An object that stands for the selection: another one for another selection.
private final class SelectionIdentity<ID: Hashable & Sendable>: Sendable {
  private final class Identity: Sendable {}

  private let present: Protected<(id: ID?, identity: Identity)>

  init(_ id: ID?) { present = Protected((id, Identity())) }

  func object(for id: ID?) -> AnyObject {
    // Compared without the lock, because `==` is user code.
    let known = present.withLock { $0 }
    if known.id == id { return known.identity }
    let next = (id: id, identity: Identity())
    present.withLock { $0 = next }
    return next.identity
  }
}
