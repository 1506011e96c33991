import BindingModel
import BindingProtocol

/// The elements of a list in this process, each decoded once.
final class ElementList<Value>: FieldList
where
  Value: RandomAccessCollection & RangeReplaceableCollection & Sendable,
  Value.Element: Identifiable & Codable & Equatable & Sendable & SendableMetatype
{
  typealias Element = Value.Element

  /// What shows. The arrays are parallel; elements that cannot be decoded are in none of them.
  private struct Held: Sendable {
    var ids: [String] = []
    /// The elements as JSON; empty if the list is not stored.
    var values: [FieldValue] = []
    var elements: [Element] = []
    /// Elements that this program cannot decode, by id.
    var broken: [String: FieldValue] = [:]
    /// Whether the hub holds the elements, or has been sent them.
    var isStored = false
    var isStoredAsArray = false
    var stamp: UInt64 = 0
    /// The index of each id; made when it is needed.
    var indices: [String: Int]?
  }
  private struct Cells: Sendable {
    var all: [String: WeakElementCell<Element>] = [:]
    var due: [ElementCell<Element>] = []
    /// When this many are listed, those that nobody uses are dropped.
    var pruning = 64
  }
  private let held: Protected<Held>
  private let cells: Protected<Cells> = Protected(Cells())
  private let codec = FieldCodec<Element>.codable
  private let declared: Value
  let misdeclaration: String?

  init(declared: Value) {
    self.declared = declared
    var held = Held()
    var problem = ElementID.isSupported(Element.ID.self) ? nil : ElementID.problem(of: Element.ID.self)
    do throws(ListError) {
      held.ids = try problem == nil ? ElementList.ids(of: declared) : []
      _ = try ListDifference.steps(from: [], to: held.ids) { _, _ in false }
      held.elements = Array(declared)
    } catch {
      problem = "has a default that is no list: \(error)"
    }
    misdeclaration = problem
    self.held = Protected(held)
  }

  deinit {
    let cells = cells.withLock { $0.all }
    for weak in cells.values { weak.cell?.close() }
  }

  // MARK: Writing

  var base: ListBase<Value> {
    let held = held.withLock { $0 }
    return ListBase(
      value: Value(held.elements), ids: held.isStored ? held.ids : [], elements: held.isStored ? held.elements : nil)
  }

  /// Whether the hub holds one array, which no element can be written to.
  var isStoredAsArray: Bool { held.withLock { $0.isStoredAsArray } }

  func operations(
    from base: ListBase<Value>, to value: Value, of name: String,
    checkedBy check: (_ id: String, _ element: FieldValue) throws(FieldError) -> Void, limit: Int
  ) throws(FieldError) -> [FieldOperation] {
    if isStoredAsArray { throw .list(field: name, .storedAsArray) }
    let new = Array(value)
    let old = base.elements as? [Element] ?? []
    let (ids, steps) = try Result { () throws(ListError) in
      let ids = try ElementList.ids(of: value)
      let steps = try ListDifference.steps(from: base.ids, to: ids) { old[$0] != new[$1] }
      guard steps.count <= limit else { throw .tooManyOperations(steps.count, limit: limit) }
      return (ids, steps)
    }.mapError { FieldError.list(field: name, $0) }.get()
    var operations: [FieldOperation] = []
    func encoded(_ index: Int) throws(FieldError) -> FieldValue {
      let element = try codec.encode(new[index])
      try check(ids[index], element)
      return element
    }
    for step in steps {
      switch step {
      case .remove(let id): operations.append(FieldOperation(.delete, ListElements.field(of: id, in: name)))
      case .insert(let index, let after, let before):
        let operand = ListOperand(after: after, before: before, element: try encoded(index))
        operations.append(FieldOperation(.insert, ListElements.field(of: ids[index], in: name), operand.value))
      case .move(let index, let after, let before):
        let operand = ListOperand(after: after, before: before)
        operations.append(FieldOperation(.move, ListElements.field(of: ids[index], in: name), operand.value))
      case .replace(let index):
        operations.append(
          FieldOperation(.replace, ListElements.field(of: ids[index], in: name), try encoded(index)))
      }
    }
    return operations
  }

  /// An element as JSON, checked, with its id as text.
  func encoded(
    _ element: Element, of name: String,
    checkedBy check: (_ id: String, _ element: FieldValue) throws(FieldError) -> Void
  ) throws(FieldError) -> (id: String, value: FieldValue) {
    if isStoredAsArray { throw .list(field: name, .storedAsArray) }
    guard let id = ElementID.text(element.id), !id.isEmpty else { throw .list(field: name, .missingID(index: 0)) }
    guard ListElements.isID(id) else { throw .list(field: name, .badID(id, index: 0)) }
    let value = try codec.encode(element)
    try check(id, value)
    return (id, value)
  }

  /// The anchors of the place directly after an element, without one to be moved; nil: the front.
  func anchors(after id: String?, without moved: String? = nil) -> ListOperand {
    let ids = ids
    guard let id else { return ListOperand(before: ids.first { $0 != moved }) }
    let behind = index(of: id).map { ids[($0 + 1)...].first { $0 != moved } } ?? nil
    return ListOperand(after: id, before: behind)
  }

  /// The ids as text; each is checked.
  private static func ids(of value: Value) throws(ListError) -> [String] {
    var ids: [String] = []
    ids.reserveCapacity(value.count)
    for element in value {
      guard let id = ElementID.text(element.id), !id.isEmpty else { throw .missingID(index: ids.count) }
      guard ListElements.isID(id) else { throw .badID(id, index: ids.count) }
      ids.append(id)
    }
    return ids
  }

  // MARK: Showing

  func receive(_ list: ShownList?, stamp: UInt64) -> (value: Value, broken: FieldValue?)? {
    let former = held.withLock { $0 }
    guard stamp > former.stamp else { return nil }
    // Decoding may run the program's code, so it happens outside the lock; the stamp keeps the order.
    let (next, changed) = list.flatMap { $0.isWritten ? self.next($0, after: former) : nil } ?? unwritten(after: former)
    return take(next, changed, stamp)
  }

  func decoded(_ list: ShownList) -> ListBase<Value> {
    let next = next(list, after: held.withLock { $0 }).next
    return ListBase(value: Value(next.elements), ids: next.ids, elements: next.elements)
  }

  func hold(array: Value?, stamp: UInt64) {
    let next = Held(elements: array.map { Array($0) } ?? [], isStoredAsArray: true, stamp: stamp)
    held.withLock { if stamp > $0.stamp { $0 = next } }
  }

  func hold(_ value: Value) {
    guard let ids = try? ElementList.ids(of: value) else { return }
    let former = held.withLock { $0 }
    let next = Held(ids: ids, elements: Array(value), stamp: former.stamp)
    _ = take(next, Set(former.ids).union(ids), nil)
  }

  /// The declared default shows, and nothing is stored.
  private func unwritten(after former: Held) -> (Held, Set<String>) {
    let ids = (try? ElementList.ids(of: declared)) ?? []
    return (Held(ids: ids, elements: Array(declared)), Set(former.ids).union(ids))
  }

  /// What a list becomes, and the ids of the elements that are not as they were.
  private func next(_ list: ShownList, after former: Held) -> (next: Held, changed: Set<String>) {
    guard former.isStored, former.broken.isEmpty else { return anew(list, former) }
    var head = 0
    var (oldEnd, newEnd) = (former.ids.count, list.ids.count)
    func isSame(_ old: Int, _ new: Int) -> Bool {
      former.ids[old] == list.ids[new] && former.values[old] == list.values[new]
    }
    while head < oldEnd, head < newEnd, isSame(head, head) { head += 1 }
    while oldEnd > head, newEnd > head, isSame(oldEnd - 1, newEnd - 1) { (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1) }
    let known = Dictionary(zip(former.ids[head..<oldEnd], head..<oldEnd), uniquingKeysWith: { first, _ in first })
    var changed = Set(former.ids[head..<oldEnd])
    var middle: [Element] = []
    for index in head..<newEnd {
      if let old = known[list.ids[index]], former.values[old] == list.values[index] {
        changed.remove(list.ids[index])
        middle.append(former.elements[old])
      } else if let element = codec.decode(list.values[index]) {
        changed.insert(list.ids[index])
        middle.append(element)
      } else {
        return anew(list, former)
      }
    }
    var next = former
    next.ids = list.ids
    next.values = list.values
    next.elements.replaceSubrange(head..<oldEnd, with: middle)
    if former.ids.count != list.ids.count || former.ids[head..<oldEnd] != list.ids[head..<newEnd] { next.indices = nil }
    return (next, changed)
  }

  /// The same for a list with elements that cannot be decoded, or after none.
  private func anew(_ list: ShownList, _ former: Held) -> (next: Held, changed: Set<String>) {
    let isKnown = former.isStored
    let known = isKnown ? Dictionary(zip(former.ids, former.ids.indices), uniquingKeysWith: { first, _ in first }) : [:]
    var next = Held(isStored: true)
    var changed = Set(former.ids)
    for (id, value) in zip(list.ids, list.values) {
      let old = known[id].flatMap { former.values[$0] == value ? former.elements[$0] : nil }
      guard former.broken[id] != value, let element = old ?? codec.decode(value) else {
        next.broken[id] = value
        continue
      }
      if old != nil { changed.remove(id) } else { changed.insert(id) }
      next.ids.append(id)
      next.values.append(value)
      next.elements.append(element)
    }
    return (next, changed)
  }

  /// - Parameter stamp: nil: the value is local.
  private func take(_ next: Held, _ changed: Set<String>, _ stamp: UInt64?) -> (value: Value, broken: FieldValue?)? {
    var next = next
    // The old elements are released outside the lock: their deinit may run any code.
    let former: Held? = held.withLock { held in
      if let stamp {
        guard stamp > held.stamp else { return nil }
        next.stamp = stamp
      }
      defer { held = next }
      return held
    }
    guard former != nil else { return nil }
    for id in changed {
      guard let cell = cells.withLock({ $0.all.isEmpty ? nil : $0.all[id]?.cell }) else { continue }
      cell.hold(element(id), stamp: stamp ?? 0)
      cells.withLock { $0.due.append(cell) }
    }
    return (Value(next.elements), next.broken.min { $0.key < $1.key }?.value)
  }

  func publish() {
    let due = cells.withLock { cells in
      defer { cells.due.removeAll() }
      return cells.due
    }
    for cell in due { cell.publish() }
  }

  func reject(_ reason: String, element id: String, stamp: UInt64) {
    cells.withLock({ $0.all[id]?.cell })?.reject(reason, stamp: stamp)
  }

  // MARK: Elements

  /// The element with an id; nil: there is none.
  func element(_ id: String) -> Element? {
    held.withLock { held in index(of: id, in: &held).map { held.elements[$0] } }
  }

  /// The ids of the elements that show, in their order.
  var ids: [String] { held.withLock { $0.ids } }

  func index(of id: String) -> Int? { held.withLock { index(of: id, in: &$0) } }

  private func index(of id: String, in held: inout Held) -> Int? {
    if let indices = held.indices { return indices[id] }
    let indices = Dictionary(zip(held.ids, held.ids.indices), uniquingKeysWith: { first, _ in first })
    held.indices = indices
    return indices[id]
  }

  /// The cell of an element, which need not be there.
  func cell(of id: String) -> ElementCell<Element> {
    if let present = cells.withLock({ $0.all[id]?.cell }) { return present }
    let fresh = ElementCell<Element>(id: id)
    let cell = cells.withLock { cells in
      let cell = cells.all[id]?.cell ?? fresh
      if cells.all.count >= cells.pruning {
        cells.all = cells.all.filter { $0.value.cell != nil }
        cells.pruning = max(64, 2 * cells.all.count)
      }
      cells.all[id] = WeakElementCell(cell: cell)
      return cell
    }
    // What was received meanwhile was received before this, or finds the cell.
    cell.begin(with: element(id))
    return cell
  }
}
