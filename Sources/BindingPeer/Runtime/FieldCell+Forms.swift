import BindingProtocol

/// How the stored values of a field are read and written here.
enum FieldReading: Sendable {
  /// As the program declares the field.
  case declared
  /// In the type of an earlier release, by the declared mapping: the description still has that type.
  case former
  /// Not at all: a later release has mapped the values to another type.
  case replaced
}

/// Fields whose type is another one than in an earlier or a later release (`Field.StoredForm`).
extension FieldCell {
  /// The form that is declared, and the one that it was mapped from.
  private var form: DescribedForm { description.form }

  /// How values are read while the description gives the field this form; nil: it does not describe the field.
  func reading(of described: DescribedForm?) -> FieldReading {
    guard let described, stored != nil || described.former != nil else { return .declared }
    return form.isMapped(from: described) ? .former : form.isReplaced(by: described) ? .replaced : .declared
  }

  func decode(_ value: FieldValue, _ reading: FieldReading) -> Value? {
    switch reading {
    case .declared: codec.decode(value)
    case .former: try? stored?.read(value)
    case .replaced: nil
    }
  }

  /// Decodes values that have the form of a description, without keeping the cell.
  var decoder: @Sendable (_ value: FieldValue, _ described: DescribedForm?) -> Value? {
    guard let former = stored else {
      let (codec, form) = (codec, form)
      return { value, described in
        if let described, described.former != nil, form.isReplaced(by: described) { return nil }
        return codec.decode(value)
      }
    }
    let (codec, form) = (codec, form)
    return { value, described in
      guard let described, form.isMapped(from: described) else { return codec.decode(value) }
      return try? former.read(value)
    }
  }

  /// What the program has seen, as it is stored: the base of a comparison or a merge.
  func base(_ reading: FieldReading, _ raw: FieldValue?) throws(FieldError) -> FieldValue? {
    reading == .former ? raw : try codec.encode(shownValue)
  }

  /// A value as it is stored, checked against the declaration, and where it is mapped, against the description.
  func encoded(_ value: Value, name: String, _ reading: FieldReading) throws(FieldError) -> FieldValue {
    let declared = try codec.encode(value)
    if let violation = violation(by: declared, name: name) { throw violation }
    guard let model = attachment?.model, reading != .declared else { return declared }
    guard let stored, reading == .former else {
      throw .doesNotFit(
        field: address(of: name),
        problem: "a later release has stored the field as \(model.storedForm(of: name)?.words ?? "another type"); "
          + "this program's \(form.present.words) would mean something else")
    }
    let mapped: FieldValue
    do throws(FieldError) {
      mapped = try stored.write(value)
    } catch {
      throw .doesNotFit(field: address(of: name), problem: "\(declared.shortText) \(error.problem)")
    }
    if let problem = mapped.isValid ? model.storedProblem(with: mapped, for: name) : "it is not JSON" {
      throw .doesNotFit(
        field: address(of: name), problem: "\(declared.shortText) is stored as \(stored.form.words), and \(problem)")
    }
    return mapped
  }

  /// A stored value of the former form as one of the declared form.
  /// - Throws: `FieldError` whose problem is to be put after the field's name.
  func mapped(_ value: FieldValue) throws(FieldError) -> FieldValue {
    guard let stored else { return value }
    do throws(FieldError) {
      return try codec.encode(try stored.read(value))
    } catch {
      throw .doesNotFit(field: "", problem: "\(value.shortText) \(error.problem)")
    }
  }

  /// Whether a write of a value that is mapped would only write what the mapping lost, or nothing at all.
  func isStored(_ value: Value, as mapped: FieldValue, _ present: (reading: FieldReading, raw: FieldValue?)) -> Bool {
    guard present.reading == .former, let raw = present.raw else { return false }
    return mapped.isSame(as: raw) || decode(raw, .former) == value
  }

  /// What tells the session for which form a proposal's value was made; empty if the field has one form.
  func condition(_ name: String, _ reading: FieldReading) -> [MetadataEntry] {
    guard stored != nil else { return [] }
    return [FormCondition(field: name, form: form, isMapped: reading == .former).metadata]
  }

  /// Shows an assignment that was just overlaid.
  func accept(_ value: Value, of assignment: Assignment, _ shown: OverlaidFields) {
    let (field, written) = (assignment.operation.field, assignment.operation.value)
    if shown.merged.isEmpty {
      accept(typed: value, stamp: shown.stamp, raw: written)
    } else {
      accept(typed: merged(of: field, shown) ?? value, stamp: shown.stamp, raw: shown.merged[field] ?? written)
    }
  }

  /// A function of its own, since an optional of a type that is not known takes a look-up.
  private func merged(of field: String, _ shown: OverlaidFields) -> Value? {
    shown.merged[field].flatMap { decode($0, reading(of: shown.forms[field])) }
  }

  /// Takes over a change of the form that the model's lane has not delivered yet, so that the next write has it.
  func catchUp(in model: SharedModel, _ name: String) {
    guard stored != nil else { return }
    let shown = model.present([name])
    guard reading(of: shown.forms[name]) != present.reading else { return }
    accept(
      FieldUpdate(
        value: shown.merged[name], stamp: shown.stamp, isOurs: shown.ours.contains(name), form: shown.forms[name]))
  }

  /// Whether the form has changed since a value was made.
  func isReadOtherwise(than reading: FieldReading, in model: SharedModel, _ name: String) -> Bool {
    catchUp(in: model, name)
    return present.reading != reading
  }

  /// Why the field cannot be shared as it is declared, phrased to follow its name; nil if it can.
  var misdeclaration: String? {
    if let list, let problem = list.misdeclaration { return problem }
    guard let stored else { return nil }
    switch policy.strategy {
    case .set(nil), .set(.compareAndSet), .merge: break
    default:
      return "has a former type and the policy \(policy.name), which computes with stored values; use lastWrite, "
        + "compareAndSet or merge"
    }
    guard stored.form.meansSame(as: form.present) else { return nil }
    return "is stored as \(stored.form.words) in both releases; give each a unit of its own, or change the type"
  }
}

extension FieldValue {
  fileprivate var shortText: String { jsonIfValid?.short ?? PrintedText.escaped(description, limit: 40) }
}

extension SharedModel {
  /// The form that the description gives a field; nil: it does not describe it.
  func storedForm(of field: String) -> FieldForm? { described(field)?.form.present }

  /// Why the description does not allow a value, in the hub's words; nil if it does.
  func storedProblem(with value: FieldValue, for field: String) -> String? {
    described(field)?.rule.flatMap { rule in value.bytes.withUnsafeBytes { rule.words(against: $0) } }
  }
}
