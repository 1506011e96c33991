import BindingProtocol
import Logging

extension Peer {
  /// Once the hub's values are known, merges the declaration into the model's description, and writes the defaults of
  /// fields that never had a value. Reports what differs for good.
  /// - Returns: a task that ends when the declaration is proposed: what the program writes from then on is decided
  ///   after it.
  @discardableResult
  func describe(_ model: SharedModel, as declaration: Declaration) -> Task<Void, Never> {
    model.declared.withLock { $0 = declaration.text }
    let id = model.id
    let proposing = Task.detached { [weak model, runtime] () -> (SharedModel, Declaration.Proposed?)? in
      // Without a hub nothing is proposed: the declared defaults show anyway.
      _ = await runtime.wait {
        $0.session.isCurrent(id) || $0.session.phase.isStopped || $0.models.index(of: id) == nil
      }
      guard let model, model.isCurrent else { return nil }
      return (model, declaration.propose(to: model))
    }
    Task.detached {
      guard let (model, proposed) = await proposing.value else { return }
      await declaration.finish(proposed, model)
    }
    return Task { _ = await proposing.value }
  }
}

extension Declaration {
  /// A proposed declaration.
  fileprivate struct Proposed: Sendable {
    let write: PendingWrite
    /// The proposal without the defaults, where it has some.
    let alone: FieldOperation?
  }

  /// Proposes the declaration to a hub that merges it, if it would change anything.
  fileprivate func propose(to model: SharedModel) -> Proposed? {
    guard mayMerge(model), model.mayWrite(Names.description) else { return nil }
    let present = present(in: model)
    guard let merge = DescriptionMerge(of: text, into: present), merge.isChange else { return nil }
    var fitting = self
    let limit = model.runtime.state.withLock { $0.session.limits.maxDescriptionBytes }
    if let words = fitting.shorten(toFit: limit, over: present) {
      model.runtime.log.warning(
        "\(model.id): the description would exceed \(limit) bytes (maxDescriptionBytes); \(words)",
        metadata: ["model": "\(model.id)"])
    }
    guard let merge = DescriptionMerge(of: fitting.text, into: present), merge.isChange else { return nil }
    let describe = FieldOperation(.describe, Names.description, fitting.text)
    // One proposal for a model that is new; a long description goes alone.
    let isShort = fitting.text.bytes.count <= Declaration.longest
    let weak = isShort ? missing(in: model, under: merge.merged).filter { forms[$0.field] == nil } : []
    guard let write = try? model.write(Proposal(operations: [describe] + weak)) else { return nil }
    return Proposed(write: write, alone: weak.isEmpty ? nil : describe)
  }

  fileprivate func finish(_ proposed: Proposed?, _ model: SharedModel) async {
    if let proposed {
      await conclude(proposed, model)
    } else if !mayMerge(model), present(in: model) == nil, model.mayWrite(Names.description) {
      await describeFirst(model)
    }
    writeDefaults(to: model)
    for (name, elements) in lists { propose(elements, of: name, to: model) }
    reportDifferences(in: model)
    DeclaredLimits(described).warnIfIgnored(by: model)
  }

  private func conclude(_ proposed: Proposed, _ model: SharedModel) async {
    switch await proposed.write.outcome {
    case .committed(_, let version):
      let id = model.id
      _ = await model.runtime.wait(timeout: .seconds(5)) { state in
        state.session.fieldRecord(id, Names.description).map { $0.version >= version } ?? false
          || state.session.phase.isStopped
      }
    case .refused(let refusal) where refusal.code == .doesNotFit && proposed.alone != nil:
      // Another program has described a field otherwise meanwhile; the defaults that fit are written after this.
      guard let alone = proposed.alone, let write = try? model.write(Proposal(operations: [alone])) else { return }
      report(await write.outcome, of: model)
    case let outcome: report(outcome, of: model)
    }
  }

  /// Whether the hub merges what programs declare.
  private func mayMerge(_ model: SharedModel) -> Bool {
    model.runtime.state.withLock { $0.session.welcome?.capabilities.contains(Capability.describe) ?? false }
  }

  /// A longer description is proposed without the defaults, so that the proposal is not too large.
  private static let longest = 65_536

  private func report(_ outcome: Outcome, of model: SharedModel) {
    guard case .refused(let refusal) = outcome else { return }
    model.runtime.log.warning(
      "\(model.id) is not described as this program declares it: \(PrintedText.escaped(refusal.description))",
      metadata: ["model": "\(model.id)"])
  }

  /// Describes a model without a description, for a hub that does not merge.
  private func describeFirst(_ model: SharedModel) async {
    let version = model.version
    if version.version == 0 {
      // One weak write, which yields to what others write first.
      let weak =
        [FieldOperation(.setIfAbsent, Names.description, text)] + missing(in: model).filter { forms[$0.field] == nil }
      _ = await (try? model.write(Proposal(operations: weak)))?.outcome
    } else {
      // The description may have been deleted, and a weak write yields to a deletion. So it is set, on condition
      // that no other peer writes it meanwhile.
      let condition = Condition(field: Names.description, epoch: version.epoch, version: version.version)
      let set = FieldOperation(.set, Names.description, text)
      _ = await (try? model.write(Proposal(operations: [set], conditions: [condition])))?.outcome
    }
    // The commit may be on its way.
    let id = model.id
    _ = await model.runtime.wait(timeout: .seconds(5)) {
      $0.session.fieldRecord(id, Names.description)?.committed != nil || $0.session.phase.isStopped
    }
  }

  /// Inserts the default of a list that was never written. It is on condition of that, so it yields to another's.
  private func propose(_ elements: [FieldOperation], of list: String, to model: SharedModel) {
    let inForce = present(in: model)?.jsonIfValid.map(ModelDescription.init)
    let isWritten = model.record(list)?.committed != nil || model[list] != nil
    guard model.mayWrite(list), !isWritten, inForce?.fields[list]?.policy == FieldRule.listPolicy else { return }
    let condition = Condition(field: list, epoch: model.version.epoch, version: 0)
    _ = try? model.write(
      Proposal(operations: elements, conditions: [condition]), isWeak: true, whenOverlaid: { _ in })
  }

  /// The description that the hub has.
  private func present(in model: SharedModel) -> FieldValue? { model.record(Names.description)?.committed }

  /// The defaults to write, where this peer may write. One that the description does not allow only shows here: the hub
  /// would refuse the whole proposal for it, and an empty text may well mean that nothing was chosen yet.
  private func missing(in model: SharedModel, under description: FieldValue? = nil) -> [FieldOperation] {
    let inForce = (description ?? present(in: model))?.jsonIfValid.map(ModelDescription.init) ?? described
    return defaults.filter {
      model.mayWrite($0.field) && model.record($0.field)?.committed == nil && inForce.admits($0.value, for: $0.field)
        && !isMapped($0.field, under: inForce)
    }
  }

  /// Whether the description still has the type of an earlier release, whose default counts.
  private func isMapped(_ field: String, under description: ModelDescription) -> Bool {
    guard let form = forms[field], let described = description.fields[field] else { return false }
    return form.isMapped(from: described.form)
  }

  /// Writes the defaults of fields without a value. Those whose type was changed are decided only under a description
  /// that has their new type.
  private func writeDefaults(to model: SharedModel) {
    let missing = missing(in: model)
    let plain = missing.filter { forms[$0.field] == nil }
    if !plain.isEmpty { _ = try? model.write(Proposal(operations: plain)) }
    for value in missing {
      guard let form = forms[value.field] else { continue }
      let condition = FormCondition(field: value.field, form: form, isMapped: false)
      let proposal = Proposal(operations: [value], metadata: [condition.metadata])
      _ = try? model.write(proposal, isWeak: true, whenOverlaid: { _ in })
    }
  }

  /// Reports where the description differs for good: in the log, and to the hub, which can inform others. The report
  /// is a weak write, which yields to the existing description.
  private func reportDifferences(in model: SharedModel) {
    guard let present = present(in: model) else { return }
    let differences = DescriptionMerge.differences(of: text, from: present)
    guard !differences.isEmpty else { return }
    model.runtime.log.warning(
      """
      \(model.id): \(differences.words). What one of the two allows, the other may refuse; the description stays until \
      somebody replaces it
      """, metadata: ["model": "\(model.id)"])
    let limit = model.runtime.state.withLock { $0.session.limits.maxDescriptionBytes }
    guard text.bytes.count <= limit else { return }
    _ = try? model.write(Proposal(operations: [FieldOperation(.setIfAbsent, Names.description, text)]))
  }
}
