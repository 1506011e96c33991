import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("The types that `stubs` prints")
struct StubsTests {
  private func printed(_ language: Stubs.Language, _ models: [(String, String)]) throws -> [String] {
    let models = try models.map { ($0, ModelDescription(try JSON(parsing: [UInt8]($1.utf8)))) }
    return Stubs.text(of: models, in: language).split(separator: "\n", omittingEmptySubsequences: false).map(
      String.init)
  }

  private static let lamp = """
    {"fields": {
      "level": {"type": "number", "min": 0, "max": 1, "default": 0.3, "unit": "lm", "title": "Level", "order": 0},
      "on": {"type": "boolean", "default": false, "order": 1},
      "mode": {"type": "string", "choices": ["warm", "cold"], "default": "warm", "order": 2},
      "warm-up": {"type": "integer", "default": 3, "expires": 500, "order": 3},
      "pin": {"type": "string", "default": "1234", "secret": true, "order": 4},
      "cues": {"type": "object", "policy": "list", "default": [], "order": 5},
      "who": {"type": "string", "default": null, "ephemeral": true, "order": 6},
      "rest": {"type": "any", "min": 2, "order": 7}}}
    """

  @Test("Swift declares ranges, choices, limits, names and scopes, and comments on the rest")
  func swift() throws {
    #expect(
      try printed(.swift, [("shop/lamp-3", StubsTests.lamp)]) == [
        "import Bindbus",
        "",
        "/// shop/lamp-3",
        "struct Lamp3: Model {",
        "  @Field(0...1, unit: \"lm\", title: \"Level\") var level = 0.3",
        "  @Field var on = false",
        "  @Field(choices: [\"warm\", \"cold\"]) var mode = \"warm\"",
        "  @Field(\"warm-up\", expires: .milliseconds(500)) var warmUp = 3",
        "  @Field(secret: true) var pin = \"\"",
        "  // A list: declare what its elements have beside an id.",
        "  // @Field(policy: .list) var cues: [Cues] = []",
        "  @Field(.ephemeral) var who: String? = nil",
        "  // Described: min 2",
        "  @Field var rest: JSON = .null",
        "}",
        "",
        "// let model = try await peer.share(Lamp3.self, id: \"shop/lamp-3\")",
      ])
  }

  @Test("Python declares what its package does")
  func python() throws {
    #expect(
      try printed(.python, [("shop/lamp-3", StubsTests.lamp)]) == [
        "from typing import Any, List, Optional",
        "",
        "from bindbus import Model, field, model, ranged",
        "",
        "",
        "@model",
        "class Lamp3(Model):",
        "    # shop/lamp-3",
        "    level: float = ranged(0.3, 0, 1, unit=\"lm\", title=\"Level\")",
        "    on: bool = False",
        "    # one of [\"warm\",\"cold\"]",
        "    mode: str = \"warm\"",
        "    # warm-up is no name of an attribute; use shared[\"warm-up\"]",
        "    pin: str = \"\"",
        "    cues: List[Any] = field([], policy=\"list\")",
        "    # ephemeral",
        "    who: Optional[str] = None",
        "    # 2...…",
        "    rest: Any = None",
        "",
        "",
        "# peer.share(Lamp3, \"shop/lamp-3\")",
      ])
  }

  @Test("TypeScript has choices as literals, and ranges as comments")
  func typeScript() throws {
    #expect(
      try printed(.typescript, [("shop/lamp-3", StubsTests.lamp)]) == [
        "import type { Value } from '/bind.mjs'",
        "",
        "/** An element of a list. */",
        "export type Element = { id: string | number } & Record<string, Value>",
        "",
        "/** shop/lamp-3 */",
        "export interface Lamp3 {",
        "  /** Level; 0...1; in lm; default 0.3 */",
        "  level: number",
        "  /** default false */",
        "  on: boolean",
        "  /** one of \"warm\", \"cold\"; default \"warm\" */",
        "  mode: \"warm\" | \"cold\"",
        "  /** default 3 */",
        "  \"warm-up\": number",
        "  pin: string",
        "  /** default [] */",
        "  cues: Element[]",
        "  /** default null; ephemeral */",
        "  who: string | null",
        "  /** 2...… */",
        "  rest: Value",
        "}",
        "",
        "// const model = bind.model<Lamp3>('shop/lamp-3')",
      ])
  }

  @Test("models with one description share a type, which is named after what their ids have in common")
  func shared() throws {
    let one = #"{"fields": {"on": {"type": "boolean"}}}"#
    let lines = try printed(
      .swift, [("hall/lamp-2", one), ("hall/lamp-1", one), ("hall/lamp-3", one), ("hall/lamp-4", one)])
    #expect(lines.contains("struct Lamp: Model {"))
    #expect(lines.contains("/// hall/lamp-1, hall/lamp-2, hall/lamp-3 and 1 more"))
    #expect(lines.filter { $0.hasPrefix("struct") }.count == 1)
  }

  @Test(
    "names of types are taken once, begin with a letter, and are none of the language's",
    arguments: [
      (["shop/kiosk"], "Kiosk"), (["shop/model"], "ShopModel"), (["model"], "Model2"), (["lights/1"], "Lights1"),
      (["lights/1", "lights/2"], "Lights"), (["shop/kiosk", "shop/kitchen"], "Shop"), (["1"], "Model1"),
      (["a/used"], "AUsed"), (["used"], "Used2"),
      (["-"], "Model2"), (["1", "2"], "Model2"),
    ])
  func names(ids: [String], name: String) {
    #expect(StubName.type(of: ids, except: ["Model", "Used"]) == name)
  }

  @Test(
    "names of variables are none that Swift refuses",
    arguments: [("-", "field"), ("_", "field_"), ("1st", "_1st"), ("a-b-c", "aBC"), ("a_b", "a_b")])
  func variables(name: String, variable: String) { #expect(StubName.variable(name) == variable) }

  @Test("what a description says never leaves its comment or its text, and a default fits its range")
  func hostile() throws {
    let evil = #"""
      {"fields": {
        "a": {"type": "number", "min": 5, "max": -1, "default": "*/ x", "help": "*/ evil() /*\n#\"\\(1)\"\u202e"},
        "b": {"type": "integer", "min": 2, "max": 4, "default": 99},
        "c": {"type": "integer", "min": -4, "max": -2, "default": -3},
        "let": {"type": "string", "policy": "add", "maxLength": -1},
        "a b\nimport os": {"type": "string"}},
       "alias": {"x\ny": "a", "d": "c"}}
      """#
    let swift = try printed(.swift, [("m", evil)])
    #expect(swift.contains(#"  @Field(2...4) var b = 2"#))
    #expect(swift.contains(#"  @Field((-4)...(-2), was: "c") var d = -3"#))
    #expect(swift.contains(#"  @Field(help: "*/ evil() /*\n#\"\\(1)\"\u{202e}") var a: Double = 0"#))
    #expect(swift.contains(#"  @Field(maximumLength: 0) var `let` = """#))
    let python = try printed(.python, [("m", evil)])
    #expect(python.contains(#"    a: float = field(0, help="*/ evil() /*\n#\"\\(1)\"\u202e")"#))
    #expect(!python.contains { $0.hasPrefix("import os") })
    let typeScript = try printed(.typescript, [("m", evil)])
    #expect(typeScript.contains { $0.hasPrefix("  /** * / evil() /*") && $0.hasSuffix(" */") })
  }
}
