import BindingProtocol

/// What a proposal makes of lists: written when all its operations are read, so that its commit has each field once.
struct ListEdits {
  enum Edit {
    case removed
    /// The element at its rank; nil: the present element.
    case element(FieldValue?)
  }
  /// Elements in the order in which they were first changed.
  private(set) var elements: [FieldID] = []
  private var edits: [FieldID: Edit] = [:]
  /// The lists whose order or members change, in the order of their first change; for each, whether it was deleted.
  private(set) var lists: [(name: String, isDeleted: Bool)] = []

  var isEmpty: Bool { elements.isEmpty && lists.isEmpty }

  subscript(field: FieldID) -> Edit? { edits[field] }

  mutating func set(_ field: FieldID, _ edit: Edit) {
    if edits.updateValue(edit, forKey: field) == nil { elements.append(field) }
  }

  /// A neighbour has another rank.
  mutating func renumber(_ field: FieldID) { if edits[field] == nil { set(field, .element(nil)) } }

  /// An element has another place.
  mutating func move(_ field: FieldID, in list: String) {
    renumber(field)
    touch(list)
  }

  /// A list has another order or other members.
  mutating func touch(_ list: String) {
    if !lists.contains(where: { $0.name == list }) { lists.append((list, false)) }
  }

  mutating func delete(_ list: String) {
    touch(list)
    for index in lists.indices where lists[index].name == list { lists[index].isDeleted = true }
  }
}
