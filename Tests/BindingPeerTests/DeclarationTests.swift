import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct Unannotated: Model {
  @Field var on = false
  var place = "desk"
}

private struct Wrapped: Model {
  @Field var on = false
  @State var note = "none"
}

private struct Empty: Model {}

private struct Dimmer: Model {
  @Field(0...1) var level = 0.3
  @Field(0...10) var step: Int? = nil
}

@Suite("Model declarations")
struct DeclarationTests {
  private let hub: Hub
  private let peer: Peer

  init() throws {
    hub = try Hub.embedded()
    peer = try Peer(name: "left", hub: .inProcess(hub))
  }

  /// The description is proposed once the hub's values are known; before that the hub can refuse nothing.
  private func isDescribed(_ lamp: Dimmer) async -> Bool {
    await eventually { lamp.shared?.record(Names.description)?.committed != nil }
  }

  @Test("a stored property that is no field is an error that names it and the remedy")
  func namesTheProperty() async throws {
    await #expect(
      throws: ShareError.badModel(
        type: "Unannotated", problem: "place is not a @Field; write '@Field var place'")
    ) { try await peer.share(Unannotated.self, id: "desk", on: .direct) }
    await #expect(
      throws: ShareError.badModel(
        type: "Wrapped", problem: "note is not a @Field; write '@Field var note'")
    ) { try await peer.share(Wrapped.self, id: "desk", on: .direct) }
    await #expect(throws: ShareError.badModel(type: "Empty", problem: "it has no @Field")) {
      try await peer.share(Empty.self, id: "desk", on: .direct)
    }
    let error = ShareError.badModel(type: "Unannotated", problem: "place is not a @Field; write '@Field var place'")
    // Swift prints an error that leaves top-level code with this prefix.
    #expect(
      String(reflecting: error) == "Unannotated cannot be shared: place is not a @Field; write '@Field var place'")
  }

  @Test("a value that does not fit is refused locally in the hub's words")
  func sameWords() async throws {
    let lamp = try await peer.share(Dimmer.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await isDescribed(lamp))
    for (value, shown) in [(7, "7"), (-0.5, "-0.5"), (.nan, "NaN"), (.infinity, "Infinity")] {
      let words = "lamp.level: \(shown) is not in 0...1"
      let error = #expect(throws: FieldError.self) { try lamp.$level.write(value) }
      #expect(error?.description == words)
      // Bypasses this program's own declaration, so that the hub checks.
      let raw = Proposal(operations: [FieldOperation(.set, "level", FieldValue(json: value.fieldJSON))])
      #expect(try await lamp.shared?.write(raw).outcome == .refused(Refusal(.doesNotFit, words)))
    }
    lamp.level = 7
    #expect(lamp.$level.status.description == "rejected: lamp.level: 7 is not in 0...1")
  }

  @Test("an optional field with a range accepts nil and values in the range")
  func optionalRange() async throws {
    let lamp = try await peer.share(Dimmer.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await isDescribed(lamp))
    #expect(lamp.step == nil)
    #expect(try await lamp.$step.write(10).committed > 0)
    let error = #expect(throws: FieldError.self) { try lamp.$step.write(11) }
    #expect(error?.description == "lamp.step: 11 is not in 0...10")
    #expect(lamp.step == 10)
    #expect(try await lamp.$step.write(nil).committed > 0)
    #expect(await eventually { lamp.shared?["step"]?.description == "null" })
    let raw = Proposal(operations: [FieldOperation(.set, "step", try FieldValue(text: "11"))])
    #expect(
      try await lamp.shared?.write(raw).outcome
        == .refused(Refusal(.doesNotFit, "lamp.step: 11 is not in 0...10")))
  }

  @Test(
    "a peer's name is sanitised to one printable line",
    arguments: [
      ("", "peer"), ("a b/c\n", "a b/c_"), ("lamp\u{202E}\u{7}", "lamp__"), ("Küche", "Küche"),
      (String(repeating: "é", count: 33), String(repeating: "é", count: 32)),
    ])
  func names(given: String, name: String) throws {
    #expect(try Peer(name: given, hub: .inProcess(hub)).name == name)
  }
}
