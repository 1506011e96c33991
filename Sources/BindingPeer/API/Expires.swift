import BindingProtocol
import Logging

/// The time limits that a program declares for the fields of a model.
struct DeclaredLimits {
  private let limits: [String: FieldExpiry]

  init(of fields: [(name: String, cell: any AnyFieldCell)]) {
    var limits: [String: FieldExpiry] = [:]
    for (name, cell) in fields { limits[name] = cell.rule.expiry }
    self.limits = limits
  }

  init(_ description: ModelDescription) { limits = description.fields.compactMapValues(\.rule.expiry) }

  /// Tells the session, for which they hold before a hub has described the model.
  func declare(to model: SharedModel) {
    guard !limits.isEmpty else { return }
    let (id, limits) = (model.id, limits)
    model.runtime.perform { state, now in state.session.declare(limits, in: id, now: now, into: &state.effects) }
  }

  /// Warns that the hub does not carry them out, if it does not.
  func warnIfIgnored(by model: SharedModel) {
    let runtime = model.runtime
    guard !limits.isEmpty, runtime.state.withLock({ $0.session.hubExpires }) == false else { return }
    let names = limits.keys.sorted().joined(separator: ", ")
    runtime.log.warning(
      """
      \(model.id): this hub is of an earlier version and sets nothing back: \(names) may keep a value that nobody renews
      """, metadata: ["model": "\(model.id)"])
  }
}

extension SharedField {
  /// Says that the value which shows still holds: the term of a field that expires begins again. It costs no commit;
  /// its outcome is `unchanged`.
  ///
  /// It never overwrites: if the value was set by somebody else meanwhile, or has expired, the write ends as a
  /// conflict. While a write of this peer is pending, that value is sent again.
  /// - Throws: `WriteError` if it cannot be sent, `FieldError` if the field is not shared.
  @discardableResult
  public func renew() throws -> PendingWrite {
    let (model, name) = try cell.attached()
    return try model.renew(name, otherwise: try cell.encoded(cell.shownValue, name: name, cell.present.reading))
  }
}

extension SharedModel {
  /// Renews a field that expires, as `SharedField.renew` does.
  /// - Parameter value: what is written if nothing is committed yet.
  /// - Throws: `WriteError` if it cannot be sent.
  @discardableResult
  package func renew(_ field: String, otherwise value: FieldValue) throws(WriteError) -> PendingWrite {
    let known = record(field)
    var proposal = Proposal(operations: [FieldOperation(.set, field, known?.shown ?? value)])
    if let known, let committed = known.committed, !known.isPending {
      proposal.operations[0].value = committed
      proposal.conditions = [Condition(field: field, epoch: known.epoch, version: known.version)]
    }
    return try write(proposal)
  }
}
