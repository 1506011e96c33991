import BindingProtocol
import Logging

extension Peer {
  /// Once the hub's values are known, describes the model as its fields are declared, unless it has a description,
  /// and writes the defaults of fields that never had a value. Reports a description that differs.
  func describe(_ model: SharedModel, as fields: [(name: String, cell: any AnyFieldCell)]) {
    let declaration = Declaration(fields)
    model.declared.withLock { $0 = declaration.description }
    let id = model.id
    Task.detached { [weak model, runtime] in
      // Without a hub nothing is proposed: the declared defaults show anyway.
      _ = await runtime.wait {
        $0.session.isCurrent(id) || $0.session.phase.isStopped || $0.models.index(of: id) == nil
      }
      guard let model, model.isCurrent else { return }
      await declaration.propose(to: model)
    }
  }
}

/// A program's declaration of a model's fields.
private struct Declaration: Sendable {
  let description: FieldValue
  private let fields: ModelDescription
  private let defaults: [FieldOperation]
  private let lists: [(name: String, elements: [FieldOperation])]

  init(_ cells: [(name: String, cell: any AnyFieldCell)]) {
    var described = ModelDescription()
    var defaults: [FieldOperation] = []
    for (name, cell) in cells {
      described.fields[name] = cell.description
      if let value = cell.encodedDefault, !cell.description.isEphemeral {
        defaults.append(FieldOperation(.setIfAbsent, name, value))
      }
    }
    lists = cells.map { ($0.name, $0.cell.defaultElements(in: $0.name)) }.filter { !$0.1.isEmpty }
    fields = described
    description = FieldValue(json: described.json)
    self.defaults = defaults
  }

  func propose(to model: SharedModel) async {
    if present(in: model) == nil, model.mayWrite(Names.description) {
      let version = model.version
      if version.version == 0 {
        // One weak write, which yields to what others write first.
        let weak = [FieldOperation(.setIfAbsent, Names.description, description)] + missing(in: model)
        _ = await (try? model.write(Proposal(operations: weak)))?.outcome
      } else {
        // The description may have been deleted, and a weak write yields to a deletion. So it is set, on condition
        // that no other peer writes it meanwhile.
        let condition = Condition(field: Names.description, epoch: version.epoch, version: version.version)
        let set = FieldOperation(.set, Names.description, description)
        _ = await (try? model.write(Proposal(operations: [set], conditions: [condition])))?.outcome
      }
      // The commit may be on its way.
      let id = model.id
      _ = await model.runtime.wait(timeout: .seconds(5)) {
        $0.session.fieldRecord(id, Names.description)?.committed != nil || $0.session.phase.isStopped
      }
    }
    let missing = missing(in: model)
    if !missing.isEmpty { _ = try? model.write(Proposal(operations: missing)) }
    for (name, elements) in lists { propose(elements, of: name, to: model) }
    reportDifferences(in: model)
  }

  /// Inserts the default of a list that was never written. It is on condition of that, so it yields to another's.
  private func propose(_ elements: [FieldOperation], of list: String, to model: SharedModel) {
    let inForce = present(in: model)?.jsonIfValid.map(ModelDescription.init)
    let isWritten = model.record(list)?.committed != nil || model[list] != nil
    guard model.mayWrite(list), !isWritten, inForce?.fields[list]?.policy == "list" else { return }
    let condition = Condition(field: list, epoch: model.version.epoch, version: 0)
    _ = try? model.write(
      Proposal(operations: elements, conditions: [condition]), isWeak: true, whenOverlaid: { _ in })
  }

  /// The description that the hub has.
  private func present(in model: SharedModel) -> FieldValue? { model.record(Names.description)?.committed }

  /// The defaults to write, where this peer may write. One that the description does not allow only shows here: the hub
  /// would refuse the whole proposal for it, and an empty text may well mean that nothing was chosen yet.
  private func missing(in model: SharedModel) -> [FieldOperation] {
    let inForce = present(in: model)?.jsonIfValid.map(ModelDescription.init) ?? fields
    return defaults.filter {
      model.mayWrite($0.field) && model.record($0.field)?.committed == nil && inForce.admits($0.value, for: $0.field)
    }
  }

  /// Reports where the description differs: in the log, and to the hub, which can inform others. The report is a weak
  /// write, which yields to the existing description.
  private func reportDifferences(in model: SharedModel) {
    guard let present = present(in: model), let differences = differences(from: present), !differences.isEmpty else {
      return
    }
    model.runtime.log.warning(
      """
      \(model.id): \(differences.words). What one of the two allows, the other may refuse; the description stays until \
      somebody replaces it
      """, metadata: ["model": "\(model.id)"])
    _ = try? model.write(Proposal(operations: [FieldOperation(.setIfAbsent, Names.description, description)]))
  }

  private func differences(from other: FieldValue) -> [RuleDifference]? {
    func rules(_ value: FieldValue) -> ModelRules? {
      value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0) }
    }
    guard let mine = rules(description), let theirs = rules(other) else { return nil }
    return mine.differences(from: theirs)
  }
}
