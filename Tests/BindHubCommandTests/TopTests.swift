import BindingProtocol
import BindingTerminal
import Testing

@testable import bindhub

@Suite("`bindhub top`, without a terminal and a hub")
struct TopTests {
  private func sample(
    _ versions: [String: Int], at time: Double, run: String = "a", more: String = ""
  ) throws -> HubSample {
    let models = versions.sorted { $0.key < $1.key }.map { id, version in
      #"{"model":"\#(id)","version":\#(version),"fields":\#(id.count),"sessions":1}"#
    }
    let report = #"""
      {"name":"shop","durability":"disk","start":"\#(run)","models":[\#(models.joined(separator: ","))],
      "sessions":[{"name":"ann","tag":"1f2e","models":2,"lag":0,"leaseLeftMilliseconds":9000},
      {"name":"bob","tag":"3c4d","models":1,"lag":12,"leaseLeftMilliseconds":500,"user":"Bob"}],
      "counters":{"commits":\#(versions.values.reduce(0, +)),"refusals":{}},"store":{"bytes":1500000}\#(more)}
      """#
    return HubSample(try FieldValue(text: report).json, at: time)
  }

  /// Presses keys; returns whether one of them ends it.
  @discardableResult
  private func press(_ keys: Key..., in state: inout TopState) -> Bool {
    keys.map { state.take($0, rows: 5) }.contains(true)
  }

  private func names(_ state: TopState) -> [String] { state.rows.map { $0[0] } }

  @Test("models stand by their commits a second, and by other columns where they are chosen")
  func orders() throws {
    var state = TopState()
    state.take(try sample(["a": 100, "bb": 10, "ccc": 1], at: 10))
    #expect(names(state) == ["a", "bb", "ccc"])
    state.take(try sample(["a": 110, "bb": 50, "ccc": 1], at: 12))
    #expect(names(state) == ["bb", "a", "ccc"])
    #expect(state.rows.map { $0[1] } == ["20.0", "5.0", "0.0"])
    #expect(state.rates.first?.text == "25.0")
    press(.right, in: &state)
    #expect(names(state) == ["a", "bb", "ccc"])
    press(.text("r"), in: &state)
    #expect(names(state) == ["ccc", "bb", "a"])
    press(.left, .left, .left, in: &state)
    #expect(state.column == 0 && names(state) == ["a", "bb", "ccc"])
    press(.down, in: &state)
    #expect(names(state) == ["bb", "ccc"])
    press(.end, in: &state)
    #expect(names(state) == ["ccc"])
    press(.pageUp, .up, in: &state)
    #expect(names(state).count == 3)
    let isEnded = press(.tab, in: &state)
    #expect(!isEnded && names(state) == ["bob-3c4d", "ann-1f2e"])
    let ends = [Key.text("q"), .control("c")].map { press($0, in: &state) }
    #expect(ends == [true, true])
  }

  @Test("a hub that began anew has no rates before its second sample, and no model has a negative one")
  func restart() throws {
    var state = TopState()
    state.take(try sample(["a": 100], at: 10))
    state.take(try sample(["a": 5], at: 11, run: "b"))
    #expect(state.rates.allSatisfy { $0.text == "–" } && state.rows.first?[1] == "0.0")
    state.take(try sample(["a": 3, "new": 9], at: 12, run: "b"))
    #expect(state.rows.map { $0[1] } == ["0.0", "0.0"] && state.rates.first?.text != "–")
  }

  @Test("a held picture stays, also while the hub goes on")
  func paused() throws {
    var state = TopState()
    state.take(try sample(["a": 1], at: 1))
    press(.text("p"), in: &state)
    state.take(try sample(["a": 2], at: 2))
    #expect(state.rows.first?[2] == "1" && state.isPaused)
    press(.text("p"), in: &state)
    state.take(try sample(["a": 3], at: 3))
    #expect(state.rows.first?[2] == "3")
  }

  @Test("it fits any terminal, and says what is wrong")
  func drawn() throws {
    var state = TopState()
    state.take(try sample(["shop/" + String(repeating: "long", count: 40): 1, "b": 2], at: 1))
    for columns in [1, 20, 80, 200] {
      for rows in [1, 6, 7, 24] {
        let lines = TopView(state: state, size: .init(rows: rows, columns: columns)).lines()
        if rows >= TopView.frame { #expect(lines.count == rows) }
        if columns >= 60 { #expect(lines.allSatisfy { $0.width <= columns }, "\(columns)") }
      }
    }
    state.take(silence: "No hub answers.")
    func head() -> String { TopView(state: state, size: .init(rows: 10, columns: 120)).lines()[0].text }
    #expect(head().hasSuffix("No hub answers.") && head().contains("2 peers  2 models  1.5 MB"))
    state.take(try sample(["a": 1], at: 2, more: #","insecure":true,"upstream":{"state":"connecting"}"#))
    #expect(head().hasSuffix("waiting(upstream), INSECURE"))
    #expect(TopView(state: TopState(), size: .init(rows: 10, columns: 80)).lines()[0].text == "…")
  }

  @Test("a report of another release, with parts missing, shows what it has")
  func sparse() throws {
    for text in ["{}", #"{"models":[{}],"sessions":[{}],"counters":{"commits":"x"}}"#, #"{"models":7}"#, "[]"] {
      var state = TopState()
      state.take(HubSample(try FieldValue(text: text).json, at: 1))
      state.take(HubSample(try FieldValue(text: text).json, at: 2))
      #expect(TopView(state: state, size: .init(rows: 10, columns: 80)).lines().count == 10)
    }
  }
}
