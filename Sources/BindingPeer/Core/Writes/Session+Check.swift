import BindingProtocol

extension Session {
  /// Checks that a proposal is within the hub's limits and well-formed.
  /// - Returns: the bytes that the proposal counts.
  func check(_ proposal: Proposal, ofModelAt index: Int) throws(WriteError) -> Int {
    guard !proposal.operations.isEmpty else { throw .empty }
    guard proposal.operations.count <= limits.maxProposalFields else {
      throw .tooManyFields(count: proposal.operations.count, limit: limits.maxProposalFields)
    }
    guard Int(proposal.hops) <= limits.maxHops else {
      let answered = proposal.operations.lazy.compactMap { models[at: index].replica.index(of: $0.field) }
        .map { models[at: index].replica.fields[$0].origin }.filter { $0.tag != identity.tag && $0.tag != .none }
      let origins = [identity.origin] + answered.prefix(1)
      throw .loop(
        hops: Int(proposal.hops), limit: limits.maxHops, origins: origins.map(\.fullName))
    }
    guard proposal.conditions.count <= Condition.maxCount else {
      throw .tooMany(what: "conditions", count: proposal.conditions.count, limit: Condition.maxCount)
    }
    guard proposal.metadata.count <= Int(UInt8.max) else {
      throw .tooMany(what: "entries of metadata", count: proposal.metadata.count, limit: Int(UInt8.max))
    }
    var bytes = 64
    var names: Swift.Set<String> = []
    for operation in proposal.operations {
      if operation.verb == .clear { continue }
      do throws(WireError) { try Names.checkField(operation.field) } catch { throw .badName(error) }
      guard operation.field.utf8.count <= limits.maxFieldNameBytes else {
        throw .nameTooLong(operation.field, limit: limits.maxFieldNameBytes)
      }
      guard proposal.operations.count == 1 || names.insert(operation.field).inserted else {
        throw .duplicateField(operation.field)
      }
      guard operation.verb.takesValue == (operation.value != nil) else {
        throw .valueMismatch(field: operation.field, operation.verb)
      }
      guard let value = operation.value else { continue }
      guard value.bytes.count <= limits.maxValueBytes else {
        throw .valueTooLarge(field: operation.field, bytes: value.bytes.count, limit: limits.maxValueBytes)
      }
      guard value.isValid else { throw .notJSON(field: operation.field, problem: value.fault ?? "not JSON") }
      switch operation.verb {
      case .add, .max, .min, .union:
        guard Merge.apply(operation.verb, operand: value, to: nil) == nil else { break }
        let problem = Merge.violation(operation.verb, operand: value, to: nil)
        throw operation.verb == .union
          ? .notAList(field: operation.field, problem: problem) : .notANumber(field: operation.field, problem: problem)
      case .set, .delete, .setIfAbsent, .clear: break
      }
      bytes += 16 + operation.field.utf8.count + value.bytes.count
    }
    for condition in proposal.conditions { bytes += 24 + condition.field.utf8.count }
    guard bytes <= limits.maxProposalBytes else {
      throw .proposalTooLarge(bytes: bytes, limit: limits.maxProposalBytes)
    }
    return bytes
  }
}
