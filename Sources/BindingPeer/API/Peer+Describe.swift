import BindingProtocol
import Logging

extension Peer {
  /// Describes the model as its fields are declared, unless it is described, and gives it their defaults where there
  /// never was a value: once the hub's values are known. Where it is described otherwise, says so.
  func describe(_ model: SharedModel, as fields: [(name: String, cell: any AnyFieldCell)]) {
    let declaration = Declaration(fields)
    let id = model.id
    Task.detached { [weak model, runtime] in
      // Without a hub nothing is proposed: the declared defaults show by themselves.
      _ = await runtime.wait {
        $0.session.isCurrent(id) || $0.session.phase.isStopped || $0.models.index(of: id) == nil
      }
      guard let model, model.isCurrent else { return }
      await declaration.propose(to: model)
    }
  }
}

/// What a program declares of a model's fields.
private struct Declaration: Sendable {
  private let description: FieldValue
  private let fields: ModelDescription
  private let defaults: [FieldOperation]

  init(_ cells: [(name: String, cell: any AnyFieldCell)]) {
    var described = ModelDescription()
    var defaults: [FieldOperation] = []
    for (name, cell) in cells {
      described.fields[name] = cell.description
      if let value = cell.encodedDefault, !cell.description.isEphemeral {
        defaults.append(FieldOperation(.setIfAbsent, name, value))
      }
    }
    fields = described
    description = FieldValue(json: described.json)
    self.defaults = defaults
  }

  func propose(to model: SharedModel) async {
    if present(in: model) == nil {
      let version = model.version
      if version.version == 0 {
        // As one weak write, which yields to what others are quicker with.
        let weak = [FieldOperation(.setIfAbsent, Names.description, description)] + missing(in: model)
        _ = await (try? model.write(Proposal(operations: weak)))?.outcome
      } else {
        // It may have been described before and deleted since: a weak write would yield to that. So it is set, unless
        // somebody else writes it meanwhile.
        let condition = Condition(field: Names.description, epoch: version.epoch, version: version.version)
        let set = FieldOperation(.set, Names.description, description)
        _ = await (try? model.write(Proposal(operations: [set], conditions: [condition])))?.outcome
      }
      // What was decided may be on its way.
      let id = model.id
      _ = await model.runtime.wait(timeout: .seconds(5)) {
        $0.session.fieldRecord(id, Names.description)?.committed != nil || $0.session.phase.isStopped
      }
    }
    let missing = missing(in: model)
    if !missing.isEmpty { _ = try? model.write(Proposal(operations: missing)) }
    reportDifferences(in: model)
  }

  /// The description as the hub has it.
  private func present(in model: SharedModel) -> FieldValue? { model.record(Names.description)?.committed }

  /// The hub refuses all of a proposal for one value that does not fit, and an empty text may well stand for nothing
  /// chosen yet: such a default only shows here.
  private func missing(in model: SharedModel) -> [FieldOperation] {
    let inForce = present(in: model)?.jsonIfValid.map(ModelDescription.init) ?? fields
    return defaults.filter {
      model.record($0.field)?.committed == nil && inForce.admits($0.value, for: $0.field)
    }
  }

  /// Says where the description differs: here, and to the hub, which then can tell others. A weak write does that: it
  /// yields to the description that is there.
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
