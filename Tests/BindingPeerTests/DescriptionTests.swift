import BindingHub
import BindingPeer
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field(0...100) var count = 98
  @Field(choices: ["red", "blue"]) var mode = ""
}

/// Another program's idea of the same model.
private struct WideLamp: Model {
  @Field(0...9) var level = 0.3
  @Field var count = 0
  @Field var mode = "none"
  @Field var extra = 1
}

private struct Counter: Model {
  @Field var total: UInt64 = .max
}

/// What a peer sees of a hub that holds writes against the model's description.
@Suite("Descriptions that the hub keeps to")
struct DescriptionTests {
  private let left: Peer
  private let right: Peer

  init() throws {
    let hub = try Hub.embedded()
    left = Peer(name: "left", hub: hub)
    right = Peer(name: "right", hub: hub)
  }

  private func share<Shared: Model>(_ type: Shared.Type, by peer: Peer) async throws -> Shared {
    try await peer.share(type, id: "lamp", on: .direct, patience: .seconds(20))
  }

  @Test("a write that this program's declaration allows and the description does not is refused, and falls back")
  func refused() async throws {
    let first = try await share(Lamp.self, by: left)
    #expect(try await first.$level.write(0.5).committed > 0)
    let wide = try await share(WideLamp.self, by: right)
    #expect(await eventually { wide.level == 0.5 })
    let write = try wide.$level.write(7)
    #expect(await write.outcome == .refused(Refusal(.doesNotFit, "lamp.level: 7 is not in 0...1")))
    #expect(write.current == ["level": try FieldValue(text: "0.5")])
    #expect(wide.level == 0.5)
    guard case .problem(.rejected(let reason, _)) = wide.$level.status else {
      Issue.record("status is \(wide.$level.status)")
      return
    }
    #expect(reason == "refused: lamp.level: 7 is not in 0...1")
    #expect(first.level == 0.5)
  }

  @Test("the error that is thrown has words and the value that stands")
  func thrown() async throws {
    let first = try await share(Lamp.self, by: left)
    #expect(try await first.$count.write(98).committed > 0)
    let error = await #expect(throws: WriteRejection.self) { try await first.$count.add(5).committed }
    #expect(error?.description == "refused: lamp.count: 103 is not in 0...100 (add of 5 to 98)")
    #expect(error?.current == ["count": try FieldValue(text: "98")])
    let wide = try await share(WideLamp.self, by: right)
    let second = await #expect(throws: WriteRejection.self) { try await wide.$count.update { $0 + 5 } }
    #expect(second?.current == ["count": try FieldValue(text: "98")])
  }

  @Test("a default outside its own choices, or outside the description, keeps no other default from being written")
  func defaultsThatDoNotFit() async throws {
    let first = try await share(Lamp.self, by: left)
    #expect(await eventually { first.shared?["count"] != nil })
    #expect(first.shared?["mode"] == nil && first.mode.isEmpty)
    let wide = try await share(WideLamp.self, by: right)
    #expect(await eventually { wide.shared?["extra"] != nil })
    #expect(wide.mode == "none" && wide.shared?["mode"] == nil)
  }

  @Test("the largest number that 64 bits hold without a sign is an integer for peer and hub")
  func largest() async throws {
    let counter = try await share(Counter.self, by: left)
    #expect(await eventually { counter.shared?["total"] != nil })
    #expect(try await counter.$total.write(UInt64.max - 1).committed > 0)
    #expect(counter.total == UInt64.max - 1)
  }
}
