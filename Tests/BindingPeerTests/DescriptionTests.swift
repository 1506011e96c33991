import BindbusTesting
import BindingHub
import BindingPeer
import Logging
import Synchronization
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field(0...100) var count = 98
  @Field(choices: ["red", "blue"]) var mode = ""
}

/// Another program's declaration of the same model.
private struct WideLamp: Model {
  @Field(0...9) var level = 0.3
  @Field var count = 0
  @Field var mode = "none"
  @Field var extra = 1
}

/// A declaration with a field of another type.
private struct OddLamp: Model {
  @Field var mode = 7
  @Field var extra = 1
}

private struct Counter: Model {
  @Field var total: UInt64 = .max
}

private enum Mood: String, Codable, CaseIterable {
  case calm, wild
}

private enum Gear: Int, FieldCodable, CaseIterable {
  case low = 1
  case high
}

private struct Device: Model {
  @Field var mood = Mood.calm
  @Field var gear = Gear.low
  @Field var next: Gear? = nil
}

private struct OldDevice: Model {
  @Field(0...10) var level = 5
  @Field var mood = 7
}

/// The lines of a log.
private final class Lines: LogHandler, Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }

  func log(event: LogEvent) { lines.withLock { $0.append("\(event.level): \(event.message)") } }
  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .info }
    set {}
  }
}

/// How a peer experiences a hub that checks writes against the model's description.
@Suite("Descriptions that the hub enforces")
struct DescriptionTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  @Test("a write that its declaration allows and the description does not is refused and reverted")
  func refused() async throws {
    let first = try await peers.share(Lamp.self, by: peers.left)
    #expect(try await first.$level.write(0.5).committed > 0)
    // The description is a write of its own, and may follow that one.
    let seen = try peers.right.model("lamp")
    #expect(await eventually { description(of: seen) != nil })
    let wide = try await peers.share(WideLamp.self, by: peers.right)
    #expect(await eventually { wide.level == 0.5 })
    try await peers.narrow(to: #"{"fields":{"level":{"type":"number","min":0,"max":1}}}"#, by: peers.left)
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

  @Test("a rejection has a text and the current value")
  func thrown() async throws {
    let first = try await peers.share(Lamp.self, by: peers.left)
    let seen = try peers.right.model("lamp")
    #expect(await eventually { description(of: seen) != nil })
    #expect(try await first.$count.write(98).committed > 0)
    let error = await #expect(throws: RejectionError.self) { try await first.$count.add(5).committed }
    #expect(error?.description == "refused: lamp.count: 103 is not in 0...100 (add of 5 to 98)")
    #expect(error?.current == ["count": try FieldValue(text: "98")])
    let wide = try await peers.share(WideLamp.self, by: peers.right)
    try await peers.narrow(to: #"{"fields":{"count":{"type":"integer","min":0,"max":100}}}"#, by: peers.left)
    let second = await #expect(throws: RejectionError.self) { try await wide.$count.update { $0 + 5 } }
    #expect(second?.current == ["count": try FieldValue(text: "98")])
  }

  @Test("a default outside its choices or the description does not prevent other defaults")
  func defaultsThatDoNotFit() async throws {
    let first = try await peers.share(Lamp.self, by: peers.left)
    #expect(await eventually { first.shared?["count"] != nil })
    #expect(first.shared?["mode"] == nil && first.mode.isEmpty)
    let odd = try await peers.share(OddLamp.self, by: peers.right)
    #expect(await eventually { odd.shared?["extra"] != nil })
    #expect(odd.mode == 7 && odd.shared?["mode"] == nil)
  }

  @Test("the largest unsigned 64-bit number is an integer for peer and hub")
  func largest() async throws {
    let counter = try await peers.share(Counter.self, by: peers.left)
    #expect(await eventually { counter.shared?["total"] != nil })
    #expect(try await counter.$total.write(UInt64.max - 1).committed > 0)
    #expect(counter.total == UInt64.max - 1)
  }

  // MARK: Describing

  private func description(of model: SharedModel?) -> String? { model?["@description"]?.description }

  @Test("a model whose fields were all deleted is described again when it is shared next")
  func describedAgain() async throws {
    let tool = try peers.right.model("lamp")
    do {
      let first = try await peers.share(Lamp.self, by: peers.left)
      #expect(await eventually { description(of: first.shared) != nil })
    }
    let before = try #require(await eventually { description(of: tool) != nil } ? description(of: tool) : nil)
    let clear = try tool.write(Proposal(operations: [FieldOperation(.clear, "")]))
    #expect(try await isCommitted(clear) && tool["@description"] == nil)
    // A peer that still sees the description has no reason to write it.
    let mine = try peers.left.model("lamp")
    #expect(await eventually { description(of: mine) == nil })
    _ = try await peers.share(Lamp.self, by: peers.left)
    #expect(await eventually { description(of: tool) == before })
    let write = try tool.write(Proposal(operations: [FieldOperation(.set, "level", try FieldValue(text: "7"))]))
    guard case .refused = await write.outcome else {
      Issue.record("the description is not kept to")
      return
    }
  }

  private func isCommitted(_ write: PendingWrite) async throws -> Bool {
    if case .committed = await write.outcome { true } else { false }
  }

  @Test("of two peers that share a deleted model at the same time one describes it, and both go on")
  func describedAgainByBoth() async throws {
    let tool = try peers.left.model("lamp")
    _ = try tool.write(Proposal(operations: [FieldOperation(.set, "level", try FieldValue(text: "0.5"))]))
    let write = try tool.write(Proposal(operations: [FieldOperation(.clear, "")]))
    #expect(try await isCommitted(write))
    async let one = peers.share(Lamp.self, by: peers.left)
    async let other = peers.share(WideLamp.self, by: peers.right)
    let (lamp, wide) = try await (one, other)
    // A shown value may be an own write whose outcome is still to come.
    #expect(
      await eventually {
        lamp.shared?["@description"] != nil && lamp.shared?["@description"] == wide.shared?["@description"]
      })
  }

  @Test("a description equivalent to the declaration is no mismatch, however its numbers are written")
  func sameMeaning() async throws {
    let tool = try peers.right.model("lamp")
    let text = """
      {"fields":{"level":{"max":1,"min":0,"type":"number"},"count":{"type":"integer","min":0.0,"max":1e2},\
      "mode":{"choices":["blue","red"]}}}
      """
    let write = try tool.write(Proposal(operations: [FieldOperation(.set, "@description", try FieldValue(text: text))]))
    #expect(try await isCommitted(write))
    let lamp = try await peers.share(Lamp.self, by: peers.left)
    #expect(await eventually { lamp.shared?["level"] != nil })
    #expect(await eventually { if case .current = lamp.$level.status { true } else { false } })
    #expect(lamp.status.problems.isEmpty)
  }

  @Test(
    "a mismatch is a problem of the model, one log warning for each sharing peer, and in the hub's status")
  func mismatch() async throws {
    let lines = Lines()
    let hub = try Hub.embedded()
    let log = Logger(label: "test", factory: { _ in lines })
    let first = try Peer(name: "first", hub: .inProcess(hub))
    let old = try await peers.share(OldDevice.self, by: first)
    #expect(await eventually { old.shared?["mood"] != nil })
    let second = try Peer(name: "second", hub: .inProcess(hub), logger: log)
    let new = try await peers.share(Device.self, by: second)
    #expect(await eventually { !lines.all.isEmpty })
    let declared = "declared as string, one of \"calm\", \"wild\", default \"calm\""
    let words = "mood is \(declared) and described as integer, default 7"
    #expect(lines.all.count == 1 && lines.all.first?.hasPrefix("warning: lamp: \(words).") == true, "\(lines.all)")
    #expect(Array(new.status.problems.keys) == ["mood"])
    // It cannot even be shown.
    #expect(new.status.problems["mood"]?.description == "cannot show 7")
    #expect(old.status.problems.isEmpty)
  }

  @Test("a CaseIterable enum is described with its raw values, and the hub enforces them")
  func enumChoices() async throws {
    let device = try await peers.share(Device.self, by: peers.left)
    #expect(await eventually { device.shared?["mood"] != nil })
    let fields = device.shared?.modelDescription.fields
    #expect(fields?["mood"]?.type == .string && fields?["mood"]?.choices == ["calm", "wild"])
    #expect(fields?["gear"]?.type == .integer && fields?["gear"]?.choices == [1, 2])
    #expect(fields?["next"]?.choices == [1, 2, nil])
    let tool = try peers.right.model("lamp")
    #expect(await eventually { description(of: tool) != nil })
    let bogus = try tool.write(Proposal(operations: [FieldOperation(.set, "mood", FieldValue(json: "bogus"))]))
    let words = #"lamp.mood: "bogus" is not one of "calm", "wild""#
    #expect(await bogus.outcome == .refused(Refusal(.doesNotFit, words)))
    let wild = try tool.write(Proposal(operations: [FieldOperation(.set, "mood", FieldValue(json: "wild"))]))
    #expect(try await isCommitted(wild))
    #expect(await eventually { device.mood == .wild })
    device.next = .high
    #expect(await eventually { tool["next"]?.description == "2" })
  }

  @Test("a refused number that is not a number is called NaN")
  func notANumber() async throws {
    let lamp = try await peers.share(Lamp.self, by: peers.left)
    let error = #expect(throws: FieldError.self) { try lamp.$level.write(.nan) }
    #expect(error?.description.contains("NaN") == true && error?.description.contains("$float") == false)
  }
}
