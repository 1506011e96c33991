import BindingModel
import BindingProtocol

/// The cells of a model's fields, and their undelivered values. Values of one field replace each other: a lagging lane
/// gets the newest.
struct StagedFields: Sendable {
  typealias Due = (cells: [WeakCell], update: FieldUpdate)

  private(set) var byName = IndexedMap<String, StagedField>()
  /// Indices of the fields with an undelivered value, in no order.
  private var due: [Int] = []
  /// What the description says of the values that were last staged.
  private(set) var forms = ShownForms()

  var isSomethingDue: Bool { !due.isEmpty }

  /// Changes a field in place; it is listed from now on.
  subscript(name: String) -> StagedField {
    _read { yield byName[name, default: StagedField()] }
    _modify { yield &byName[name, default: StagedField()] }
  }

  mutating func stage(_ update: ModelUpdate, stamp: UInt64) {
    // A cell that is connected later is shown the value of that moment.
    guard !byName.isEmpty else { return }
    for change in update.changes where change.field == Names.description {
      for name in forms.read(change.new) { restage(name, stamp: stamp) }
    }
    for change in update.changes {
      guard let index = byName.index(of: change.field) else { continue }
      if byName[at: index].update == nil { due.append(index) }
      byName[at: index].apply(change, forms[change.field], stamp: stamp)
    }
    for name in update.confirmed where !update.covered.contains(name) {
      if let index = byName.index(of: name) { byName[at: index].isOurs = false }
    }
    for list in update.lists {
      guard let index = byName.index(of: list.name) else { continue }
      if byName[at: index].update == nil { due.append(index) }
      byName[at: index].apply(list, stamp: stamp)
    }
  }

  /// Stages the present value again: it is read otherwise from now on.
  private mutating func restage(_ name: String, stamp: UInt64) {
    guard let index = byName.index(of: name) else { return }
    let field = byName[at: index]
    if field.update == nil { due.append(index) }
    let again = ShownChange(field: name, old: nil, new: field.present, isOurs: field.isOurs)
    byName[at: index].apply(again, forms[name], stamp: stamp)
  }

  /// The forms as cells are shown them that are connected now.
  mutating func begin(with present: [String: DescribedForm]) { forms.begin(with: present) }

  /// What a cell shows that is connected now.
  mutating func begin(_ name: String, with present: OverlaidFields) {
    guard byName.index(of: name) != nil else { return }
    byName[name, default: StagedField()].present = present.merged[name]
  }

  /// Removes a paced observer of a field, and returns it.
  mutating func remove(feed number: UInt64) -> FieldFeed? {
    for field in byName.indices {
      guard let index = byName[at: field].feeds.firstIndex(where: { $0.number == number }) else { continue }
      return byName[at: field].feeds.remove(at: index).feed
    }
    return nil
  }

  mutating func takeDue() -> [Due] {
    var taken: [Due] = []
    taken.reserveCapacity(due.count)
    for index in due {
      guard let update = byName[at: index].update.take() else { continue }
      taken.append((byName[at: index].cells, update))
    }
    due.removeAll(keepingCapacity: true)
    return taken
  }
}

/// The objects for one field in this process, and its undelivered value.
struct StagedField: Sendable {
  var cells: [WeakCell] = []
  fileprivate(set) var update: FieldUpdate?
  /// Whether the value last delivered is a write of this peer without an outcome.
  var isOurs = false
  /// The value last staged.
  var present: FieldValue?
  /// Paced observers of this field alone.
  var feeds: [Following<FieldFeed>] = []

  /// Stages the next value; it replaces values that were not delivered.
  fileprivate mutating func apply(_ change: ShownChange, _ form: DescribedForm?, stamp: UInt64) {
    present = change.new
    var overwritten = update?.overwritten
    if let update, update.isOurs, !change.isOurs { overwritten = .init(value: update.value) }
    update = .init(
      value: change.new, stamp: stamp, isOurs: change.isOurs, keepsShown: !isOurs && update?.keepsShown ?? true,
      overwritten: overwritten, form: form)
    isOurs = change.isOurs
  }

  /// Stages what a list shows next.
  fileprivate mutating func apply(_ list: ShownList, stamp: UInt64) {
    update = .init(
      value: update?.value, stamp: stamp, isOurs: list.isOurs, keepsShown: !isOurs && update?.keepsShown ?? true,
      list: list)
    isOurs = list.isOurs
  }
}

/// A field's new value, for its cells.
struct FieldUpdate: Sendable {
  /// A write of this peer that others overwrote before it was delivered.
  struct Overwritten: Sendable {
    var value: FieldValue?
  }
  var value: FieldValue?
  var stamp: UInt64
  /// Whether it is a pending write of this peer, which the hub may refuse.
  var isOurs = false
  /// If it cannot be decoded: whether the value shown until then was committed, and is not a pending write that has
  /// ended.
  var keepsShown = true
  var overwritten: Overwritten?
  /// The form that the description gives the field; nil: it does not describe it.
  var form: DescribedForm?
  /// What the list shows, if the field is one; `value` is then that of its head.
  var list: ShownList?
}

/// An object of its own: copying a weak reference is expensive, and these are passed on with every change.
// SAFETY: a weak reference may be read on any thread, and this one is never set again.
final class WeakCell: @unchecked Sendable {
  private(set) weak var cell: (any AnyFieldCell)?

  init(_ cell: any AnyFieldCell) { self.cell = cell }
}

extension ModelObservers {
  /// Adds a cell to a field. From now on it receives updates.
  func add(_ cell: any AnyFieldCell, to field: String) {
    staged.withLock { $0.fields[field].cells.append(WeakCell(cell)) }
  }

  /// Shows newly connected fields what the replica holds now.
  func show(_ present: OverlaidFields, in fields: [(name: String, cell: any AnyFieldCell)]) {
    staged.withLock { staged in
      for name in present.ours where staged.fields.byName.index(of: name) != nil { staged.fields[name].isOurs = true }
      for (name, _) in fields { staged.fields.begin(name, with: present) }
      staged.fields.begin(with: present.forms)
    }
    for (name, cell) in fields {
      cell.accept(
        .init(
          value: present.merged[name], stamp: present.stamp, isOurs: present.ours.contains(name),
          form: present.forms[name], list: present.lists[name]))
      cell.publish(after: nil)
    }
  }

  /// Tells the cells of these fields that a write was refused.
  /// - Parameter isSticky: whether it shows until the program writes the field again.
  func recordRejection(
    of fields: [String], _ reason: String, current: [String: FieldValue], stamp: UInt64, isSticky: Bool
  ) {
    for field in fields {
      let element = ListElements.parts(of: field)
      let name = element.map { String($0.list) } ?? field
      for weak in staged.withLock({ $0.fields.byName[name]?.cells ?? [] }) {
        if let element { weak.cell?.reject(reason, element: String(element.id), stamp: stamp) }
        weak.cell?.reject(reason, current: current[field], stamp: stamp, isSticky: isSticky)
      }
    }
  }

  /// For each field the first result that one of its cells has.
  func firstByField<Result>(_ result: (String, any AnyFieldCell) -> Result?) -> [String: Result] {
    let fields = staged.withLock { $0.fields.byName }
    var found: [String: Result] = [:]
    for index in fields.indices {
      let name = fields.keys[index]
      for case let cell? in fields[at: index].cells.map(\.cell) where found[name] == nil {
        found[name] = result(name, cell)
      }
    }
    return found
  }
}

extension FieldCell {
  /// Sets the value of the last notification to one that this peer wrote in between, perhaps from an observer, and
  /// that others reverted before it was delivered. Otherwise the reverted value would equal the last notification,
  /// and the writer would take its own value for the committed one.
  func forgetPublished(_ value: Value, after overwritten: FieldUpdate.Overwritten) {
    guard published.binding.location.read() == value else { return }
    let reading = present.reading
    guard let between = overwritten.value.map({ decode($0, reading) }) ?? declared, between != value else { return }
    published.setSilently(between)
  }
}
