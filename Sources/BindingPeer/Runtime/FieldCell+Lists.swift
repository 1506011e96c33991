import BindingModel
import BindingProtocol

/// What a policy `list` changes, and the check of values against the declaration.
extension FieldCell {
  // MARK: Reading

  /// The value to change in place: that of the base, unless an earlier assignment of this `change {}` shows.
  func value(over base: ListBase<Value>?) -> Value {
    guard let base else { return value }
    if let draft = ChangeDraft.current, draft.value(of: self) != nil { return value }
    // Tracked like every read.
    _ = ReadTracking.current == .nobody ? base.value : value
    return base.value
  }

  /// Shows what the hub holds: a list, an array of a program without the policy, or nothing.
  func accept(_ update: FieldUpdate, in list: any FieldList<Value>) {
    var shown = update.list
    if shown == nil, let value = update.value {
      guard ListElements.count(ofHead: value) != nil else {
        let decoded = codec.decode(value)
        list.hold(array: decoded, stamp: update.stamp)
        guard let decoded else { return fallBack(from: value, update) }
        return accept(typed: decoded, stamp: update.stamp, isOurs: update.isOurs, isAnswer: false)
      }
      shown = ShownList(name: declaredName ?? "", isWritten: true)
    }
    guard let received = list.receive(shown, stamp: update.stamp) else { return }
    accept(typed: received.value, stamp: update.stamp, isOurs: update.isOurs, isAnswer: false)
    if let broken = received.broken { record(.cannotShow(broken)) }
  }

  /// Shows a write of the list that was just overlaid.
  func accept(_ shown: OverlaidFields, named name: String) {
    guard let list else { return }
    let update = FieldUpdate(
      value: shown.merged[name], stamp: shown.stamp, isOurs: true,
      list: shown.lists[name] ?? ShownList(name: name))
    acceptAnswer(at: shown.stamp)
    accept(update, in: list)
  }

  // MARK: Writing

  /// Writes what turns a base into a value, as one commit.
  /// - Returns: nil if nothing has to be written.
  func writeList(
    _ list: any FieldList<Value>, _ value: Value, from base: ListBase<Value>
  ) throws -> PendingWrite? {
    let (model, name) = try attached()
    let operations = try list.operations(from: base, to: value, of: name, checkedBy: check(in: name))
    return operations.isEmpty ? nil : try writeElements(operations, in: model, name)
  }

  /// Writes operations on elements.
  func writeElements(
    _ operations: [FieldOperation], conditions: [Condition] = [], in model: SharedModel, _ name: String
  ) throws(WriteError) -> PendingWrite {
    try model.write(
      Proposal(operations: operations, conditions: conditions), policies: policies(of: operations)
    ) { [self] in accept($0, named: name) }
  }

  /// The operations of a list in a `change {}`, which is one commit.
  func listOperations(
    _ list: any FieldList<Value>, _ value: Value, from base: ListBase<Value>, _ name: String
  ) throws(FieldError) -> (operations: [FieldOperation], policies: [String: WritePolicy]) {
    let operations = try list.operations(from: base, to: value, of: name, checkedBy: check(in: name))
    return (operations, policies(of: operations))
  }

  private func policies(of operations: [FieldOperation]) -> [String: WritePolicy] {
    guard policy.offlineRule != .yields else { return [:] }
    let policy = WritePolicy(offline: policy.offlineRule)
    return Dictionary(operations.map { ($0.field, policy) }, uniquingKeysWith: { first, _ in first })
  }

  func defaultElements(in name: String) -> [FieldOperation] {
    guard let list else { return [] }
    let unwritten = ListBase(value: declared, ids: [], elements: nil)
    return (try? list.operations(from: unwritten, to: declared, of: name, checkedBy: check(in: name))) ?? []
  }

  func reject(_ reason: String, element id: String, stamp: UInt64) { list?.reject(reason, element: id, stamp: stamp) }
}

extension FieldDescription {
  /// Makes it the description of a list, whose rule is that of the elements.
  mutating func describeElements() {
    type = .any
    choices = []
    defaultValue = nil
  }
}
