import BindbusTesting
import BindingModel
import BindingPeer
import BindingProtocol
import Testing

/// Models of programs whose fields have other types in another release.
enum ChangedType {
  struct First: Model {
    static let release = 1
    @Field(0...100, unit: "%", title: "Level") var brightness = 30
    @Field var tone = "warm"
    @Field var note = "a"
  }

  struct Second: Model {
    static let release = 2
    @Field(
      0...1, title: "Brightness", was: "brightness",
      stored: .mapped(from: Int.self, unit: "%", forward: { Double($0) / 100 }, back: { Int(($0 * 100).rounded()) }))
    var level = 0.3
    @Field(
      stored: .mapped(
        from: String.self, forward: { try Tones.index(of: $0) },
        back: { Tones.all[min(max($0, 0), Tones.all.count - 1)] }
      )) var tone = 0
    @Field(title: "Note") var note = "a"
  }

  enum Tones {
    static let all = ["warm", "cold", "day"]

    static func index(of tone: String) throws(BindingError) -> Int {
      guard let index = all.firstIndex(of: tone) else { throw BindingError(.unmappable, "\(tone) is no tone") }
      return index
    }
  }

  struct Fine: Model {
    @Field(unit: "‰") var level = 337
    @Field var other = 0
  }

  /// Loses the last digit.
  struct Coarse: Model {
    @Field(unit: "%", stored: .mapped(by: Tens(), unit: "‰")) var level = 30
    @Field var other = 0
  }

  struct Tens: Mapping {
    func forward(_ source: Int) -> Int { source / 10 }
    func back(_ target: Int) throws(BindingError) -> Int {
      if target > 100 { throw BindingError(.unmappable, "more than 100 %") }
      return target * 10
    }
  }

  struct Compared: Model {
    @Field(
      unit: "%", stored: .mapped(by: Tens(), unit: "‰"), policy: .merge { base, mine, theirs in theirs + mine - base })
    var level = 30
  }

  struct Computing: Model {
    @Field(stored: .mapped(from: String.self, forward: { Int($0) ?? 0 }, back: { "\($0)" }), policy: .add) var level = 0
  }

  struct Unchanged: Model {
    @Field(stored: .mapped(by: Tens())) var level = 0
  }
}

@Suite("A model with a field whose type was changed")
struct ChangedTypeModelTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  @Test("a new model is described and stored in the new type")
  func new() async throws {
    let second = try await peers.share(ChangedType.Second.self, by: peers.right)
    #expect(try await second.$level.write(0.5).committed > 0)
    #expect(second.shared?.modelDescription.fields["brightness"]?.type == .number)
    #expect(second.shared?["brightness"]?.description == "0.5")
    #expect(await eventually { second.shared?["tone"]?.description == "0" })
    let first = try await peers.share(ChangedType.First.self, by: peers.left)
    let half = try FieldValue(text: "0.5")
    #expect(await eventually { first.$brightness.status == .problem(.cannotShow(half)) })
    #expect(first.brightness == 30 && second.status.problems.isEmpty)
  }

  @Test("without a description a value of neither type cannot be shown")
  func neither() async throws {
    let second = try await peers.share(ChangedType.Second.self, by: peers.right)
    #expect(await eventually { second.shared?["note"] != nil })
    try await peers.narrow(to: "{}", by: peers.left)
    let tool = try peers.left.model("lamp")
    let odd = try FieldValue(text: "\"high\"")
    _ = try await tool.write(Proposal(operations: [FieldOperation(.set, "brightness", odd)])).committed
    #expect(await eventually { second.$level.status == .problem(.cannotShow(odd)) })
    #expect(second.level == 0.3)
  }

  @Test("policies that compute with stored values, and forms that cannot be told apart, are not shared")
  func misdeclared() async throws {
    await #expect(throws: ShareError.self) { try await peers.share(ChangedType.Computing.self, by: peers.left) }
    await #expect(throws: ShareError.self) { try await peers.share(ChangedType.Unchanged.self, by: peers.left) }
  }

  @Test("a field that is not shared has its own type only")
  func local() {
    let second = ChangedType.Second()
    second.level = 0.77
    #expect(second.level == 0.77)
    second.level = 2
    #expect(second.level == 0.77)
  }
}
