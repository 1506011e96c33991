import BindingProtocol

/// What becomes of a field when two peers write it concurrently: `@Field(policy: .text) var notes = ""`.
///
/// A policy chooses the operation that an assignment becomes, which the hub follows. It concerns the writer alone, so
/// peers may have different policies for one field. Without a policy the later commit wins.
public struct ConflictPolicy<Value: Sendable & Equatable>: Sendable {
  enum Strategy: Sendable {
    case set(ConflictRule?)
    case merge(@Sendable (_ base: Value, _ mine: Value, _ theirs: Value) throws -> Value)
    /// The operation's operand and the value that then shows, from the new value and the one that showed.
    case operation(Verb, @Sendable (_ new: Value, _ shown: Value) -> (operand: Value, shows: Value))
    /// Each element is a field; made once for each cell, from the default.
    case list(@Sendable (_ declared: Value) -> any FieldList<Value>)
  }

  let strategy: Strategy
  /// The policy's name in the description.
  package let name: String
  var offlineRule = OfflineRule.yields

  /// The same policy with another offline rule: what becomes of a plain set that waited 10 s or longer for a hub
  /// while others changed the field. Example: `.lastWrite.offline(.wins)`.
  public func offline(_ rule: OfflineRule) -> ConflictPolicy {
    var policy = self
    policy.offlineRule = rule
    return policy
  }

  /// The later commit wins.
  public static var lastWrite: ConflictPolicy { ConflictPolicy(strategy: .set(nil), name: "lastWrite") }

  /// A write applies only if no other peer changed the field since its writer saw it; otherwise it ends as a
  /// conflict.
  public static var compareAndSet: ConflictPolicy {
    ConflictPolicy(strategy: .set(.compareAndSet), name: "compareAndSet")
  }

  /// A conflict is resolved by a closure of the program, and its result is sent, at most 64 times.
  ///
  /// - Parameter solve: gets what this peer saw when it wrote, what it wrote, and what is committed now. It runs on
  ///   the model's lane, perhaps many times, so it should only compute. Until it returns, the model's later writes
  ///   wait; the written value shows. If it throws, the write ends as a conflict.
  public static func merge(
    _ solve: @escaping @Sendable (_ base: Value, _ mine: Value, _ theirs: Value) throws -> Value
  ) -> ConflictPolicy {
    ConflictPolicy(strategy: .merge(solve), name: "merge")
  }
}

extension ConflictPolicy where Value == String {
  /// Keeps the words of all writers: concurrent edits of one text are merged word by word.
  public static var text: ConflictPolicy { ConflictPolicy(strategy: .set(.text), name: "text") }
}

extension ConflictPolicy where Value: AdditiveArithmetic & FieldCodable {
  /// An assignment sends the difference, which the hub adds: no increment is lost.
  public static var add: ConflictPolicy { ConflictPolicy(strategy: .operation(.add) { ($0 - $1, $0) }, name: "add") }
}

extension ConflictPolicy where Value: Comparable & FieldCodable {
  /// The greatest value that any peer wrote wins.
  public static var max: ConflictPolicy {
    ConflictPolicy(strategy: .operation(.max) { ($0, Swift.max($0, $1)) }, name: "max")
  }

  /// The least value that any peer wrote wins.
  public static var min: ConflictPolicy {
    ConflictPolicy(strategy: .operation(.min) { ($0, Swift.min($0, $1)) }, name: "min")
  }
}

extension ConflictPolicy where Value: SetAlgebra & Codable {
  /// Elements stay: an assignment adds the new ones at the hub, and removes none.
  public static var union: ConflictPolicy {
    ConflictPolicy(strategy: .operation(.union) { ($0.subtracting($1), $0.union($1)) }, name: "union")
  }
}

extension ConflictPolicy where Value: RangeReplaceableCollection & Codable, Value.Element: Hashable & Codable {
  /// Elements of the list stay, each once and in the hub's order: an assignment adds the new ones at the hub, and
  /// removes none.
  public static var union: ConflictPolicy {
    ConflictPolicy(
      strategy: .operation(.union) { new, shown in
        var known = Set(shown)
        let added = new.filter { known.insert($0).inserted }
        return (added, shown + added)
      }, name: "union")
  }
}

extension ConflictPolicy
where
  Value: RandomAccessCollection & RangeReplaceableCollection & Codable,
  Value.Element: Identifiable & Codable & Equatable & Sendable & SendableMetatype
{
  /// Elements that are inserted, moved, removed and replaced one by one, by their `id`: what several peers do with
  /// different elements all counts. `@Field(policy: .list) var cues: [Cue] = []`.
  ///
  /// An assignment becomes the least such steps, at most 1,000, in one commit. An `id` is a `String`, an integer, a
  /// `UUID`, or a type that is represented by one of them; as text it is 1 to 40 of `A–Z a–z 0–9 _ -`.
  public static var list: ConflictPolicy {
    ConflictPolicy(strategy: .list { ElementList(declared: $0) }, name: "list")
  }
}

/// How a write of one field is sent, besides its operation.
struct WritePolicy: Sendable {
  var ruled: RuledWrite?
  var offline = OfflineRule.yields
  /// For `.asked`: the value that two become; nil to give up.
  var merge: (@Sendable (MergeQuestion) -> FieldValue?)?
}

/// The operation and policy that an assignment becomes.
struct Assignment: Sendable {
  var operation: FieldOperation
  var policy: WritePolicy?
  /// For which form the value was made, if the field's type was changed.
  var forms: [MetadataEntry] = []

  var proposal: Proposal { Proposal(operations: [operation], metadata: forms) }

  var policies: [String: WritePolicy] { policy.map { [operation.field: $0] } ?? [:] }
}

extension FieldCell {
  /// What an assignment of this value becomes by the field's policy, checked against the declaration, and the value
  /// that then shows. nil: what is stored already means this value.
  func assignment(
    of value: Value, name: String
  ) throws(FieldError) -> (assignment: Assignment, shows: Value)? {
    let present = present
    var set = try operation(.set, value, name: name, present.reading)
    guard stored != nil else { return try assignment(set, of: value, present) }
    guard let mapped = set.value, !isStored(value, as: mapped, present) else { return nil }
    set.value = mapped
    // It shows as it is stored.
    var (assignment, shows) = try assignment(set, of: decode(mapped, present.reading) ?? value, present)
    assignment.forms = condition(name, present.reading)
    return (assignment, shows)
  }

  private func assignment(
    _ set: FieldOperation, of value: Value, _ present: (reading: FieldReading, raw: FieldValue?)
  ) throws(FieldError) -> (assignment: Assignment, shows: Value) {
    let name = set.field
    switch policy.strategy {
    // A list is written by `FieldCell.writeList`.
    case .set(nil), .list:
      let policy = self.policy.offlineRule == .yields ? nil : WritePolicy(offline: self.policy.offlineRule)
      return (Assignment(operation: set, policy: policy), value)
    case .set(.some(let rule)):
      if rule == .text { try checkReadable(in: sharedModel, name) }
      let ruled = RuledWrite(rule, base: try base(present.reading, present.raw))
      return (Assignment(operation: set, policy: WritePolicy(ruled: ruled)), value)
    case .operation(let verb, let become):
      try checkReadable(in: sharedModel, name)
      let (operand, shows) = become(value, shownValue)
      return (Assignment(operation: FieldOperation(verb, name, try codec.encode(operand))), shows)
    case .merge(let solve):
      try checkReadable(in: sharedModel, name)
      let ruled = RuledWrite(.asked, base: try base(present.reading, present.raw))
      let policy = WritePolicy(ruled: ruled) { [weak self] in self?.solve($0, present.reading, solve) }
      return (Assignment(operation: set, policy: policy), value)
    }
  }

  private func solve(
    _ question: MergeQuestion, _ reading: FieldReading,
    _ solve: (_ base: Value, _ mine: Value, _ theirs: Value) throws -> Value
  ) -> FieldValue? {
    func decoded(_ value: FieldValue?) -> Value { value.flatMap { decode($0, reading) } ?? declared }
    guard let value = try? solve(decoded(question.base), decoded(question.mine), decoded(question.theirs)) else {
      return nil
    }
    return try? encoded(value, name: question.field, reading)
  }
}
