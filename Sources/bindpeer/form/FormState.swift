import BindingPeer
import BindingTerminal

/// What a form shows and where somebody types in it. It has no terminal, model or clock: keys and outcomes go in, and
/// what is to be done comes out.
struct FormState: Equatable {
  enum Action: Equatable {
    /// - Parameter base: what the field had when the typing began; nil: it was no typing.
    case write(field: String, FieldValue, base: FieldValue?)
    case undo
    case redo
    /// The form is at another field now.
    case moved(to: String)
    case end
  }
  struct Editing: Equatable {
    let field: String
    let base: FieldValue?
    var editor: LineEditor
  }
  /// Why something is not written, and what was typed.
  struct Refusal: Equatable {
    let words: String
    /// Nil: it was not typed.
    let draft: String?
  }

  private(set) var fields: [FormField] = []
  /// The index of the field that keys are for.
  private(set) var place = 0
  private(set) var editing: Editing?
  private(set) var refusals: [String: Refusal] = [:]
  /// A sentence about the last key.
  private(set) var message = ""

  var focus: FormField? { fields.indices.contains(place) ? fields[place] : nil }

  /// Takes the present fields. The form stays where it is, if its field is still there.
  mutating func update(_ fields: [FormField]) {
    let name = focus?.name
    self.fields = fields
    place = fields.firstIndex { $0.name == name } ?? min(place, max(0, fields.count - 1))
    if let editing, !fields.contains(where: { $0.name == editing.field && $0.control != .none }) {
      message = "\(editing.field) cannot be written any more"
      self.editing = nil
    }
  }

  /// Takes what has become of a write.
  /// - Parameters:
  ///   - words: why it has no effect; nil: it has.
  ///   - draft: what was typed.
  mutating func note(_ field: String, refused words: String?, draft: String? = nil) {
    refusals[field] = words.map { Refusal(words: $0, draft: draft) }
  }

  /// Goes to a field, if there is such a one.
  mutating func focus(on name: String) { place = fields.firstIndex { $0.name == name } ?? place }

  mutating func say(_ words: String) { message = words }

  /// - Parameter values: what shows.
  /// - Parameter locked: the fields that this user may not write.
  mutating func take(_ key: Key, _ values: [String: FieldValue], locked: Swift.Set<String> = []) -> [Action] {
    message = ""
    switch key {
    case .control("c"), .control("q"): return [.end]
    case .up, .backTab: return leave { $0.move(by: -1) }
    case .down, .tab: return leave { $0.move(by: 1) }
    case .pageUp: return leave { $0.move(by: -10) }
    case .pageDown: return leave { $0.move(by: 10) }
    default: break
    }
    if editing != nil { return edit(key) }
    switch key {
    case .control("z"): return [.undo]
    case .control("y"): return [.redo]
    default: break
    }
    guard let field = focus else { return [] }
    if key == .escape {
      refusals[field.name] = nil
      return []
    }
    guard field.control != .none, !locked.contains(field.name) else {
      message = locked.contains(field.name) ? "You may not write \(field.title)." : "\(field.title) is only shown."
      return []
    }
    return change(field, key, values[field.name])
  }

  // MARK: - Keys

  private mutating func move(by steps: Int) -> [Action] {
    let target = min(max(place + steps, 0), max(0, fields.count - 1))
    guard target != place else { return [] }
    place = target
    return focus.map { [.moved(to: $0.name)] } ?? []
  }

  /// Writes what was typed, and goes on. What does not fit stays, as does the place.
  private mutating func leave(_ go: (inout FormState) -> [Action]) -> [Action] {
    guard editing != nil else { return go(&self) }
    let actions = commit()
    return editing == nil ? actions + go(&self) : actions
  }

  private mutating func edit(_ key: Key) -> [Action] {
    switch key {
    case .enter: return commit()
    case .escape:
      // The model's value counts: what was typed is gone, and why it was refused.
      if let field = editing?.field { refusals[field] = nil }
      editing = nil
    default: _ = editing?.editor.take(key)
    }
    return []
  }

  private mutating func commit() -> [Action] {
    guard let editing, let field = fields.first(where: { $0.name == editing.field }) else { return [] }
    let text = editing.editor.text
    let isOld = text == field.typed(editing.base) && refusals[field.name] == nil
    let isNothing = text.isEmpty && (field.description.type != .string || field.description.isSecret)
    guard !isOld, !isNothing else {
      self.editing = nil
      return []
    }
    do throws(FormField.Misfit) {
      let value = try field.value(typed: text)
      self.editing = nil
      refusals[field.name] = nil
      return [.write(field: field.name, value, base: editing.base)]
    } catch {
      refusals[field.name] = Refusal(words: error.words, draft: text)
      return []
    }
  }

  private mutating func change(_ field: FormField, _ key: Key, _ value: FieldValue?) -> [Action] {
    let isText = field.control == .text || field.control == .json
    switch key {
    case .enter, .text(" "):
      if !isText, let next = field.control == .toggle ? field.stepped(from: value, by: 1) : nil {
        return [.write(field: field.name, next, base: nil)]
      }
      if case .choice = field.control { return next(of: field, value) }
      if key == .enter || isText { begin(field, value, with: key == .enter ? "" : " ") }
    case .left, .right:
      guard let next = field.stepped(from: value, by: key == .right ? 1 : -1) else {
        begin(field, value, with: "")
        if key == .left { _ = editing?.editor.take(.left) }
        return []
      }
      return next == value ? [] : [.write(field: field.name, next, base: nil)]
    case .home, .end:
      guard let extreme = field.extreme(isMost: key == .end), extreme != value else { return [] }
      return [.write(field: field.name, extreme, base: nil)]
    case .text(let text):
      guard field.control != .toggle else { return [] }
      if case .choice(let choices) = field.control { return pick(text, of: choices, field) }
      // A number is typed anew, a text goes on.
      begin(field, isText ? value : nil, with: text, base: value)
    case .backspace where isText || field.control == .number:
      begin(field, value, with: "")
      _ = editing?.editor.take(.backspace)
    default: break
    }
    return []
  }

  /// - Parameters:
  ///   - value: what stands there when the typing begins.
  ///   - base: what the field has.
  private mutating func begin(_ field: FormField, _ value: FieldValue?, with text: String, base: FieldValue? = nil) {
    let isSecret = field.description.isSecret
    let start = refusals[field.name]?.draft ?? (isSecret ? "" : field.typed(value))
    editing = Editing(field: field.name, base: base ?? value, editor: LineEditor(start))
    if !text.isEmpty { _ = editing?.editor.take(.text(text)) }
  }

  /// The choice behind the present one; behind the last one the first.
  private func next(of field: FormField, _ value: FieldValue?) -> [Action] {
    guard case .choice(let choices) = field.control, let first = choices.first else { return [] }
    let step = field.stepped(from: value, by: 1)
    let next = step == value ? FieldValue(json: first) : step
    return next.map { [.write(field: field.name, $0, base: nil)] } ?? []
  }

  /// The first choice that begins with what was typed.
  private func pick(_ text: String, of choices: [JSON], _ field: FormField) -> [Action] {
    let choice = choices.first { ($0.string ?? $0.description).lowercased().hasPrefix(text.lowercased()) }
    return choice.map { [.write(field: field.name, FieldValue(json: $0), base: nil)] } ?? []
  }
}
