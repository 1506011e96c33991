import BindingPeer
import BindingTerminal

/// What a form knows of its model at the moment of drawing.
struct FormReading {
  struct Field: Equatable {
    var value: FieldValue?
    /// A write of this peer has no outcome yet.
    var isPending = false
    var isExpired = false
    /// This user may not write it.
    var isLocked = false
    /// Who wrote the value, if it was somebody else.
    var writer: String?
    /// The peers that are at this field of their form.
    var present: [String] = []
  }
  var model: String
  var fields: [String: Field] = [:]
  /// The link in words, and whether it is good.
  var link = ""
  var isLive = true
  /// All others that are in the model.
  var present: [String] = []

  subscript(field: FormField) -> Field { fields[field.name] ?? Field() }
}

/// Draws a form.
struct FormView {
  let state: FormState
  let reading: FormReading
  let size: FullScreen.Size

  private static let keys =
    "^C end  ↑↓ field  ←→ change  Enter type, write  Esc cancel  ^Z undo  ^Y redo"

  /// The lines, and where the caret stands if somebody types.
  func drawing() -> (lines: [ScreenLine], caret: (row: Int, column: Int)?) {
    var head = ScreenLine(reading.model, .bold)
    if !reading.present.isEmpty {
      head.add("   with \(reading.present.joined(separator: ", "))", .dim)
    }
    head.alignRight(ScreenLine(reading.link, reading.isLive ? .good : .bad), to: size.columns)
    let foot = footer()
    let room = max(1, size.rows - 2 - foot.count)
    let (rows, focused, caret) = body()
    let first = min(max(0, focused - room / 2), max(0, rows.count - room))
    let shown = Array(rows.dropFirst(first).prefix(room))
    let blanks = [ScreenLine](repeating: ScreenLine(), count: room - shown.count)
    let lines = [head, ScreenLine()] + shown + blanks + foot
    return (lines, caret.map { (row: $0.row - first + 2, column: $0.column) })
  }

  private func footer() -> [ScreenLine] {
    var lines = [ScreenLine()]
    let refusal = state.focus.flatMap { state.refusals[$0.name] }
    if let refusal {
      let retry = refusal.draft == nil ? "" : "   Enter: what you typed   Esc: drop it"
      lines.append(ScreenLine(refusal.words + retry, .bad))
    } else if !state.message.isEmpty {
      lines.append(ScreenLine(state.message, .doubtful))
    } else {
      lines.append(ScreenLine(state.focus?.description.help ?? "", .dim))
    }
    return lines + [ScreenLine(FormView.keys, .dim)]
  }

  // MARK: - Fields

  private var labelWidth: Int {
    let widest = state.fields.map(\.title.columns).max() ?? 0
    return min(widest, max(8, size.columns / 3))
  }

  /// The lines of the fields, which of them has the focus, and where the caret stands among them.
  private func body() -> (rows: [ScreenLine], focused: Int, caret: (row: Int, column: Int)?) {
    var (rows, focused, group): ([ScreenLine], Int, String?) = ([], 0, nil)
    var caret: (row: Int, column: Int)?
    for (index, field) in state.fields.enumerated() {
      if field.description.group != group {
        group = field.description.group
        if !rows.isEmpty { rows.append(ScreenLine()) }
        if let group { rows.append(ScreenLine(group, .bold)) }
      }
      if index == state.place { focused = rows.count }
      let (line, column) = row(field, isFocused: index == state.place)
      if let column { caret = (rows.count, column) }
      rows.append(line)
    }
    return (rows, focused, caret)
  }

  private func row(_ field: FormField, isFocused: Bool) -> (ScreenLine, caret: Int?) {
    let known = reading[field]
    var line = ScreenLine(isFocused ? "▸ " : "  ", .bold)
    var label = ScreenLine(field.title, isFocused ? .bold : .plain).cut(to: labelWidth)
    label.pad(to: labelWidth + 2)
    line.append(label)
    let tail = tail(field, known)
    var caret: Int?
    if let editing = state.editing, editing.field == field.name {
      let room = max(8, size.columns - line.width - tail.width - 2)
      let (shown, column) = FormView.window(editing.editor, room, isHidden: field.description.isSecret)
      caret = line.width + column
      line.add(shown)
    } else {
      line.append(control(field, known, room: max(8, size.columns - line.width - tail.width - 2)))
    }
    line.alignRight(tail, to: size.columns)
    return (line, caret)
  }

  /// What is behind the control: the state of the value, who wrote it, and who is here.
  private func tail(_ field: FormField, _ known: FormReading.Field) -> ScreenLine {
    var line = ScreenLine()
    func add(_ text: String, _ style: ScreenLine.Style) {
      if line.width > 0 { line.add("  ") }
      line.add(text, style)
    }
    if state.refusals[field.name] != nil { add("refused", .bad) }
    if known.isPending { add(reading.isLive ? "pending" : "waits", .doubtful) }
    if known.isExpired { add("expired", .doubtful) }
    if known.isLocked { add("read only", .dim) }
    if !known.present.isEmpty { add("◂ \(known.present.joined(separator: ", "))", .good) }
    if let writer = known.writer, !known.isPending, size.columns >= 72 { add(writer, .dim) }
    return line
  }

  private func control(_ field: FormField, _ known: FormReading.Field, room: Int) -> ScreenLine {
    let value = known.value ?? field.description.defaultValue.map { FieldValue(json: $0) }
    let style: ScreenLine.Style = known.value == nil || known.isLocked || field.control == .none ? .dim : .plain
    let unit = field.description.unit.map { " \($0)" } ?? ""
    guard let value else { return ScreenLine("no value", .dim) }
    if field.description.isSecret { return ScreenLine("(secret)", .dim) }
    let json = try? value.json
    switch (field.control, json) {
    case (.toggle, .bool(let isOn)): return ScreenLine(isOn ? "( ●) on" : "(● ) off", style)
    case (.slider(let least, let most), let json?) where json.double != nil:
      let part = min(max(((json.double ?? 0) - least) / (most - least), 0), 1)
      let words = " \(field.typed(value))\(unit)"
      let width = min(24, max(6, room - words.columns))
      let full = Int((part * Double(width)).rounded())
      var line = ScreenLine(String(repeating: "█", count: full), style)
      line.add(String(repeating: "░", count: width - full), .dim)
      line.add(words, style)
      return line
    case (.choice(let choices), let json?):
      let words = choices.firstIndex(of: json).map { "  \($0 + 1) of \(choices.count)" } ?? ""
      var line = ScreenLine("‹ \(json.string ?? json.description) ›\(unit)", style)
      line.add(words, .dim)
      return line
    default: return ScreenLine(FormView.oneLine(field.typed(value)) + unit, style).cut(to: room)
    }
  }

  /// The part of what is typed around the caret that has room, and the caret's column in it.
  private static func window(_ editor: LineEditor, _ room: Int, isHidden: Bool) -> (String, Int) {
    let text = isHidden ? String(repeating: "•", count: editor.text.count) : oneLine(editor.text)
    let head = isHidden ? String(repeating: "•", count: editor.caret) : oneLine(editor.head)
    let column = ScreenLine(head).width
    guard column >= room else { return (ScreenLine(text).cut(to: room).text, column) }
    // The caret stays at the right end.
    var (tail, width) = ("", 0)
    for character in ScreenLine(head).text.reversed() {
      width += String(character).columns
      guard width < room else { break }
      tail = String(character) + tail
    }
    return (tail, tail.columns)
  }

  /// Ends of lines as a sign.
  private static func oneLine(_ text: String) -> String { text.replacing("\n", with: "⏎") }
}
