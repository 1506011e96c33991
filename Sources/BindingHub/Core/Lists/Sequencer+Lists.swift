import BindingProtocol

/// Applies the verbs of lists (protocol.md §6.5).
extension Sequencer {
  /// An element that an operation names.
  private struct Named {
    let field: String
    let list: String
    /// nil: the name is new.
    let id: FieldID?
  }

  /// Applies one operation on the field of an element. `violation` receives the first violation of the description.
  mutating func changeList(
    _ verb: Verb, _ known: FieldID?, _ operation: OperationCursor, _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) {
    let named = try element(verb, known, operation, in: model)
    if verb == .delete { return try remove(named, in: model) }
    try checkRight(to: verb, named.field, in: model)
    guard verb.isOfList else {
      throw .refused(.doesNotFit, "\(model.id).\(named.field) \(Sequencer.cureOfElement)")
    }
    guard let rule = listRule(of: named.list, in: model) else {
      throw .refused(
        .doesNotFit,
        "\(model.id).\(named.list) is not described as a list; describe it with \"policy\":\"list\" first")
    }
    guard let operand = operation.value else { return }
    model.makeOrder(of: named.list)
    switch verb {
    case .insert: try insert(named, operand, operation.name, rule, &violation, in: model)
    case .move: try move(named, operand, in: model)
    default: try replace(named, operand, rule, &violation, in: model)
    }
  }

  static let cureOfElement = "is an element of a list: insert, move, replace or delete it"
  static let cureOfList = "is a list: insert, move, replace or delete its elements"

  private func element(
    _ verb: Verb, _ known: FieldID?, _ operation: OperationCursor, in model: ModelLog
  ) throws(Verdict) -> Named {
    let field = known.map { model.fields[$0].name } ?? operation.name.map { String(decoding: $0, as: UTF8.self) } ?? ""
    if known == nil {
      do throws(WireError) { try Names.checkField(field) } catch { throw .refused(.badName, error.problem) }
    }
    guard let list = ListElements.parts(of: field)?.list else {
      throw .refused(
        .malformedValue, "\(field): \(verb) needs the name of an element: that of the list, @ and its id")
    }
    guard model.ephemeral == nil else {
      throw .refused(.doesNotFit, "\(field): an ephemeral model has no lists; set an array instead")
    }
    return Named(field: field, list: String(list), id: known)
  }

  private func listRule(of list: String, in model: ModelLog) -> FieldRule? {
    let rules = model.rules.current.rules
    guard rules.lists.contains(list), let index = rules.index(of: list) else { return nil }
    return rules[index]
  }

  // MARK: Operations

  private mutating func insert(
    _ named: Named, _ operand: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer?, _ rule: FieldRule,
    _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) {
    let place = try read(.insert, operand, of: named)
    guard let element = place.element else { return }
    try check(element, of: named.field, rule, &violation, in: model)
    if let id = named.id, isThere(id, named.list, in: model) { throw .conflict(id, name: named.field) }
    let id = if let known = named.id { known } else { try introduceAny(name, in: model) }
    try put(id, at: position(of: place, in: named.list, of: model), in: named.list, of: model)
    edits.set(id, .element(element))
    edits.touch(named.list)
  }

  private mutating func move(
    _ named: Named, _ operand: UnsafeRawBufferPointer, in model: ModelLog
  ) throws(Verdict) {
    let place = try read(.move, operand, of: named)
    guard let id = named.id, let rank = model.order(of: named.list).rank(of: id) else {
      throw .conflict(named.id, name: named.field)
    }
    let before = model.order(of: named.list).index(of: id, model.fields)
    model.batch.lists.set(id, to: nil, in: named.list, model.fields)
    let index = position(of: place, in: named.list, of: model)
    // It stands there: nothing changes.
    if index == before { return model.batch.lists.set(id, to: rank, in: named.list, model.fields) }
    try put(id, at: index, in: named.list, of: model)
    edits.move(id, in: named.list)
  }

  private mutating func replace(
    _ named: Named, _ operand: UnsafeRawBufferPointer, _ rule: FieldRule, _ violation: inout String?, in model: ModelLog
  ) throws(Verdict) {
    guard JSON.isValid(operand) else { throw malformed(operand, named.field) }
    let element = FieldValue(operand)
    try check(element, of: named.field, rule, &violation, in: model)
    guard let id = named.id, model.order(of: named.list).contains(id) else {
      throw .conflict(named.id, name: named.field)
    }
    edits.set(id, .element(element))
  }

  private mutating func remove(_ named: Named, in model: ModelLog) throws(Verdict) {
    guard let id = named.id else { return }
    model.makeOrder(of: named.list)
    guard isThere(id, named.list, in: model) else { return }
    try checkRight(to: .delete, named.field, in: model)
    if model.order(of: named.list).contains(id) {
      model.batch.lists.set(id, to: nil, in: named.list, model.fields)
      edits.touch(named.list)
    }
    edits.set(id, .removed)
  }

  /// Deletes a list with all its elements.
  /// - Returns: whether the field is one.
  mutating func deleteList(_ head: FieldID, in model: ModelLog) -> Bool {
    let isRuled = model.isRuled(head) && model.rule(of: head)?.isList == true
    let isHead =
      isRuled
      || model.fields.elementNames > 0
        && model.presentValue(head).flatMap { ListElements.count(ofHead: $0) } != nil
    guard isHead else { return false }
    let list = model.fields[head].name
    let elements = model.order(of: list).entries.map(\.field)
    for element in elements {
      model.batch.lists.set(element, to: nil, in: list, model.fields)
      edits.set(element, .removed)
    }
    edits.delete(list)
    return true
  }

  /// Whether an element, or anything else, is in this field, as the operations before left it.
  private func isThere(_ id: FieldID, _ list: String, in model: ModelLog) -> Bool {
    model.order(of: list).contains(id) || edits[id] == nil && model.fields.decided(id).hasValue
  }

  // MARK: Places

  private func read(
    _ verb: Verb, _ operand: UnsafeRawBufferPointer, of named: Named
  ) throws(Verdict) -> ListOperand {
    let place: ListOperand
    do throws(ListOperandFault) {
      place = try ListOperand(verb, reading: operand)
    } catch {
      throw .refused(.malformedValue, "\(named.field): \(error)")
    }
    let id = ListElements.parts(of: named.field).map { String($0.id) }
    guard place.after != id, place.before != id else {
      throw .refused(.malformedValue, "\(named.field): names itself as its neighbour")
    }
    return place
  }

  /// The index in the order at which an element is to be put.
  private func position(of place: ListOperand, in list: String, of model: ModelLog) -> Int {
    func index(_ anchor: String?) -> Int? {
      guard let anchor, let id = model.fields.id(of: ListElements.field(of: anchor, in: list)) else { return nil }
      return model.order(of: list).index(of: id, model.fields)
    }
    if let after = index(place.after) { return after + 1 }
    return index(place.before) ?? model.order(of: list).count
  }

  /// Gives an element the rank of a place, and neighbours others where there is no room.
  private mutating func put(_ id: FieldID, at index: Int, in list: String, of model: ModelLog) throws(Verdict) {
    if let rank = spacing.rank(at: index, in: model.order(of: list)) {
      return model.batch.lists.set(id, to: rank, in: list, model.fields)
    }
    let found = spacing.renumbering(around: index, in: model.order(of: list)) { field in
      model.fields.isDecided(field) ? model.fields.decided(field).value.count : model.fields[field].value.count
    }
    guard let found else {
      let field = model.fields[id].name
      throw .refused(.modelFull, "\(field): no rank is left at this place; put elements elsewhere, or delete some")
    }
    for neighbour in model.order(of: list).entries[found.window] { edits.renumber(neighbour.field) }
    model.batch.lists.renumber(found, in: list)
    model.batch.lists.set(id, to: found.newRank, in: list, model.fields)
  }

  // MARK: Rules

  func check(
    _ element: FieldValue, of field: String, _ rule: FieldRule, _ violation: inout String?,
    in model: ModelLog
  ) throws(Verdict) {
    let most = limits.maxValueBytes - ListElements.envelopeBytes
    if element.bytes.count > most {
      throw .refused(
        .valueTooLarge, "\(field) has \(element.bytes.count) bytes; an element of a list may have \(most)")
    }
    if let fault = ListElements.value(at: 1, element).bytes.withUnsafeBytes({ JSON.fault(in: $0) }) {
      throw .refused(.malformedValue, "\(field): \(fault)")
    }
    guard violation == nil else { return }
    violation = element.bytes.withUnsafeBytes { rule.words(against: $0) }.map { "\(model.id).\(field): \($0)" }
  }

  /// Why a value must not be in a list or its element, once the proposal is applied; nil: it may be.
  func wordsOfList(
    _ value: UnsafeRawBufferPointer, for id: FieldID, _ rule: FieldRule, in model: ModelLog
  ) -> String? {
    let field = model.fields[id].name
    guard model.fields[id].isElement else { return "\(model.id).\(field) \(Sequencer.cureOfList)" }
    guard let element = ListElements.stored(value)?.element else { return nil }
    return element.bytes.withUnsafeBytes { rule.words(against: $0) }.map { "\(model.id).\(field): \($0)" }
  }

  /// Refuses to merge into a list.
  func checkNoList(_ id: FieldID, in model: ModelLog) throws(Verdict) {
    guard model.isRuled(id), model.rule(of: id)?.isList == true else { return }
    throw .refused(.doesNotFit, "\(model.id).\(model.fields[id].name) \(Sequencer.cureOfList)")
  }

  /// The refusal of a new element that no verb of lists makes.
  func notOfList(_ name: UnsafeRawBufferPointer, in model: ModelLog) -> Verdict {
    let field = String(decoding: name, as: UTF8.self)
    return .refused(.doesNotFit, "\(model.id).\(field) \(Sequencer.cureOfElement)")
  }
}
