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

  /// The place of a hello with these capabilities.
  private static func place(_ capabilities: String...) -> HelloPlace {
    HelloPlace(of: Hello(identity: Identity(secret: Secret(high: 1, low: 2), name: "p"), capabilities: capabilities))
  }

  @Test("a hello of an edge is late by its peer's connections, then by the edge's own")
  func edge() {
    let last = OpeningTests.place("opening:a-2", "through:e-5")
    #expect(OpeningTests.place("opening:a-1", "through:e-9").isLate(after: last))
    #expect(OpeningTests.place("opening:a-2", "through:e-4").isLate(after: last))
    #expect(!OpeningTests.place("opening:a-2", "through:e-5").isLate(after: last))
    #expect(!OpeningTests.place("opening:a-2", "through:f-1").isLate(after: last))
    #expect(!OpeningTests.place("opening:a-2").isLate(after: last))
    #expect(!OpeningTests.place("opening:a-3", "through:e-1").isLate(after: last))
    #expect(!OpeningTests.place("opening:b-1", "through:e-1").isLate(after: last))
    #expect(!OpeningTests.place("opening:a-1").isLate(after: nil))
    #expect(Opening(in: ["through:e-5"]) == nil)
  }

  @Test("what an edge says again yields to another run, and to nothing else")
  func again() {
    let again = OpeningTests.place("opening:a-2", "through:e-5", Capability.again)
    #expect(again.yields(to: OpeningTests.place("opening:b-1")))
    #expect(!again.yields(to: OpeningTests.place("opening:a-1")))
    #expect(!again.yields(to: OpeningTests.place()))
    #expect(!OpeningTests.place("opening:a-2", "through:e-5").yields(to: OpeningTests.place("opening:b-1")))
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
