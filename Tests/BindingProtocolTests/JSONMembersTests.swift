import Testing

@testable import BindingProtocol

@Suite("JSON members of a text")
struct JSONMembersTests {
  private func members(_ text: String) -> [String]? {
    JSON.members(ofText: Array(text.utf8))?.map { "\($0.name)=\($0.value)" }
  }

  @Test("each member's value keeps its exact bytes")
  func exact() {
    #expect(
      members(#" { "a" : 1e400 ,"b":[ 1,{"c":2}], "\u00e9":"x\ny" } "#) == [
        "a=1e400", #"b=[ 1,{"c":2}]"#, #"é="x\ny""#,
      ])
    #expect(members("{}") == [])
    #expect(members("{ }") == [])
    #expect(members(#"{"a":null,"a":-0}"#) == ["a=null", "a=-0"])
  }

  @Test(
    "a text that is not a JSON object has no members",
    arguments: ["", "[1]", "1", "{", "{\"a\"}", "{\"a\":1,}", "{\"a\":1} x", "{\"a\":\"\\ud800\"}", "{a:1}"])
  func none(_ text: String) { #expect(members(text) == nil) }
}
