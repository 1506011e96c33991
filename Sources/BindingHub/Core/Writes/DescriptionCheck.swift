import BindingProtocol

/// Checks a description that a proposal has written against what its model holds.
struct DescriptionCheck {
  let model: ModelLog

  /// No alias is a name under which a value is stored.
  @inline(never)
  func aliases() throws(Sequencer.Verdict) {
    let rules = model.rules.current.rules
    if let fault = rules.aliasFault {
      throw .refused(.doesNotFit, "\(model.id).\(Names.description): alias: \(fault)")
    }
    for (alias, stored) in rules.aliases.sorted(by: { $0.key < $1.key }) {
      guard let id = model.fields.id(of: alias), model.fields.decided(id).hasValue else { continue }
      throw .refused(
        .doesNotFit,
        "\(model.id).\(Names.description): \(alias) has a value, and cannot be another name of \(stored); "
          + "delete \(model.id).\(alias) first")
    }
  }

  /// What becomes a list holds no other value, and no list with elements becomes anything else.
  @inline(never)
  func lists() throws(Sequencer.Verdict) {
    let lists = model.rules.current.rules.lists
    for list in lists.sorted() {
      guard let head = model.fields.id(of: list), let value = model.presentValue(head) else { continue }
      if case .array(let elements)? = try? value.json, elements.isEmpty { continue }
      if ListElements.count(ofHead: value) == model.order(of: list).count { continue }
      let words = PrintedText.escaped(value.description, limit: 40)
      throw .refused(
        .doesNotFit,
        "\(model.id).\(list): \(words) is no list; delete it first, or insert its elements in this proposal")
    }
    for list in model.rules.before.rules.lists.subtracting(lists).sorted() {
      let count = model.order(of: list).count
      guard count > 0 else { continue }
      throw .refused(.doesNotFit, "\(model.id).\(list): is a list of \(count) elements; delete it first")
    }
  }

  /// Why nothing is written under an alias, naming the field that has the value.
  func violation(ofAlias name: String) -> String {
    let (id, stored) = (model.id, model.rules.current.rules.aliases[name] ?? name)
    return "\(id).\(name) is another name of \(id).\(stored), under which the value is stored; write that field"
  }
}

/// Merges what programs declare into a model's description (protocol.md §8).
extension Sequencer {
  /// Merges a declaration into the description. One that changes nothing needs no right.
  /// - Parameter known: the field that the operation names; nil: it is new, and named `name`.
  /// - Returns: how many fields change.
  @inline(never)
  func describe(
    _ declared: UnsafeRawBufferPointer, as known: FieldID?, _ name: UnsafeRawBufferPointer?, _ version: Version,
    _ writer: Int, in model: ModelLog
  ) throws(Verdict) -> Int {
    let isDescription =
      known.map { $0 == model.fields.descriptionID } ?? name?.elementsEqual(Names.description.utf8) ?? false
    guard isDescription, model.ephemeral == nil else {
      throw .refused(.badName, "describe writes only \(Names.description) of a model that is stored")
    }
    try checkDescription(byteCount: declared.count)
    _ = try rules(of: declared, in: model)
    let present = known.flatMap { model.fields.isDecided($0) ? model.decidedValue($0) : model.fields[$0].fieldValue }
    guard let merge = DescriptionMerge(of: FieldValue(declared), into: present) else {
      throw .refused(
        .malformedValue, "\(model.id).\(Names.description) is not a description; replace it with set")
    }
    if let conflict = merge.aliasConflict {
      throw .refused(.doesNotFit, "\(model.id).\(Names.description): \(conflict)")
    }
    guard merge.isChange else { return 0 }
    try checkRight(to: .describe, Names.description, in: model)
    try checkDescription(byteCount: merge.merged.bytes.count)
    let id = if let known { known } else { try introduce(name, in: model) }
    try merge.merged.bytes.withUnsafeBytes { bytes in
      Result { () throws(Verdict) in
        model.rules.describe(try rules(of: bytes, in: model), at: version)
        try decide(bytes, for: id, version, writer, in: model)
      }
    }.get()
    return 1
  }

  /// The rules of a proposed description.
  func rules(of description: UnsafeRawBufferPointer, in model: ModelLog) throws(Verdict) -> ModelRules {
    do throws(DescriptionError) {
      return try ModelRules(describedBy: description)
    } catch {
      throw .refused(.malformedValue, "\(model.id).\(Names.description): \(error)")
    }
  }

  /// Refuses a value beyond maxValueBytes, unless it is a description that its own limit allows.
  @inline(never)
  func checkLength(_ byteCount: Int, of id: FieldID, in model: ModelLog) throws(Verdict) {
    if id == model.fields.descriptionID { return try checkDescription(byteCount: byteCount) }
    throw .refused(.valueTooLarge, "\(model.fields[id].name) has \(byteCount) bytes; \(mostBytes)")
  }

  private func checkDescription(byteCount: Int) throws(Verdict) {
    guard byteCount > limits.maxDescriptionBytes else { return }
    throw .refused(
      .valueTooLarge,
      "\(Names.description) has \(byteCount) bytes; it may have \(limits.maxDescriptionBytes) (maxDescriptionBytes)")
  }
}
