/// What the values of a field mean: their type and unit (protocol.md §8).
package struct FieldForm: Sendable, Hashable {
  /// The JSON type of the values.
  package let type: FieldType
  /// The unit of the numbers; nil: none is named.
  package let unit: String?

  /// Makes a form.
  package init(type: FieldType, unit: String? = nil) {
    self.type = type
    self.unit = unit
  }

  /// Reads a form: an object with `type` and `unit`. nil for anything else.
  package init?(_ json: JSON) {
    guard case .object = json else { return nil }
    switch json["type"] {
    case nil: type = .any
    case .string(let name)?:
      guard let named = FieldType(rawValue: name) else { return nil }
      type = named
    default: return nil
    }
    switch json["unit"] {
    case nil: unit = nil
    case .string(let text)?: unit = text
    default: return nil
    }
  }

  /// The form as an object.
  package var json: JSON {
    .object([.init("type", .string(type.rawValue))] + (unit.map { [.init("unit", .string($0))] } ?? []))
  }

  /// Whether values of both forms mean the same. A unit that only one of them names makes no difference.
  package func meansSame(as other: FieldForm) -> Bool {
    type == other.type && (unit == nil || other.unit == nil || unit == other.unit)
  }

  /// In words: `number in %`.
  package var words: String { unit.map { "\(type.rawValue) in \($0)" } ?? type.rawValue }
}

/// The form of a field, and the one from which its values were mapped.
package struct DescribedForm: Sendable, Hashable {
  /// The form that the values have.
  package let present: FieldForm
  /// The form that they had before a program mapped them; nil: they were not mapped.
  package let former: FieldForm?

  /// Makes the form of a field.
  package init(_ present: FieldForm, from former: FieldForm? = nil) {
    self.present = present
    self.former = former
  }

  /// Whether a description, as it is now, still has the former form of this declaration: its values are to be mapped.
  package func isMapped(from described: DescribedForm) -> Bool {
    guard let former else { return false }
    let isReplaced = described.former == former && described.present.type == present.type
    return !isReplaced && described.present.meansSame(as: former)
  }

  /// Whether the values of a description were mapped from the form of this declaration, which no longer reads them.
  package func isReplaced(by described: DescribedForm) -> Bool {
    guard former == nil, let gone = described.former else { return false }
    return gone.meansSame(as: present) && !described.present.meansSame(as: present)
  }
}

extension DescribedField {
  /// The form of the values. A malformed `formerly` counts as absent.
  package var form: DescribedForm {
    DescribedForm(
      FieldForm(
        type: members.json("type")?.string.flatMap(FieldType.init) ?? .any, unit: members.json("unit")?.string),
      from: members.json("formerly").flatMap(FieldForm.init))
  }
}

extension DescribedModel {
  /// The forms of the described fields.
  package var forms: [String: DescribedForm] { readFields.mapValues(\.form) }
}
