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

  /// The proposal that replaces the description, on condition that it is still the present one.
  package func replacement(of text: FieldValue) -> Proposal {
    let (present, epoch) = (record(Names.description), version.epoch)
    let condition = Condition(
      field: Names.description, epoch: present?.epoch ?? epoch, version: present?.version ?? 0)
    return Proposal(operations: [FieldOperation(.set, Names.description, text)], conditions: [condition])
  }

  /// The committed values that a description does not allow, sorted by field.
  public func misfits(under text: FieldValue) -> [MisfitsError.Misfit] {
    guard let described = DescribedModel(text) else { return [] }
    return values.keys.sorted().compactMap { field in
      guard !field.hasPrefix("@"), let rule = described.field(field)?.rule, let value = record(field)?.committed else {
        return nil
      }
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

extension Model {
  /// Replaces the model's description by this program's declaration: it may narrow, and leaves out fields that the
  /// program does not declare. Sharing a model never does that.
  ///
  /// The next program that shares the model with a wider declaration widens it again.
  /// - Parameter keepingMisfits: whether to replace it although present values do not fit. They stay until they are
  ///   written again.
  /// - Returns: the write. It ends as a conflict if the description has changed meanwhile.
  /// - Throws: `SharedModel.MisfitsError` with the values that do not fit, `FieldError` if the model is not shared, or
  ///   `WriteError`.
  @discardableResult
  public func replaceDescription(keepingMisfits: Bool = false) throws -> PendingWrite {
    guard let shared else { throw FieldError.notShared(field: "\(Self.self)") }
    let declaration = Declaration(fieldCells, release: Self.release, aliases: fieldAliases)
    return try shared.replaceDescription(with: declaration.text, keepingMisfits: keepingMisfits)
  }
}
