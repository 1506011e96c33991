import BindingTerminal
import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("A form, without a terminal and a hub")
final class FormStateTests {
  private static let description = #"""
    {"fields":{"on":{"type":"boolean"},"level":{"type":"number","min":0,"max":1},"mode":{"type":"string",
    "choices":["warm","cold"]},"name":{"type":"string","maxLength":5},"count":{"type":"integer","step":5},
    "pin":{"type":"string","secret":true},"tags":{"type":"array"},
    "cues":{"type":"object","policy":"list"},"serial":{"type":"string","readOnly":true}}}
    """#
  private var state = FormState()
  private var values: [String: FieldValue] = [:]

  init() throws {
    let json = try FieldValue(text: Self.description).json
    let names = json["fields"]?.members?.map(\.name) ?? []
    state.update(FormField.all(ModelDescription(json), described: names, [:]))
    set(["on": "true", "level": "0.3", "mode": #""warm""#, "name": #""Rain""#, "count": "3", "pin": #""1234""#])
  }

  private func set(_ texts: [String: String]) {
    for (name, text) in texts { values[name] = FieldValue(bytes: Array(text.utf8)) }
  }

  /// Presses keys at a field. Returns what the form writes, as `field=JSON`, and other actions by name.
  private func press(_ keys: Key..., at field: String, locked: Swift.Set<String> = []) -> [String] {
    state.focus(on: field)
    return keys.flatMap { state.take($0, values, locked: locked) }.map { action in
      switch action {
      case .write(let field, let value, _): "\(field)=\(value)"
      case .moved(let field): "at \(field)"
      case .undo: "undo"
      case .redo: "redo"
      case .end: "end"
      }
    }
  }

  @Test("a key does to each control what it says")
  func controls() {
    #expect(press(.text(" "), at: "on") == ["on=false"])
    #expect(press(.enter, at: "on") == ["on=false"])
    #expect(press(.right, at: "level") == ["level=0.32"])
    #expect(press(.left, at: "level") == ["level=0.28"])
    #expect(press(.home, at: "level") == ["level=0"])
    #expect(press(.end, at: "level") == ["level=1"])
    #expect(press(.text("0"), .text("."), .text("7"), .enter, at: "level") == ["level=0.7"])
    #expect(press(.right, at: "mode") == [#"mode="cold""#])
    #expect(press(.left, at: "mode") == [])
    #expect(press(.text(" "), at: "mode") == [#"mode="cold""#])
    #expect(press(.text("C"), at: "mode") == [#"mode="cold""#])
    #expect(press(.text("x"), at: "mode") == [])
    #expect(press(.right, at: "count") == ["count=8"])
    #expect(press(.text("!"), .enter, at: "name") == [#"name="Rain!""#])
    #expect(press(.backspace, .enter, at: "name") == [#"name="Rai""#])
    #expect(press(.enter, .control("u"), .enter, at: "name") == [#"name="""#])
    #expect(press(.text("[1, 2]"), .enter, at: "tags") == ["tags=[1, 2]"])
    #expect(press(.text(#"[{"id":1}]"#), .enter, at: "cues") == [#"cues=[{"id":1}]"#])
    #expect(press(.text("[1]"), .enter, .escape, at: "cues") == [])
    #expect(press(.control("z"), .control("y"), .control("c"), at: "on") == ["undo", "redo", "end"])
  }

  @Test("a slider stays in its range, and its steps have no digits of binary fractions")
  func steps() {
    set(["level": "0.99"])
    #expect(press(.right, at: "level") == ["level=1"])
    set(["level": "1"])
    #expect(press(.right, .end, at: "level") == [])
    set(["level": "0.06"])
    #expect(press(.right, at: "level") == ["level=0.08"])
    values["level"] = nil
    #expect(press(.right, at: "level") == ["level=0.02"])
  }

  @Test("typing is written on leaving the field, and gone after escape")
  func leaving() {
    #expect(press(.text("y"), .down, at: "name") == [#"name="Rainy""#, "at count"])
    #expect(press(.text("y"), .escape, .down, at: "name") == ["at count"])
    #expect(press(.enter, .enter, at: "name") == [])
    #expect(press(.text("9"), .backspace, .tab, at: "count") == ["at pin"])
    #expect(press(.control("z"), at: "name") == ["undo"])
    #expect(press(.text("x"), .control("z"), .escape, at: "name") == [])
  }

  @Test("what does not fit stays in the field with the reason, and can be mended or dropped")
  func misfits() {
    #expect(press(.text("forest"), .enter, .down, at: "name") == [])
    #expect(state.editing?.editor.text == "Rainforest" && state.focus?.name == "name")
    #expect(state.refusals["name"]?.words.contains("5") == true)
    #expect(press(.control("u"), .text("Sun"), .enter, at: "name") == [#"name="Sun""#])
    #expect(state.refusals.isEmpty)
    #expect(press(.text("["), .enter, at: "tags") == [] && state.refusals["tags"] != nil)
    #expect(press(.escape, .down, at: "tags") == ["at cues"] && state.refusals.isEmpty)
    #expect(press(.text("7"), .enter, .escape, at: "level") == [])
  }

  @Test("a refused text is there again when one types on, until it is dropped")
  func refused() {
    state.note("name", refused: "not now", draft: "Fog")
    #expect(press(.text("s"), .enter, at: "name") == [#"name="Fogs""#])
    state.note("name", refused: "not now", draft: "Fog")
    #expect(press(.enter, .enter, at: "name") == [#"name="Fog""#])
    state.note("name", refused: "not now", draft: "Fog")
    #expect(press(.escape, .enter, .enter, at: "name") == [] && state.refusals.isEmpty)
  }

  @Test("a secret is never shown, and leaving it empty changes nothing")
  func secrets() {
    #expect(press(.enter, at: "pin") == [])
    #expect(state.editing?.editor.text.isEmpty == true)
    #expect(press(.enter, at: "pin") == [])
    #expect(press(.text("98"), at: "pin") == [])
    let lines = drawing(columns: 80).lines.map(\.text)
    #expect(!lines.contains { $0.contains("98") || $0.contains("1234") } && lines.contains { $0.contains("••") })
    #expect(press(.enter, at: "pin") == [#"pin="98""#])
  }

  @Test("a field that is only shown, or that one may not write, says so")
  func locked() {
    #expect(press(.text("x"), at: "serial") == [] && state.message == "serial is only shown.")
    #expect(press(.right, at: "level", locked: ["level"]) == [] && state.message == "You may not write level.")
  }

  @Test("fields come and go, and the form stays at its own")
  func changes() throws {
    state.focus(on: "name")
    let one = FieldValue(json: .integer(1))
    state.update(FormField.all(ModelDescription(), described: [], ["a": one, "name": .init(json: "x")]))
    #expect(state.focus?.name == "name")
    _ = state.take(.text("y"), [:])
    state.update(FormField.all(ModelDescription(), described: [], ["a": one]))
    #expect(state.editing == nil && state.focus?.name == "a" && state.message.contains("name"))
    state.update([])
    #expect(press(.down, .enter, .right, at: "a") == [] && state.focus == nil)
  }

  // MARK: - Drawing

  private func drawing(columns: Int, rows: Int = 20) -> (lines: [ScreenLine], caret: (row: Int, column: Int)?) {
    var reading = FormReading(model: "lamp", link: "live")
    for (name, value) in values { reading.fields[name] = .init(value: value) }
    reading.fields["level"]?.isPending = true
    reading.fields["mode"]?.present = ["bob"]
    return FormView(state: state, reading: reading, size: .init(rows: rows, columns: columns)).drawing()
  }

  @Test("a form fits any terminal, and the field with the focus is always in view")
  func sizes() {
    for columns in [1, 10, 20, 40, 80, 200] {
      for rows in [1, 3, 5, 8, 20, 60] {
        for field in state.fields {
          state.focus(on: field.name)
          let (lines, _) = drawing(columns: columns, rows: rows)
          if rows >= 6, columns >= 20 {
            #expect(lines.count == rows)
            #expect(lines.contains { $0.text.hasPrefix("▸ \(field.name.prefix(4))") }, "\(field.name) \(rows)")
          }
        }
      }
    }
  }

  @Test("each control shows its value, its state and who is there")
  func shown() {
    let text = drawing(columns: 80).lines.map(\.text).joined(separator: "\n")
    for words in ["( ●) on", "0.3", "pending", "‹ warm ›  1 of 2", "◂ bob", "(secret)", "no value", "live"] {
      #expect(text.contains(words), "\(words) in\n\(text)")
    }
  }

  @Test("the caret is where somebody types, also in a text that is wider than the terminal")
  func carets() throws {
    _ = press(.control("u"), .enter, .control("u"), .text("日a"), .left, at: "name")
    let (lines, caret) = drawing(columns: 40)
    let place = try #require(caret)
    #expect(ScreenLine(String(lines[place.row].text.prefix { $0 != "a" || false })).width <= place.column + 40)
    #expect(lines[place.row].text.contains("日a"))
    _ = press(.text(String(repeating: "x", count: 300)), at: "name")
    let far = try #require(drawing(columns: 40).caret)
    #expect(far.column < 40)
    #expect(drawing(columns: 80).lines.allSatisfy { $0.cut(to: 80).width <= 80 })
  }
}
