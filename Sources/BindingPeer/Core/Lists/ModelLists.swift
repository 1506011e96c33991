import BindingProtocol

/// The lists of a model, by name.
struct ModelLists: Sendable {
  /// What an update may change of lists: indices of elements' fields in the replica, and names of heads.
  struct Touched {
    var elements: [Int] = []
    var heads: [String] = []
    var isEmpty: Bool { elements.isEmpty && heads.isEmpty }
  }
  fileprivate var byName: [String: ListIndex] = [:]

  var isEmpty: Bool { byName.isEmpty }

  /// What a list shows; nil: there is no such list.
  subscript(name: String) -> ShownList? { byName.isEmpty ? nil : byName[name]?.shown }

  /// All lists, in no particular order.
  var all: [ShownList] { byName.values.map(\.shown) }
}

extension ModelSync {
  /// Brings the lists to what the replica and the pending writes hold now.
  /// - Returns: what the lists concerned show.
  mutating func updateLists(_ touched: ModelLists.Touched) -> [ShownList] {
    var changed: [String: [(id: String, committed: FieldValue?)]] = [:]
    for head in touched.heads { changed[head] = [] }
    for index in touched.elements {
      guard let parts = ListElements.parts(of: replica.fields[index].name) else { continue }
      changed[String(parts.list), default: []].append((String(parts.id), replica.fields[index].value))
    }
    var lists: [ShownList] = []
    for (name, elements) in changed.sorted(by: { $0.key < $1.key }) {
      let pending = writes.isEmpty ? PendingElements() : writes.elements(of: name)
      let hasHead = shown(name) != nil
      var list = self.lists.byName[name] ?? ListIndex(name)
      // Its arrays are changed in place.
      self.lists.byName[name] = nil
      list.update(elements, pending, hasHead: hasHead) { shown(ListElements.field(of: $0, in: name)) }
      lists.append(list.shown)
      self.lists.byName[name] = list
    }
    return lists
  }

  /// What a list shows, as of the last update; nil: the field is no list.
  func shownList(_ name: String) -> ShownList? {
    guard let list = lists[name] else { return nil }
    guard list.ids.isEmpty, let head = shown(name) else { return list }
    return ListElements.count(ofHead: head) == nil ? nil : list
  }

  /// The newest version of a list's head and elements; nil: the field is no list.
  func listVersion(_ name: String) -> Version? {
    guard let list = lists[name] else { return nil }
    return list.ids.reduce(0) { newest, id in
      max(newest, replica.index(of: ListElements.field(of: id, in: name)).map { replica.fields[$0].version } ?? 0)
    }
  }

  /// The deletions that the deletion of a list consists of, besides that of its head.
  func deletions(ofElementsOf list: String) -> [FieldOperation] {
    (lists[list]?.ids ?? []).map { FieldOperation(.delete, ListElements.field(of: $0, in: list)) }
  }

  /// Ends a write that changes a list, which the hub does not know.
  /// - Returns: whether it is one.
  mutating func endIfOfList(_ write: WriteID, _ context: inout SessionContext) -> Bool {
    guard let proposal = writes[write]?.proposal, proposal.isOfList else { return false }
    let text = ListError.hubWithoutLists(proposal.operations[0].field)
    end(write, as: .refused(Refusal(.unknownVerb, text)), &context)
    return true
  }
}

extension ListError {
  static func hubWithoutLists(_ field: String) -> String {
    "\(field): this hub knows no lists; update it, or declare the field without the policy list"
  }
}

extension Session {
  /// Whether lists can be written, as far as is known: the hub has the capability, or none was seen.
  var mayHaveLists: Bool { connection.welcome == nil || connection.hubCan(Capability.lists) }

  /// What a list of a model shows, as of its last update; nil: the field is no list.
  package func shownList(_ model: String, _ name: String) -> ShownList? {
    models.index(of: model).flatMap { models[at: $0].shownList(name) }
  }

  /// The shown values of all fields of a model as programs see them: a list is one array, under the name of its head,
  /// and its elements are no fields.
  func presentValues(_ model: String) -> [String: FieldValue] {
    var values = shownValues(model)
    guard let lists = models[model]?.lists, !lists.isEmpty else { return values }
    for name in values.keys where ListElements.parts(of: name) != nil { values[name] = nil }
    for list in lists.all {
      if let list = shownList(model, list.name), list.isWritten { values[list.name] = list.array }
    }
    return values
  }

  /// The shown value of a field as programs see it: that of a list is one array.
  func presentValue(_ model: String, _ field: String) -> FieldValue? {
    guard let index = models.index(of: model) else { return nil }
    if !models[at: index].lists.isEmpty, let list = models[at: index].shownList(field) {
      return list.isWritten ? list.array : nil
    }
    return models[at: index].shown(field)
  }

  /// The lists to which these fields belong, or which they are, by name.
  func shownLists(_ model: String, concernedBy fields: [String]) -> [String: ShownList] {
    guard let index = models.index(of: model), !models[at: index].lists.isEmpty else { return [:] }
    var lists: [String: ShownList] = [:]
    for field in fields {
      let name = ListElements.parts(of: field).map { String($0.list) } ?? field
      if lists[name] == nil { lists[name] = models[at: index].shownList(name) }
    }
    return lists
  }
}
