import BindingModel
import BindingWire

/// What a shared model needs of its fields, whatever their type.
protocol AnyFieldCell: AnyObject, Sendable {
  var declaredName: String? { get }
  var description: FieldDescription { get }
  /// The default as it goes over the wire; nil if it cannot be encoded.
  var encodedDefault: FieldValue? { get }
  /// The model that the cell is tied to.
  var sharedModel: SharedModel? { get }
  /// What keeps it from showing what was assigned or received.
  var problem: FieldProblem? { get }
  /// Notes that a write of this field was refused, and what stands; the next value that is later than `stamp` clears
  /// it. What the field fell back to is not.
  func reject(_ reason: String, standing: FieldValue?, stamp: UInt64)
  /// Ties the cell to a field of a shared model; false if it is tied already.
  func attach(to model: SharedModel, as name: String) -> Bool
  /// Takes in the shown value (nil: the field has none, the default shows). `stamp` orders changes: an older one than
  /// what is here changes nothing.
  func accept(_ value: FieldValue?, stamp: UInt64)
  /// Tells the observers, if the value is another one than they were told last.
  func publish()
}

/// The one place of a field's value in this process: the shown value, the declaration, and the observers.
final class FieldCell<Value: Sendable & Equatable>: AnyFieldCell {
  let declared: Value
  let declaredName: String?
  let codec: FieldCodec<Value>
  let description: FieldDescription
  let policy: ConflictPolicy<Value>
  /// What observers were told last. It follows `shown` at each delivery on the model's lane.
  let news: Observable<Value>

  private struct Shown {
    var value: Value
    var stamp: UInt64 = 0
    var attachment: (model: SharedModel, name: String)?
    var problem: FieldProblem?
    /// When a refusal was noted as the problem; values up to here do not clear it.
    var refusedAt: UInt64 = 0
    /// Made when somebody wants to observe the status.
    var board: StatusBoard<FieldStatus>?
  }
  private let shown: Protected<Shown>

  init(
    declared: Value, name: String?, codec: FieldCodec<Value>, description: FieldDescription,
    policy: ConflictPolicy<Value>
  ) {
    self.policy = policy
    self.declared = declared
    declaredName = name
    self.codec = codec
    var described = description
    if case .set(nil) = policy.way {} else { described.policy = policy.name }
    self.description = described
    news = Observable(declared)
    shown = Protected(Shown(value: declared))
  }

  var encodedDefault: FieldValue? { try? codec.encode(declared) }

  /// The model that this field belongs to, and its name there; nil until it is shared.
  var attachment: (model: SharedModel, name: String)? { shown.withLock { $0.attachment } }

  var sharedModel: SharedModel? { attachment?.model }

  /// Why the last thing that was assigned or received is not what shows; nil when all is well.
  var problem: FieldProblem? { shown.withLock { $0.problem } }

  var value: Value {
    if let draft = ChangeDraft.current, let drafted = draft.value(of: self) { return drafted as? Value ?? declared }
    return shownValue
  }

  /// What shows outside of any draft.
  var shownValue: Value { shown.withLock { $0.value } }

  /// A plain assignment: laid over at once, sent when it can be.
  func assign(_ value: Value) {
    if let draft = ChangeDraft.current, draft.holds(self) {
      draft.record(value, for: self)
      return
    }
    let (attachment, isNews) = shown.withLock { ($0.attachment, $0.value != value || $0.problem != nil) }
    guard isNews else { return }
    guard let attachment else {
      if let objection = objection(to: value) {
        note(objection)
      } else {
        shown.withLock { $0.value = value }
        note(nil)
        news.value = value
      }
      return
    }
    do {
      let assignment = try assignment(of: value, name: attachment.name)
      let proposal = Proposal(operations: [assignment.operation])
      _ = try attachment.model.write(proposal, policies: assignment.policies) { [self] in
        accept(assignment, $0)
      }
    } catch {
      note(.rejected("\(error)", standing: attachment.model.record(attachment.name)?.committed))
    }
  }

  /// Notes what became of an assignment that nobody else hears of, and has it told.
  private func note(_ problem: FieldProblem?) {
    let (board, model) = shown.withLock {
      $0.problem = problem
      return ($0.board, $0.attachment?.model)
    }
    guard let board, board.isWatched else { return }
    guard let model else { return board.tell() }
    model.noteStatusDue()
    model.scheduleDelivery()
  }

  /// Where the status is told.
  var statusBoard: StatusBoard<FieldStatus> {
    if let present = shown.withLock({ $0.board }) { return present }
    let fresh = StatusBoard<FieldStatus>(
      present: { [weak self] in self?.status ?? .local }, begin: { [weak self] in self?.sharedModel?.watch($0) })
    return shown.withLock { shown in
      let board = shown.board ?? fresh
      shown.board = board
      return board
    }
  }

  /// The operation that writes `value`, checked against the declaration.
  func operation(_ verb: Verb, _ value: Value, name: String) throws(FieldError) -> FieldOperation {
    let encoded = try codec.encode(value)
    if let objection = objection(to: encoded, name: name) { throw objection }
    return FieldOperation(verb, name, encoded)
  }

  func attach(to model: SharedModel, as name: String) -> Bool {
    let (isFirst, board) = shown.withLock { shown -> (Bool, StatusBoard<FieldStatus>?) in
      guard shown.attachment == nil else { return (false, nil) }
      shown.attachment = (model, name)
      return (true, shown.board)
    }
    if let board, board.isWatched {
      model.watch(board)
      model.noteStatusDue()
      model.scheduleDelivery()
    }
    return isFirst
  }

  func accept(_ value: FieldValue?, stamp: UInt64) {
    guard let value else { return accept(typed: declared, stamp: stamp) }
    // Decoding may run a user's own code, so it happens outside the lock; the stamp keeps the order.
    guard let decoded = codec.decode(value) else {
      shown.withLock {
        guard stamp > $0.stamp else { return }
        $0.stamp = stamp
        $0.problem = .mismatch(declared: description.type, found: value.description)
      }
      return
    }
    accept(typed: decoded, stamp: stamp)
  }

  /// Shows an assignment that was just laid over.
  func accept(_ assignment: Assignment<Value>, _ shown: LaidOver) {
    let merged = shown.merged[assignment.operation.field].flatMap(codec.decode)
    accept(typed: merged ?? assignment.shows, stamp: shown.stamp)
  }

  /// `accept` for a value that is decoded already: a local write.
  func accept(typed value: Value, stamp: UInt64) {
    shown.withLock {
      guard stamp > $0.stamp else { return }
      $0.stamp = stamp
      $0.value = value
      if stamp > $0.refusedAt { $0.problem = nil }
    }
  }

  func publish() {
    news.value = shown.withLock { $0.value }
  }

  func reject(_ reason: String, standing: FieldValue?, stamp: UInt64) {
    shown.withLock {
      // What was assigned since shows for itself.
      guard stamp > $0.stamp else { return }
      $0.problem = .rejected(reason, standing: standing)
      $0.refusedAt = stamp
    }
  }

  private func objection(to value: Value) -> FieldProblem? {
    do {
      let name = declaredName ?? "this field"
      return objection(to: try codec.encode(value), name: name).map { rejected($0.description) }
    } catch {
      return rejected(error.description)
    }
  }

  private func rejected(_ reason: String) -> FieldProblem {
    .rejected(reason, standing: try? codec.encode(shownValue))
  }

  private func objection(to value: FieldValue, name: String) -> FieldError? {
    guard let json = value.jsonIfValid else { return .notEncodable(field: name, problem: "it is no JSON text") }
    return description.allowed(insteadOf: json).map { .outOfRange(field: name, value: json.description, allowed: $0) }
  }
}
