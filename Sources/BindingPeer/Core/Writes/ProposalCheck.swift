import BindingProtocol

extension Proposal {
  /// Checks that the proposal is within the hub's limits and well-formed.
  /// - Parameter origin: the writer of a field's committed value.
  /// - Returns: the bytes that the proposal counts.
  func check(
    within limits: Limits, by identity: Identity, origin: (String) -> Origin?
  ) throws(WriteError) -> Int {
    guard !operations.isEmpty else { throw .empty }
    guard operations.count <= limits.maxProposalFields else {
      throw .tooManyFields(count: operations.count, limit: limits.maxProposalFields)
    }
    guard Int(hops) <= limits.maxHops else {
      let answered = operations.compactMap { origin($0.field) }
        .filter { $0.tag != identity.tag && $0.tag != .none }
      let origins = [identity.origin] + answered.prefix(1)
      throw .loop(hops: Int(hops), limit: limits.maxHops, origins: origins.map(\.fullName))
    }
    guard conditions.count <= Condition.maxCount else {
      throw .tooMany(what: "conditions", count: conditions.count, limit: Condition.maxCount)
    }
    guard metadata.count <= Int(UInt8.max) else {
      throw .tooMany(what: "entries of metadata", count: metadata.count, limit: Int(UInt8.max))
    }
    var bytes = 64
    var names: Swift.Set<String> = []
    for operation in operations where operation.verb != .clear {
      try operation.checkName(within: limits)
      // Several operations may concern one element: it is moved and replaced.
      let isOnce = operations.count == 1 || names.insert(operation.field).inserted
      guard isOnce || ListElements.parts(of: operation.field) != nil else {
        throw .duplicateField(operation.field)
      }
      try operation.checkValue(within: limits)
      if let value = operation.value { bytes += 16 + operation.field.utf8.count + value.bytes.count }
    }
    for condition in conditions { bytes += 24 + condition.field.utf8.count }
    guard bytes <= limits.maxProposalBytes else {
      throw .proposalTooLarge(bytes: bytes, limit: limits.maxProposalBytes)
    }
    return bytes
  }
}

extension FieldOperation {
  fileprivate func checkName(within limits: Limits) throws(WriteError) {
    do throws(WireError) { try Names.checkField(field) } catch { throw .badName(error) }
    let listed = ListElements.parts(of: field)
    guard (listed?.list.utf8.count ?? field.utf8.count) <= limits.maxFieldNameBytes else {
      throw .nameTooLong(field, limit: limits.maxFieldNameBytes)
    }
  }

  fileprivate func checkValue(within limits: Limits) throws(WriteError) {
    guard verb.takesValue == (value != nil) else { throw .valueMismatch(field: field, verb) }
    guard let value else { return }
    guard value.bytes.count <= limits.maxBytes(of: field) else {
      throw .valueTooLarge(field: field, bytes: value.bytes.count, limit: limits.maxBytes(of: field))
    }
    guard value.isValid else { throw .notJSON(field: field, problem: value.fault ?? "not JSON") }
    switch verb {
    case .add, .max, .min, .union:
      guard Merge.apply(verb, operand: value, to: nil) == nil else { return }
      let problem = Merge.violation(verb, operand: value, to: nil)
      throw verb == .union
        ? .notAList(field: field, problem: problem) : .notANumber(field: field, problem: problem)
    case .describe:
      guard Merge.apply(verb, operand: value, to: nil) != nil else {
        throw .notJSON(field: field, problem: Merge.violation(verb, operand: value, to: nil))
      }
    case .set, .delete, .setIfAbsent, .clear, .insert, .move, .replace: return
    }
  }
}
