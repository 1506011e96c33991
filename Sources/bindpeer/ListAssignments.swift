import BindingPeer
import BindingTerminal

/// The assignments to lists of one model, collected into operations: an element that several of them change is written
/// once.
struct ListAssignments {
  let model: SharedModel
  /// The elements as changed so far, in the order of their first change.
  private var changed: [(field: String, list: String, id: String, element: JSON)] = []
  private(set) var operations: [FieldOperation] = []
  /// A changed member is written with the rest of its element: on condition that this is as it was.
  private(set) var conditions: [Condition] = []

  private let ifVersion: UInt64?

  /// - Parameter ifVersion: lists and elements are written only if they are unchanged since.
  init(of model: SharedModel, ifVersion: UInt64?) {
    self.model = model
    self.ifVersion = ifVersion
  }

  /// Takes an assignment over.
  /// - Returns: false if it is not one to a list.
  mutating func add(_ assignment: Assignment, as reading: Assignment.Reading) throws(Failure) -> Bool {
    guard let list = UntypedList(assignment.field, in: model) else {
      if let element = assignment.element {
        throw Failure(.no, "\(model.id).\(assignment.field) is no list, so it has no element \(element.description).")
      }
      return false
    }
    if let element = assignment.element {
      try change(element, of: list, by: assignment, reading)
    } else {
      try write(list, by: assignment, reading)
    }
    return true
  }

  /// All operations, those of changed elements last.
  func finished() -> [FieldOperation] {
    operations + changed.map { FieldOperation(.replace, $0.field, FieldValue(json: $0.element)) }
  }

  private mutating func change(
    _ address: ElementAddress, of list: UntypedList, by assignment: Assignment, _ reading: Assignment.Reading
  ) throws(Failure) {
    let title = "\(model.id).\(list.name)\(address.description)"
    let field = list.field(of: address.id)
    let known = changed.firstIndex { $0.field == field }
    guard let element = known.map({ changed[$0].element }) ?? list[address.id].flatMap({ try? $0.json }) else {
      throw Failure(.no, missing(address.id, in: list))
    }
    let present = address.value(in: FieldValue(json: element))
    // A member has the type of its present value: a text stays a text.
    let type = present.flatMap { try? $0.json }.map(FieldType.init(of:)) ?? .any
    let value = try assignment.value(as: type, shown: present, reading)
    guard let json = try? value.json, let whole = address.replacing(in: element, by: json) else {
      throw Failure(.doesNotFit, "\(title): what is around it is no object, so it has no members")
    }
    if address.members.isEmpty || address.members == ["id"], UntypedList.id(of: FieldValue(json: whole)) != address.id {
      throw Failure(.doesNotFit, "\(title): an element keeps its id; remove it, and append the other")
    }
    if let declared = model.modelDescription.fields[list.name], let problem = declared.problem(with: whole) {
      throw Failure(.doesNotFit, "\(title): \(problem)")
    }
    if let known {
      changed[known].element = whole
    } else {
      changed.append((field, list.name, address.id, whole))
      let version = model.version
      conditions.append(Condition(field: field, epoch: version.epoch, version: ifVersion ?? version.version))
    }
  }

  private mutating func write(
    _ list: UntypedList, by assignment: Assignment, _ reading: Assignment.Reading
  ) throws(Failure) {
    let title = "\(model.id).\(list.name)"
    if let ifVersion {
      conditions.append(Condition(field: list.name, epoch: model.version.epoch, version: ifVersion))
    }
    switch assignment.source {
    case .toggle: throw Failure(.doesNotFit, "\(title)! toggles true and false, and \(title) is a list")
    case .add(let text):
      guard let element = try? FieldValue(text: text) else {
        throw Failure(
          .doesNotFit,
          "\(title)+=\(excerpt(text)): to append an element, write it as JSON:  '\(title)+={\"id\":7,…}'")
      }
      operations.append(try checked(title) { () throws(ListError) in try list.appending(element) })
    case .text, .content, .json:
      let elements = try assignment.value(as: .array, shown: nil, reading).elements ?? []
      operations += try checked(title) { () throws(ListError) in try list.operations(to: elements) }
    }
  }

  private func checked<Result>(_ title: String, _ body: () throws(ListError) -> Result) throws(Failure) -> Result {
    do throws(ListError) { return try body() } catch { throw Failure(.doesNotFit, "\(title): \(error)") }
  }

  private func missing(_ id: String, in list: UntypedList) -> String {
    let near = nearest(to: id, among: list.ids)
    return "\(model.id).\(list.name) has no element \(id)."
      + (near.map { " Did you mean \(model.id).\(list.name)[id=\($0)]?" } ?? "")
  }
}

extension FieldType {
  /// The type of a value.
  init(of json: JSON) {
    self = [FieldType.boolean, .integer, .number, .string, .array, .object].first { $0.admits(json) } ?? .any
  }
}

extension FieldValue {
  /// The elements of an array, each as it is written; nil: it is none.
  var elements: [FieldValue]? {
    guard case .array(let items)? = try? json else { return nil }
    return items.map { FieldValue(json: $0) }
  }
}
