import BindingModel
import BindingProtocol

/// An element of a field's list, by its id: what a `ListElement` reads and writes. Of a field without the policy `list`
/// it reads and writes the whole array.
struct ElementPlace<Whole>: ListPlace, BindingLocation
where
  Whole: RandomAccessCollection & RangeReplaceableCollection & Sendable & Equatable,
  Whole.Element: Identifiable & Codable & Equatable & Sendable & SendableMetatype
{
  typealias Element = Whole.Element

  private let field: FieldCell<Whole>
  private let id: String
  private let list: ElementList<Whole>?
  private let cell: ElementCell<Element>

  init(field: FieldCell<Whole>, id: String) {
    self.field = field
    self.id = id
    list = field.list as? ElementList<Whole>
    cell = list?.cell(of: id) ?? ElementCell(id: id)
  }

  var location: any BindingLocation<Element?> { self }
  var subject: any AnyObject & Sendable { field }
  var target: AnyObject? { field }

  // MARK: Reading

  /// Whether what is read is not, or not only, in the cell of the element.
  private var isInWhole: Bool { list == nil || ChangeDraft.current?.holds(field) ?? false }

  func read() -> Element? { isInWhole ? element(in: field.value) : cell.element }

  func track() {
    guard ReadTracking.current != .nobody else { return }
    _ = isInWhole ? element(in: field.value) : cell.read()
  }

  private func element(in whole: Whole) -> Element? { index(in: whole).map { whole[$0] } }

  private func index(in whole: Whole) -> Whole.Index? { whole.firstIndex { ElementID.text($0.id) == id } }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Element?, Writer) -> Void) -> ObserverToken {
    guard list == nil else { return cell.observe(owner: owner, body) }
    return field.published.binding.location.observe(owner: owner) { [self] whole, writer in
      body(element(in: whole), writer)
    }
  }

  func remove(observer owner: AnyObject) {
    cell.remove(observer: owner)
    if list == nil { field.published.remove(observer: owner) }
  }

  // MARK: Writing

  func write(_ value: Element?, by writer: Writer) throws(BindingError) {
    guard field.attachment != nil, !isInWhole else { return try writeWhole(value) }
    do {
      let write = try value.map { try self.write($0) } ?? remove()
      guard let lane = field.sharedModel?.lane, let refused = LateRefusals.observer(of: writer) else { return }
      write.whenRefused(on: lane, writing: nil, refused)
    } catch {
      throw refusal("\(error)")
    }
  }

  func modify(by writer: Writer, _ body: (inout Element?) -> Bool) throws(BindingError) {
    var element = read()
    if body(&element) { try write(element, by: writer) }
  }

  func write(_ element: Element) throws -> PendingWrite {
    let (model, name) = try field.attached()
    guard let list else {
      try writeWhole(element)
      return .unchanged(name, 0)
    }
    let encoded = try list.encoded(element, of: name, checkedBy: field.check(in: name))
    guard let present = list.element(id) else { throw FieldError.list(field: name, .noElement(id: id)) }
    guard encoded.id == id else { throw FieldError.list(field: name, .otherID(encoded.id, of: id)) }
    guard present != element else { return .unchanged(name, model.version.version) }
    let operation = FieldOperation(.replace, ListElements.field(of: id, in: name), encoded.value)
    return try field.writeElements([operation], in: model, name)
  }

  func remove() throws -> PendingWrite {
    let (model, name) = try field.attached()
    return try field.writeElements([FieldOperation(.delete, ListElements.field(of: id, in: name))], in: model, name)
  }

  func move(after other: String?) throws -> PendingWrite {
    let (model, name) = try field.attached()
    guard let list, list.index(of: id) != nil else { throw FieldError.list(field: name, .noElement(id: id)) }
    guard other != id else { throw FieldError.list(field: name, .noElement(id: id)) }
    let operand = list.anchors(after: other, without: id)
    let operation = FieldOperation(.move, ListElements.field(of: id, in: name), operand.value)
    return try field.writeElements([operation], in: model, name)
  }

  /// Changes the element in the whole array: inside of a `change {}`, or where nothing is shared.
  private func writeWhole(_ value: Element?) throws(BindingError) {
    let base = field.list?.base
    var whole = field.value(over: base)
    guard let index = index(in: whole) else {
      if value == nil { return }
      throw refusal(ListError.noElement(id: id).description)
    }
    let behind = whole.index(after: index)
    whole.replaceSubrange(index..<behind, with: value.map { [$0] } ?? [])
    if let reason = field.assign(whole, over: base) { throw BindingError(.refused, reason) }
  }

  private func refusal(_ reason: String) -> BindingError {
    cell.reject(reason, stamp: 0)
    return BindingError(.refused, reason)
  }

  // MARK: Status

  var status: FieldStatus {
    if let problem = cell.problem { return .problem(.rejected(problem, current: nil)) }
    guard read() != nil else { return .problem(.noElement(id: id)) }
    guard let (model, name) = field.attachment else { return field.status }
    let (syncState, reason) = model.runtime.state.withLock { state in
      let syncState = state.session.syncState(of: ListElements.field(of: id, in: name), in: model.id)
      return (syncState, state.writes.retryReason(of: syncState.waiting))
    }
    if let since = syncState.pendingSince.map(PeerClock.instant) {
      return reason.map { .waiting($0, since: since) } ?? .pending(isInFlight: syncState.isInFlight, since: since)
    }
    if let since = syncState.staleSince {
      return .stale(version: syncState.version, since: PeerClock.instant(signed: since))
    }
    return .current(version: syncState.version)
  }

  var statusBroadcaster: StatusBroadcaster<FieldStatus> {
    // The broadcaster, which the cell holds, must not hold the cell.
    let (id, field) = (id, field)
    return cell.statusBroadcaster(
      present: { [weak field] in field.map { ElementPlace(field: $0, id: id).status } ?? .local },
      begin: { [weak field] in field?.sharedModel?.observers.register($0) })
  }
}
