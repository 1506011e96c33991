import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct First: Model {
  static let release = 1
  @Field(0...1, unit: "%") var brightness = 0.25
  @Field(choices: ["warm", "cold"], title: "Light") var light = "warm"
  @Field(maximumLength: 4) var label = "desk"
}

private struct Second: Model {
  static let release = 2
  @Field(0...2, unit: "%", title: "Level", step: 0.5, was: "brightness") var level = 0.5
  @Field(choices: ["cold", "day"], title: "Tone", help: "Of the light", group: "Look") var light = "day"
  @Field(maximumLength: 8, secret: true) var label = "desk"
  @Field(readOnly: true) var extra = 7
}

private struct Counted: Model {
  @Field(policy: .add) var count = 1
  @Field(policy: .text) var note = "a"
  @Field(policy: .merge { _, mine, _ in mine }) var mode = "m"
  @Field var plain = 1
}

private struct Swapped: Model {
  @Field(was: "b") var a = 1
  @Field var b = 2
}

private struct Long: Model {
  @Field(help: String(repeating: "x", count: 150_000)) var a = 1
  @Field(title: String(repeating: "y", count: 150_000)) var b = 1
  @Field(title: String(repeating: "z", count: 150_000)) var c = 1
}

@Suite("The second release of a program")
struct SecondReleaseTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  @Test("the description gains what the second release adds, in one commit, and widens for both")
  func widens() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    // Written at once: the declaration was proposed before.
    #expect(try await second.$level.write(1.5).committed > 0)
    #expect(try await second.$light.write("day").committed > 0)
    let description = try #require(second.shared?.modelDescription)
    let level = try #require(description.fields["brightness"])
    #expect(level.maximum?.double == 2 && level.title == "Level" && level.step?.double == 0.5 && level.order == 1)
    #expect(Swift.Set(description.fields["light"]?.choices ?? []) == ["warm", "cold", "day"])
    #expect(description.fields["light"]?.title == "Tone" && description.fields["light"]?.group == "Look")
    #expect(description.fields["label"]?.maximumLength == 8 && description.fields["label"]?.isSecret == true)
    #expect(description.fields["extra"]?.isReadOnly == true)
    #expect(description.release == 2 && description.aliases == ["level": "brightness"])
    #expect(description.ordered.map(\.name) == ["brightness", "light", "label", "extra"])
    // The first release reads what it would not write, and is only older.
    #expect(await eventually { first.brightness == 1.5 && first.light == "day" })
    #expect(await eventually { if case .current = first.$brightness.status { true } else { false } })
    #expect(first.status.problems.isEmpty && second.status.problems.isEmpty)
    #expect(try await first.$brightness.write(0.75).committed > 0)
    #expect(await eventually { second.level == 0.75 })
  }

  @Test("releases that share at the same time, and again, make one description commit each")
  func concurrent() async throws {
    let tool = try peers.left.model("lamp")
    let changes = Protected(0)
    let token = tool.observe { update, _ in
      let count = update.commits.count { $0.changes.contains { $0.field == "@description" } }
      changes.withLock { $0 += count }
    }
    #expect(await tool.whenCurrent(timeout: .seconds(20)))
    async let one = peers.share(First.self, by: peers.left)
    async let other = peers.share(Second.self, by: peers.right)
    let (first, second) = try await (one, other)
    #expect(await eventually { tool.modelDescription.release == 2 && tool["extra"] != nil })
    #expect(await eventually { peers.left.unconfirmed == 0 && peers.right.unconfirmed == 0 })
    let before = tool["@description"]
    let again = [
      try await peers.share(First.self, by: peers.right).shared,
      try await peers.share(First.self, by: peers.left).shared,
    ]
    let more = try await peers.share(Second.self, by: peers.left)
    #expect(try await more.$level.write(2).committed > 0)
    #expect(await eventually { first.brightness == 2 && second.level == 2 })
    #expect(changes.withLock { $0 } <= 2 && tool["@description"] == before)
    withExtendedLifetime((again, token)) {}
  }

  @Test("a renamed field is one field for both releases, whichever shares the new model first")
  func renamed() async throws {
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(try await second.$level.write(1).committed > 0)
    let first = try await peers.share(First.self, by: peers.left)
    #expect(await eventually { first.brightness == 1 })
    let tool = try peers.left.model("lamp")
    #expect(await eventually { tool.storedName(of: "level") == "brightness" })
    #expect(tool["level"] == nil && tool.storedName(of: "light") == "light")
    let raw = try tool.write(Proposal(operations: [FieldOperation(.set, "level", FieldValue(json: 1))]))
    let words = "lamp.level is another name of lamp.brightness, under which the value is stored; write that field"
    #expect(await raw.outcome == .refused(Refusal(.doesNotFit, words)))
  }

  @Test("a former name that is another field's name is not shared")
  func swapped() async throws {
    await #expect(throws: ShareError.self) { try await peers.share(Swapped.self, by: peers.left) }
  }

  // MARK: Values of another release

  @Test("what cannot be read shows the last good value, and only a plain write is allowed over it")
  func cannotShow() async throws {
    let counted = try await peers.share(Counted.self, by: peers.left)
    #expect(try await counted.$count.add(1).committed > 0)
    try await peers.narrow(to: "{}", by: peers.right)
    let tool = try peers.right.model("lamp")
    let odd = FieldValue(json: ["x": 1])
    let fields = ["count", "note", "mode", "plain"]
    _ = try await tool.write(Proposal(operations: fields.map { FieldOperation(.set, $0, odd) })).committed
    #expect(await eventually { counted.$plain.status == .problem(.cannotShow(odd)) })
    #expect(counted.count == 2 && counted.plain == 1 && counted.note == "a")
    let refusal = FieldError.cannotShow(field: "lamp.count", value: odd)
    #expect(throws: refusal) { try counted.$count.add(1) }
    #expect(throws: refusal) { try counted.$count.write(5) }
    #expect(throws: FieldError.cannotShow(field: "lamp.note", value: odd)) { try counted.$note.write("b") }
    #expect(throws: FieldError.cannotShow(field: "lamp.mode", value: odd)) { try counted.$mode.write("n") }
    await #expect(throws: FieldError.cannotShow(field: "plain", value: odd)) {
      try await counted.$plain.update { $0 + 1 }
    }
    #expect(try await counted.$plain.write(9).committed > 0)
    #expect(counted.plain == 9)
  }

  @Test("a write that the description no longer allows stays in the status until its author answers it")
  func rejected() async throws {
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(await eventually { second.shared?["extra"] != nil })
    try await peers.narrow(to: #"{"fields":{"brightness":{"type":"number","max":1}}}"#, by: peers.left)
    _ = await (try second.$level.write(1.5)).outcome
    let tool = try peers.left.model("lamp")
    for value in ["0.1", "0.2"] {
      let set = FieldOperation(.set, "brightness", try FieldValue(text: value))
      _ = try await tool.write(Proposal(operations: [set])).committed
    }
    #expect(await eventually { second.level == 0.2 })
    let words = "rejected: refused: lamp.brightness: 1.5 is not in ...1"
    #expect(second.$level.status.description == words, "\(second.$level.status)")
    second.$level.dismissProblem()
    #expect(second.$level.status.description != words)
    _ = await (try second.$level.write(1.75)).outcome
    #expect(second.$level.status.description.hasPrefix("rejected: "))
    #expect(try await second.$level.write(1).committed > 0)
    #expect(!second.$level.status.description.hasPrefix("rejected"))
  }

  // MARK: Replacing

  @Test("a description that present values do not fit is replaced only anyway, and they stay")
  func replaced() async throws {
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(try await second.$level.write(2).committed > 0)
    let first = try await peers.share(First.self, by: peers.left)
    #expect(await eventually { first.brightness == 2 && first.shared?.modelDescription.release == 2 })
    #expect(await eventually { peers.left.unconfirmed == 0 })
    let error = #expect(throws: SharedModel.MisfitsError.self) { try first.replaceDescription() }
    #expect(error?.values.first?.address == "lamp.brightness")
    #expect(error?.description.contains("lamp.brightness: 2 is not in 0...1") == true, "\(error?.description ?? "")")
    #expect(try await first.replaceDescription(keepingMisfits: true).committed > 0)
    #expect(await eventually { second.shared?.modelDescription.release == 1 && second.level == 2 })
    #expect(second.shared?.modelDescription.fields["extra"] == nil)
  }

  @Test("of two replacements of one description one is a conflict")
  func replacedTwice() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    #expect(await eventually { first.shared?["@description"] != nil && peers.left.unconfirmed == 0 })
    let shared = try #require(first.shared)
    let replacement = shared.replacement(of: FieldValue(json: ["fields": [:]]))
    let writes = [try shared.write(replacement), try shared.write(replacement)]
    var conflicts = 0
    for write in writes { if case .conflict = await write.outcome { conflicts += 1 } }
    #expect(conflicts == 1)
  }

  @Test("a description that is too long loses its help first, and then whole fields")
  func tooLong() async throws {
    let long = try await peers.share(Long.self, by: peers.left)
    #expect(await eventually { long.shared?["c"] != nil && long.shared?["@description"] != nil })
    let fields = long.shared?.modelDescription.fields
    #expect(fields?["a"]?.help == nil && fields?["a"] != nil && fields?["b"] != nil && fields?["c"] == nil)
  }
}
