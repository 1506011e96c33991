import BindingPeer
import Foundation

/// A field of a model as a form shows it.
struct FormField: Equatable {
  /// How its value is changed.
  enum Control: Equatable {
    case toggle
    /// A number from the one to the other.
    case slider(Double, Double)
    case number
    case choice([JSON])
    case text
    case json
    /// It is only shown.
    case none
  }
  let name: String
  let control: Control
  let description: FieldDescription

  var title: String { description.title ?? name }

  /// The fields of a model in the order in which people see them: by their `order`; where none has one, as they are
  /// described, then the others by name. Those of a group stand together, where its first one does.
  /// - Parameters:
  ///   - described: the names in the order of the description.
  ///   - values: without the protocol's own.
  static func all(
    _ description: ModelDescription, described: [String], _ values: [String: FieldValue]
  ) -> [FormField] {
    let isOrdered = description.fields.contains { $0.value.order != nil }
    let names = isOrdered ? description.ordered.map(\.name) : described.filter { description.fields[$0] != nil }
    let known = Swift.Set(names)
    let others = values.keys.filter { !known.contains($0) && ListElements.parts(of: $0) == nil }.sorted()
    let fields = (names + others).map { FormField($0, description.fields[$0], values[$0]) }
      .filter { !$0.description.isEphemeral }
    var placed: Swift.Set<String> = []
    return fields.flatMap { field -> [FormField] in
      guard let group = field.description.group else { return [field] }
      return placed.insert(group).inserted ? fields.filter { $0.description.group == group } : []
    }
  }

  static func all(in model: SharedModel) -> [FormField] {
    let described = (try? model.values[Names.description]?.json)?["fields"]?.members ?? []
    return all(model.modelDescription, described: described.map(\.name), model.fields)
  }

  /// - Parameters:
  ///   - declared: nil: the value decides.
  ///   - value: what it has.
  init(_ name: String, _ declared: FieldDescription?, _ value: FieldValue?) {
    self.name = name
    description = declared ?? FieldDescription(type: FormField.type(of: value))
    control = FormField.control(of: description)
  }

  private static func type(of value: FieldValue?) -> FieldType {
    switch try? value?.json {
    case .bool: .boolean
    case .integer, .number: .number
    case .string: .string
    default: .any
    }
  }

  private static func control(of description: FieldDescription) -> Control {
    if description.isReadOnly { return .none }
    if description.policy == FieldRule.listPolicy { return .json }
    if !description.choices.isEmpty { return .choice(description.choices) }
    switch description.type {
    case .boolean: return .toggle
    case .string: return .text
    case .array, .object, .any: return .json
    case .integer, .number:
      guard let least = description.minimum?.double, let most = description.maximum?.double, most > least,
        most.isFinite, least.isFinite
      else { return .number }
      return .slider(least, most)
    }
  }

  // MARK: - Values

  /// What is typed to have this value: text as it is, everything else as JSON.
  func typed(_ value: FieldValue?) -> String {
    guard let value else { return "" }
    if description.type == .string, case .string(let text)? = try? value.json { return text }
    return JSONLine.text(of: value)
  }

  /// The value that a typed text means.
  /// - Throws: why it is none, or does not fit.
  func value(typed text: String) throws(Misfit) -> FieldValue {
    let value: FieldValue
    let type = description.policy == FieldRule.listPolicy ? .any : description.type
    do throws(TypedText.Fault) { value = try TypedText.value(of: text, as: type) } catch {
      throw Misfit(words: error.words)
    }
    if let problem = description.misfit(of: value) { throw Misfit(words: problem) }
    return value
  }

  struct Misfit: Error { let words: String }

  /// The value some steps up or down from the present one; nil: there is none, or it has no steps.
  func stepped(from value: FieldValue?, by steps: Int) -> FieldValue? {
    let json = (try? value?.json) ?? description.defaultValue
    switch control {
    case .toggle: return FieldValue(json: .bool(json != .bool(true)))
    case .choice(let choices):
      let place = json.flatMap { choices.firstIndex(of: $0) }.map { $0 + steps } ?? 0
      return FieldValue(json: choices[min(max(place, 0), choices.count - 1)])
    case .slider(let least, let most):
      let place = Double(steps) * step(least, most)
      return number(min(max((json?.double ?? least) + place, least), most))
    case .number: return number((json?.double ?? 0) + Double(steps) * (description.step?.double ?? 1))
    case .text, .json, .none: return nil
    }
  }

  /// The least or the greatest value of a slider.
  func extreme(isMost: Bool) -> FieldValue? {
    guard case .slider(let least, let most) = control else { return nil }
    return number(isMost ? most : least)
  }

  private func step(_ least: Double, _ most: Double) -> Double {
    if let step = description.step?.double, step > 0 { return step }
    let part = (most - least) / 50
    return description.type == .integer ? max(1, part.rounded()) : part
  }

  /// Without the digits that binary fractions add.
  private func number(_ value: Double) -> FieldValue {
    if description.type == .integer, let whole = Int64(exactly: value.rounded()) {
      return FieldValue(json: .integer(whole))
    }
    let digits = value == 0 ? 0 : 12 - Int(log10(abs(value)).rounded(.up))
    let scale = pow(10, Double(digits))
    let tidy = scale.isFinite && scale > 0 ? (value * scale).rounded() / scale : value
    return FieldValue(json: Int64(exactly: tidy).map(JSON.integer) ?? .number(tidy))
  }
}
