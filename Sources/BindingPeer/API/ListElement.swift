public import BindingModel
import BindingProtocol

/// One element of a list, wherever it stands: `lamp.$cues[id: 7]`.
///
/// ```swift
/// let row = lamp.$cues[id: 7]
/// let token = row.observe { cue in print(cue?.name ?? "removed") }
/// row.name.value = "Storm"
/// ```
/// Its observers are notified of this element's changes only, and so are those of its members. While there is no such
/// element its value is nil, writes are refused, and `status` says so; if the id comes back, so does the value.
///
/// It writes the whole element: of two peers that write members of one element concurrently, the later one wins.
@dynamicMemberLookup
public struct ListElement<Element: Sendable & Equatable>: BindingSource, Sendable {
  let place: any ListPlace<Element>

  /// The element; nil: it is not in the list. Assigning nil removes it; assigning an element to none is refused. Reads
  /// inside `withObservationTracking`, `Observations` or a SwiftUI view are tracked; inside a `Derived` it is a source.
  public var value: Element? {
    get {
      place.location.track()
      return place.location.read()
    }
    nonmutating set { try? place.location.write(newValue, by: .unnamed) }
  }

  /// How the shown element relates to the hub's; `.problem(.noElement)` while it is not in the list.
  public var status: FieldStatus {
    ReadTracking.current == .nobody ? place.status : place.statusBroadcaster.read()
  }

  /// `status`, observable on the model's lane.
  public var statuses: Statuses<FieldStatus> { Statuses(broadcaster: place.statusBroadcaster, subject: place.subject) }

  /// A binding for controls. Writing nil removes the element.
  public var binding: Binding<Element?> { Binding(place.location) }
  /// The location that bindings use: reads are local, writes go to the hub.
  public var location: any BindingLocation<Element?> { place.location }

  /// A binding to a member of the element: `lamp.$cues[id: 7].name`. While there is no element it shows nil and refuses
  /// writes; `.or("")` makes it one for a control that takes no nil.
  public subscript<Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Element, Member> & Sendable
  ) -> Binding<Member?> { binding[dynamicMember: path] }

  /// A binding to an optional member of the element.
  public subscript<Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Element, Member?> & Sendable
  ) -> Binding<Member?> { binding[dynamicMember: path] }

  /// Observes the element, now and at each of its changes, on the model's lane, until the token is cancelled or
  /// released.
  public func observe(_ body: @escaping @Sendable (Element?) -> Void) -> ObserverToken { binding.observe(body) }

  /// Observes the element on the model's lane while `owner` lives, which is held weakly.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Element?) -> Void) -> ObserverToken {
    binding.observe(on: owner, body)
  }

  /// Writes the element where it stands, and returns the write, whose outcome can be awaited.
  /// - Throws: `FieldError` if there is no such element, or it does not fit; `WriteError` if it cannot be overlaid.
  @discardableResult
  public func write(_ element: Element) throws -> PendingWrite { try place.write(element) }

  /// Removes the element. Ends as `unchanged` if it is gone already.
  @discardableResult
  public func remove() throws -> PendingWrite { try place.remove() }

  /// Moves the element directly after another one; nil: to the front.
  /// - Throws: `FieldError` if there is no such element, `WriteError` if it cannot be overlaid.
  @discardableResult
  public func move(after id: (some Hashable)?) throws -> PendingWrite {
    try place.move(after: id.flatMap { ElementID.text($0) })
  }
}

extension SharedField
where
  Value: RandomAccessCollection & RangeReplaceableCollection,
  Value.Element: Identifiable & Codable & Equatable & Sendable & SendableMetatype
{
  /// The element with this id, whether it is in the list now or not. The field has the policy `list`.
  public subscript(id id: Value.Element.ID) -> ListElement<Value.Element> {
    ListElement(place: ElementPlace(field: cell, id: ElementID.text(id) ?? ""))
  }

  /// The elements that are in the list now, in order, each as a binding that follows its element: for rows.
  /// ```swift
  /// for cue in lamp.$cues.elements { rows.append(Row(name: cue.name)) }
  /// ```
  /// A binding whose element is removed shows the last value and refuses writes.
  public var elements: [Binding<Value.Element>] { value.compactMap { self[id: $0.id].binding.unwrapped() } }

  /// Inserts an element directly after another one; nil: at the front. Without looking through the list, and with an
  /// outcome: an id that is there already is a conflict.
  /// - Throws: `FieldError` if it does not fit, `WriteError` if it cannot be overlaid.
  @discardableResult
  public func insert(_ element: Value.Element, after other: Value.Element.ID?) throws -> PendingWrite {
    let (model, name) = try cell.attached()
    guard let list = cell.list as? ElementList<Value> else { throw FieldError.notShared(field: name) }
    let (id, encoded) = try list.encoded(element, of: name, checkedBy: cell.check(in: name))
    var operand = list.anchors(after: other.flatMap { ElementID.text($0) })
    operand.element = encoded
    let operation = FieldOperation(.insert, ListElements.field(of: id, in: name), operand.value)
    return try cell.writeElements([operation], in: model, name)
  }
}

/// What a `ListElement` stands for, whatever the type of the list.
protocol ListPlace<Element>: Sendable {
  associatedtype Element
  /// Where bindings read and write it; nil: it is not in the list.
  var location: any BindingLocation<Element?> { get }
  var status: FieldStatus { get }
  var statusBroadcaster: StatusBroadcaster<FieldStatus> { get }
  var subject: any AnyObject & Sendable { get }
  func write(_ element: Element) throws -> PendingWrite
  func remove() throws -> PendingWrite
  func move(after id: String?) throws -> PendingWrite
}
