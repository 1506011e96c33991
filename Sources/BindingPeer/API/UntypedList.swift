package import BindingProtocol

/// A list of a model without types, as it shows now: for tools. An element is known by its member `id`.
package struct UntypedList: Sendable {
  /// The field that is the list.
  package let name: String
  /// The ids of the elements, in order.
  package let ids: [String]
  /// The elements, in order.
  package let elements: [FieldValue]

  /// What a list shows; nil: the field is none.
  package init?(_ name: String, in model: SharedModel) {
    let id = model.id
    if let shown = model.runtime.state.withLock({ $0.session.shownList(id, name) }) {
      self.init(name, ids: shown.ids, elements: shown.values)
    } else if model.modelDescription.fields[name]?.policy == "list", model[name] == nil {
      self.init(name, ids: [], elements: [])
    } else {
      return nil
    }
  }

  init(_ name: String, ids: [String], elements: [FieldValue]) {
    self.name = name
    self.ids = ids
    self.elements = elements
  }

  /// The element with an id; nil: there is none.
  package subscript(id: String) -> FieldValue? { ids.firstIndex(of: id).map { elements[$0] } }

  /// The field of an element.
  package func field(of id: String) -> String { ListElements.field(of: id, in: name) }

  /// The id of an element: its member `id`, a text or a whole number; nil: it has none.
  package static func id(of element: FieldValue) -> String? {
    guard let member = element.jsonIfValid?["id"] else { return nil }
    switch member {
    case .string(let text): return text.isEmpty ? nil : text
    case .integer(let number): return String(number)
    default: return nil
    }
  }

  /// The operation that appends an element.
  package func appending(_ element: FieldValue) throws(ListError) -> FieldOperation {
    let id = try UntypedList.checkedID(of: element, at: ids.count)
    return FieldOperation(.insert, field(of: id), ListOperand(after: ids.last, element: element).value)
  }

  /// The operation that moves an element directly after another one; nil: to the front.
  package func moving(_ id: String, after other: String?) -> FieldOperation {
    let others = ids.filter { $0 != id }
    let behind = other.map { other in others.firstIndex(of: other).map { others.dropFirst($0 + 1).first } ?? nil }
    return FieldOperation(.move, field(of: id), ListOperand(after: other, before: behind ?? others.first).value)
  }

  /// The least operations that make this the list.
  package func operations(to new: [FieldValue]) throws(ListError) -> [FieldOperation] {
    var newIDs: [String] = []
    for element in new { newIDs.append(try UntypedList.checkedID(of: element, at: newIDs.count)) }
    let steps = try ListDifference.steps(from: ids, to: newIDs) { !FieldValue.isSame(elements[$0], new[$1]) }
    guard steps.count <= ListDifference.maxOperations else {
      throw .tooManyOperations(steps.count, limit: ListDifference.maxOperations)
    }
    var operations: [FieldOperation] = []
    for step in steps {
      switch step {
      case .remove(let id): operations.append(FieldOperation(.delete, field(of: id)))
      case .insert(let index, let after, let before):
        let operand = ListOperand(after: after, before: before, element: new[index])
        operations.append(FieldOperation(.insert, field(of: newIDs[index]), operand.value))
      case .move(let index, let after, let before):
        let operand = ListOperand(after: after, before: before)
        operations.append(FieldOperation(.move, field(of: newIDs[index]), operand.value))
      case .replace(let index):
        operations.append(FieldOperation(.replace, field(of: newIDs[index]), new[index]))
      }
    }
    return operations
  }

  private static func checkedID(of element: FieldValue, at index: Int) throws(ListError) -> String {
    guard let id = id(of: element) else { throw .missingID(index: index) }
    guard ListElements.isID(id) else { throw .badID(id, index: index) }
    return id
  }
}

/// How a field is written for a person: an element as `cues[id=7]`.
package enum FieldTitle {
  package static func of(_ field: String) -> String {
    ListElements.parts(of: field).map { "\($0.list)[id=\($0.id)]" } ?? field
  }

  /// Fields for a person, with commas between them.
  static func all(_ fields: [String]) -> String { fields.map(of).joined(separator: ", ") }

  /// The value of a field for a person: that of an element without its rank.
  package static func value(_ value: FieldValue?, of field: String) -> FieldValue? {
    guard let value, ListElements.parts(of: field) != nil else { return value }
    return PendingElement.element(of: value) ?? value
  }
}
