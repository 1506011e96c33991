import BindingProtocol
import Testing

@Suite("Openings")
struct OpeningTests {
  @Test("an opening is read as it was written, among other capabilities")
  func text() throws {
    var opening = Opening(run: 0xA1)
    opening.advance()
    opening.advance()
    #expect(opening.text == "opening:a1-2")
    #expect(Opening(in: [Capability.users, opening.text, "opening:7-9"]) == opening)
    #expect(Opening(in: [Capability.users]) == nil)
  }

  @Test(
    "what is no opening names none",
    arguments: [
      "opening:", "opening:a1", "opening:a1-", "opening:-1",
      "opening:a1-2-3", "opening:g-1", "opening:1-4294967296", "opening:11111111111111111-1", "opening:1--1",
    ])
  func malformed(text: String) {
    #expect(Opening(in: [text]) == nil)
  }

  @Test("only an earlier connection of the same run precedes another")
  func order() throws {
    let openings = ["opening:a-1", "opening:a-2", "opening:b-3"].compactMap { Opening(in: [$0]) }
    try #require(openings.count == 3)
    #expect(openings[0].precedes(openings[1]))
    #expect(!openings[1].precedes(openings[0]))
    #expect(!openings[0].precedes(openings[0]))
    #expect(!openings[0].precedes(openings[2]))
  }
}
