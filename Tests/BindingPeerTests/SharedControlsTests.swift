import BindbusTesting
import BindingControls
import BindingHub
import BindingPeer
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field var name = "desk"
}

private struct Dimmer: Model {
  @Field(0...1) var level = 0.9
}

@Suite("Controls on shared fields")
@MainActor
struct SharedControlsTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  @Test("a user's edit in one process shows in the control of the other, both ways")
  func acrossPeers() async throws {
    let mine = try await left.share(Lamp.self, id: "lamp")
    let theirs = try await right.share(Lamp.self, id: "lamp")
    let (toggle, field, copy, slider) = (Switch(), TextField(), TextField(), Slider())
    toggle.bind(to: mine.$on)
    field.bind(to: mine.$name)
    copy.bind(to: theirs.$name)
    slider.bind(to: theirs.$level, map: Conversion(forward: { Float($0) }, back: { Double($0) }))
    #expect(slider.value == 0.3)
    field.type("!")
    #expect(await eventually { copy.text == "desk!" })
    copy.type("?")
    #expect(await eventually { field.text == "desk!?" })
    mine.level = 0.5
    #expect(await eventually { slider.value == 0.5 })
    theirs.on = true
    #expect(await eventually { toggle.isOn })
  }

  @Test("a value that the declaration does not allow stays in the control, with the reason")
  func refusals() async throws {
    let lamp = try await left.share(Lamp.self, id: "lamp")
    let field = TextField()
    var problem: BindingError?
    field.bind(to: lamp.$level, map: NumberText()) { problem = $0 }
    field.enter("7")
    #expect(field.text == "7")
    #expect(problem?.reason == .refused)
    #expect(lamp.level == 0.3)
    field.enter("0.7")
    #expect(problem == nil)
    #expect(lamp.level == 0.7)
  }

  @Test("behaviour 13: two references see each other's changes; of two defaults the first stays")
  func twoReferences() async throws {
    let first = try await left.share(Lamp.self, id: "lamp")
    // The default has reached others too.
    let seen = try right.model("lamp")
    #expect(await eventually { seen["level"] != nil })
    let second = try await right.share(Dimmer.self, id: "lamp", timeout: .seconds(20))
    #expect(second.level == 0.3)
    second.level = 0.6
    #expect(await eventually { first.level == 0.6 })
    first.level = 0.4
    #expect(await eventually { second.level == 0.4 })
    _ = try await first.$level.reset().committed
    #expect(await eventually { second.level == 0.3 })
  }
}
