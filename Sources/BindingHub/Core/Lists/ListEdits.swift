import BindingProtocol

/// What a proposal makes of lists: written when all its operations are read, so that its commit has each field once.
struct ListEdits {
  enum Edit {
    case removed
    /// The element, at its rank.
    case element(FieldValue)
    /// The present element has another place, perhaps at the same rank: its neighbours may have got others.
    case moved
    /// The present element has another rank.
    case renumbered
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
  mutating func renumber(_ field: FieldID) { if edits[field] == nil { set(field, .renumbered) } }

  /// An element has another place. Its own field tells so, whatever its rank: conditions on it, undo and the history
  /// of an element compare and find nothing else.
  mutating func move(_ field: FieldID, in list: String) {
    switch edits[field] {
    case nil, .renumbered?: set(field, .moved)
    case .removed?, .element?, .moved?: break
    }
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

/// Writes what a proposal makes of lists.
extension Sequencer {
  /// The most bytes that one commit writes into lists.
  static let mostListBytes = 524_288

  /// Writes what the proposal makes of lists.
  /// - Returns: how many fields change.
  mutating func writeLists(to version: Version, by writer: Int, in model: ModelLog) throws(Verdict) -> Int {
    var (changed, bytes) = (0, 0)
    func write(_ value: FieldValue?, to id: FieldID) throws(Verdict) {
      guard model.fields.decidedVersion(id) != version else {
        throw .refused(.duplicateField, "\(model.fields[id].name) appears twice in one proposal")
      }
      let fits = model.batch.pending.commits.change(id, value)
      try record(fits, value?.bytes.count, for: id, version, writer, in: model)
      changed += 1
      bytes += value?.bytes.count ?? 0
    }
    for id in edits.elements {
      guard let edit = edits[id] else { continue }
      if case .removed = edit {
        if model.fields.decided(id).hasValue { try write(nil, to: id) }
      } else if let value = element(edit, of: id, in: model) {
        try write(value, to: id)
      }
    }
    guard bytes <= Sequencer.mostListBytes else {
      throw .refused(
        .proposalTooLarge, "it writes \(bytes) bytes into lists, at most \(Sequencer.mostListBytes); split it")
    }
    for (list, isDeleted) in edits.lists {
      let count = model.order(of: list).count
      let head = model.fields.id(of: list)
      if isDeleted, count == 0 {
        if let head, model.fields.decided(head).hasValue { try write(nil, to: head) }
        continue
      }
      var name = list
      let id =
        if let head { head } else {
          try name.withUTF8 { name in
            Result { () throws(Verdict) in try introduceAny(UnsafeRawBufferPointer(name), in: model) }
          }.get()
        }
      try write(ListElements.head(count), to: id)
    }
    edits = ListEdits()
    return changed
  }

  /// The value of an element that stays; nil: it has that already.
  private func element(_ edit: ListEdits.Edit, of id: FieldID, in model: ModelLog) -> FieldValue? {
    let list = ListElements.parts(of: model.fields[id].name)?.list ?? ""
    guard let rank = model.order(of: String(list)).rank(of: id) else { return nil }
    if case .element(let element) = edit { return ListElements.value(at: rank, element) }
    guard let present = model.presentValue(id).flatMap({ ListElements.stored($0) }) else { return nil }
    if case .renumbered = edit, present.rank == rank { return nil }
    return ListElements.value(at: rank, present.element)
  }

  /// Undoes what the present proposal changed in lists.
  mutating func undoLists(in model: ModelLog) {
    if !edits.isEmpty { edits = ListEdits() }
    if model.batch.lists.isChanged { model.batch.lists.undo(model.fields) }
  }

  /// The proposal deletes all fields.
  func clearLists(in model: ModelLog) throws(Verdict) {
    guard edits.isEmpty else {
      throw .refused(.duplicateField, "clear deletes elements that the proposal names; use two proposals")
    }
    if model.fields.elementNames > 0 { model.batch.lists.clear() }
  }
}
