public import BindingProtocol

extension SharedModel {
  /// Why a description is not replaced: present values do not fit the new one.
  public struct MisfitsError: Error, Sendable, CustomStringConvertible {
    /// A present value that the new description does not allow.
    public struct Misfit: Sendable, Equatable {
      /// `model.field`.
      public let address: String
      /// The committed value.
      public let value: FieldValue
      /// Why it does not fit, in the hub's words: `7 is not in 0...1`.
      public let problem: String
    }
    /// The values, sorted by field.
    public let values: [Misfit]

    public var description: String {
      "\(values.count) present \(values.count == 1 ? "value does" : "values do") not fit:\n"
        + values.map { "  \($0.address): \($0.problem)" }.joined(separator: "\n")
    }
  }

  /// Replaces the model's description, on condition that it is still the one that this peer sees. In contrast to
  /// sharing a model, which only adds and widens, this may narrow it and leave fields out. No value changes.
  /// - Parameters:
  ///   - text: the new description, as in the protocol's section 8. It is stored byte for byte.
  ///   - keepingMisfits: whether to replace it although present values do not fit. They stay until they are written
  ///     again.
  /// - Returns: the write. It ends as a conflict if the description has changed meanwhile.
  /// - Throws: `MisfitsError`, or `WriteError`.
  @discardableResult
  public func replaceDescription(with text: FieldValue, keepingMisfits: Bool = false) throws -> PendingWrite {
    let misfits = misfits(under: text)
    guard keepingMisfits || misfits.isEmpty else { throw MisfitsError(values: misfits) }
    return try write(replacement(of: text))
  }

  /// Replaces the description, and maps the values of these fields whose description has the type of an earlier
  /// release: in one commit, on condition that neither the description nor one of them has changed.
  fileprivate func replaceDescription(
    with text: FieldValue, mapping cells: [(name: String, cell: any AnyFieldCell)], keepingMisfits: Bool
  ) throws -> PendingWrite {
    let mapped = cells.filter { name, cell in cell.reading(of: described(name)?.form) == .former }
    var proposal = replacement(of: text)
    var misfits = misfits(under: text, besides: Swift.Set(mapped.map(\.name)))
    let description = DescribedModel(text)
    for (name, cell) in mapped {
      let known = record(name)
      // One without a value must not get one of the former type meanwhile.
      proposal.conditions.append(
        Condition(field: name, epoch: known?.epoch ?? version.epoch, version: known?.version ?? 0))
      guard let value = known?.committed else { continue }
      do throws(FieldError) {
        let new = try cell.mapped(value)
        if let problem = description?.problem(with: new, for: name) {
          throw .doesNotFit(field: name, problem: "\(PrintedText.escaped(value.description, limit: 40)): \(problem)")
        }
        proposal.operations.append(FieldOperation(.set, name, new))
      } catch {
        misfits.append(MisfitsError.Misfit(address: "\(id).\(name)", value: value, problem: error.problem))
      }
    }
    guard keepingMisfits || misfits.isEmpty else {
      throw MisfitsError(values: misfits.sorted { $0.address < $1.address })
    }
    let names = cells.map(\.name)
    // What the program writes next is written in the new type, also if the lane delivers later.
    return try write(proposal, recording: .notUndoable) { [self] _ in observers.accept(present(names), of: names) }
  }

  /// The proposal that replaces the description, on condition that it is still the present one.
  package func replacement(of text: FieldValue) -> Proposal {
    let (present, epoch) = (record(Names.description), version.epoch)
    let condition = Condition(
      field: Names.description, epoch: present?.epoch ?? epoch, version: present?.version ?? 0)
    return Proposal(operations: [FieldOperation(.set, Names.description, text)], conditions: [condition])
  }

  /// The committed values that a description does not allow, sorted by field.
  public func misfits(under text: FieldValue) -> [MisfitsError.Misfit] { misfits(under: text, besides: []) }

  private func misfits(under text: FieldValue, besides mapped: Swift.Set<String>) -> [MisfitsError.Misfit] {
    guard let described = DescribedModel(text) else { return [] }
    return values.keys.sorted().compactMap { field in
      guard !field.hasPrefix("@"), !mapped.contains(field), let rule = described.field(field)?.rule,
        let value = record(field)?.committed
      else { return nil }
      let problem =
        rule.isEphemeral
        ? "the field becomes ephemeral, and has a stored value"
        : value.bytes.withUnsafeBytes { rule.words(against: $0) }
      return problem.map {
        MisfitsError.Misfit(address: "\(id).\(field)", value: value, problem: $0)
      }
    }
  }
}

extension DescribedModel {
  fileprivate func problem(with value: FieldValue, for name: String) -> String? {
    field(name)?.rule.flatMap { rule in value.bytes.withUnsafeBytes { rule.words(against: $0) } }
  }
}

extension Model {
  /// Replaces the model's description by this program's declaration: it may narrow, and leaves out fields that the
  /// program does not declare. Sharing a model never does that.
  ///
  /// Fields with another type than in an earlier release (`Field.StoredForm`) are stored in the new type from then on:
  /// their values are mapped and written in the same commit, or none is. Programs of the earlier release no longer
  /// show or write them.
  ///
  /// The next program that shares the model with a wider declaration widens it again.
  /// - Parameter keepingMisfits: whether to replace it although present values do not fit, or cannot be mapped. They
  ///   stay until they are written again.
  /// - Returns: the write. It ends as a conflict if the description, or a value to be mapped, has changed meanwhile.
  /// - Throws: `SharedModel.MisfitsError` with the values that do not fit, `FieldError` if the model is not shared, or
  ///   `WriteError`.
  @discardableResult
  public func replaceDescription(keepingMisfits: Bool = false) throws -> PendingWrite {
    guard let shared else { throw FieldError.notShared(field: "\(Self.self)") }
    let declaration = Declaration(fieldCells, release: Self.release, aliases: fieldAliases)
    return try shared.replaceDescription(
      with: declaration.text, mapping: fieldCells.filter { !$0.cell.description.isEphemeral },
      keepingMisfits: keepingMisfits)
  }
}
