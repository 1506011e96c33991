import BindingProtocol

/// Checks that lists hold what their description allows, and are written by the verbs of lists alone.
extension Sequencer {
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

  /// Checks a description that the proposal has written: what becomes a list holds no other value, and no list with
  /// elements becomes anything else.
  func checkLists(in model: ModelLog) throws(Verdict) {
    let lists = model.rules.current.rules.lists
    for list in lists.sorted() {
      guard let head = model.fields.id(of: list), let value = model.presentValue(head) else { continue }
      if case .array(let elements)? = try? value.json, elements.isEmpty { continue }
      if ListElements.count(ofHead: value) == model.order(of: list).count { continue }
      throw .refused(
        .doesNotFit,
        "\(model.id).\(list): \(value.shortened) is no list; delete it first, or insert its elements in this proposal")
    }
    for list in model.rules.before.rules.lists.subtracting(lists).sorted() {
      let count = model.order(of: list).count
      guard count > 0 else { continue }
      throw .refused(.doesNotFit, "\(model.id).\(list): is a list of \(count) elements; delete it first")
    }
  }
}

extension FieldValue {
  /// At most 40 characters, for a text that people read.
  fileprivate var shortened: String { PrintedText.escaped(description, limit: 40) }
}
