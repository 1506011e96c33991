import BindingHub
import BindingProtocol
import Testing

/// Fields that expire, at the hub (protocol.md §8.1).
@Suite("The hub sets back what nobody renews")
struct ExpiryTests {
  static let drive = """
    {"fields":{"speed":{"type":"number","min":-1,"max":1,"default":0,"expires":500},\
    "light":{"type":"boolean","default":false,"expires":500},"pulse":{"expires":2000},"name":{}}}
    """
  var bench = HubBench()
  private var numbers: [String: ProposalNumber] = [:]

  init() { self.init(HubBench()) }

  private init(_ bench: HubBench) {
    self.bench = bench
    self.bench.live(.ann)
    self.bench.live(.ben)
    write(.set("@description", Self.drive))
  }

  @discardableResult
  private mutating func write(
    _ operations: WireOperation..., by peer: Speaker = .ann, if conditions: [WireCondition] = []
  ) -> WireOutcome.Rest? {
    send(operations, by: peer, if: conditions).outcomes(peer)[numbers[peer.identity.name] ?? 0]
  }

  private mutating func send(
    _ operations: [WireOperation], by peer: Speaker = .ann, if conditions: [WireCondition] = [], isVoid: Bool = false
  ) -> Received {
    let number = (numbers[peer.identity.name] ?? 0) + 1
    numbers[peer.identity.name] = number
    return bench.send(peer, .propose([.of(number, operations, conditions: conditions, isVoid: isVoid)]))
  }

  /// The values of the described fields, without the description.
  private mutating func values(_ bench: inout HubBench) -> [String: String] {
    bench.read().values.filter { $0.key != "@description" }
  }

  private var values: [String: String] {
    mutating get { bench.read().values.filter { $0.key != "@description" } }
  }

  @Test("a value falls back to its default at the end of its term, and says by whom")
  mutating func fallsBack() {
    write(.set("speed", "0.4"))
    #expect(bench.machine.nextDeadline == 1_500)
    bench.wait(499)
    #expect(values == ["speed": "0.4"])
    let received = bench.wait(1)
    let group = received.commits().first
    #expect(group?.commits.count == 1)
    #expect(group?.origins == [Origin(tag: .none, name: "expiry")])
    #expect(group?.commits.first?.number == 0 && group?.commits.first?.hops == 0)
    #expect(values == ["speed": "0"] && bench.counters.fallbacks == 1)
    #expect(bench.read().fields["speed"]?.origin == Origin(tag: .none, name: "expiry"))
  }

  @Test("fields whose terms end together fall back in one commit, one without a default to no value")
  mutating func together() {
    write(.set("speed", "0.4"), .set("light", "true"))
    write(.set("pulse", "7"))
    #expect(bench.wait(500).commits().first?.commits.map(\.changes.count) == [2])
    #expect(values == ["speed": "0", "light": "false", "pulse": "7"])
    #expect(bench.wait(1_500).commits().count == 1)
    #expect(values == ["speed": "0", "light": "false"])
  }

  @Test("a field at its default does not expire, however the default is written, nor does one that has fallen back")
  mutating func atDefault() {
    write(.set("speed", "0.0"), .set("light", "false"))
    #expect(bench.wait(10_000).commits().isEmpty)
    write(.set("speed", "1"))
    #expect(bench.wait(500).commits().count == 1)
    #expect(bench.wait(10_000).commits().isEmpty && bench.counters.fallbacks == 1)
  }

  @Test("an equal set renews, ends unchanged, and makes no commit; ten of them a second keep a value for ever")
  mutating func renewed() {
    write(.set("speed", "0.4"))
    let version = bench.machine.head(of: "lamp")?.version
    for _ in 0..<100 {
      #expect(bench.wait(100).commits().isEmpty)
      #expect(write(.set("speed", "0.4")) == .unchanged)
    }
    #expect(bench.machine.head(of: "lamp")?.version == version)
    #expect(bench.wait(499).commits().isEmpty)
    #expect(bench.wait(1).commits().count == 1)
  }

  @Test("any writer may renew, in a proposal that changes other fields too; another spelling is a commit")
  mutating func renewedByOthers() {
    write(.set("speed", "0.4"))
    bench.wait(400)
    #expect(write(.set("speed", "0.4"), .set("name", #""x""#), by: .ben) == .committed(3))
    #expect(bench.read().fields["speed"]?.version == 2)
    bench.wait(400)
    #expect(write(.set("speed", "0.40"), by: .ben) == .committed(4))
    bench.wait(499)
    #expect(values["speed"] == "0.40")
  }

  @Test(
    "what is refused, in conflict or void renews nothing; nor does an idle merge",
    arguments: [
      "refused", "conflict", "void", "merge", "absent",
    ])
  mutating func notRenewed(_ how: String) {
    write(.set("speed", "0.4"))
    bench.wait(400)
    switch how {
    case "refused": #expect(write(.set("speed", "0.4"), .set("light", "7"))?.refusal == .doesNotFit)
    case "conflict": #expect(write(.set("speed", "0.4"), if: [.unchanged("speed", since: 1)])?.conflict != nil)
    case "void": #expect(send([.set("speed", "0.4")], isVoid: true).outcomes(.ann)[3] == .expired)
    case "merge": #expect(write(.of(.max, "speed", "0.4")) == .unchanged)
    default: #expect(write(.of(.setIfAbsent, "speed", "0.4")) == .unchanged)
    }
    bench.wait(100)
    #expect(values["speed"] == "0")
  }

  @Test("a proposal that is sent again after its outcome renews nothing")
  mutating func repeated() {
    write(.set("speed", "0.4"))
    #expect(write(.set("speed", "0.4")) == .unchanged)
    bench.wait(400)
    let again = NumberedProposal.of(3, [.set("speed", "0.4")])
    #expect(bench.propose(.ann, again) == [3: .unchanged])
    bench.wait(100)
    #expect(values["speed"] == "0")
  }

  @Test("a renewal after the fallback is a conflict if it names its version, and a new write if it does not")
  mutating func late() {
    write(.set("speed", "0.4"))
    bench.wait(500)
    #expect(write(.set("speed", "0.4"), if: [.unchanged("speed", since: 2)])?.conflict?.origin.name == "expiry")
    #expect(values["speed"] == "0")
    #expect(write(.set("speed", "0.4")) == .committed(4))
    bench.wait(500)
    #expect(values["speed"] == "0")
  }

  // MARK: The store

  @Test("a write or renewal in the batch that is being stored wins over the fallback", arguments: ["0.4", "0.7"])
  mutating func batchWins(_ value: String) throws {
    write(.set("speed", "0.4"))
    bench.wait(490)
    bench.settling = .later
    _ = send([.set("speed", value)])
    #expect(bench.waiting.count == 1)
    bench.wait(20)
    #expect(bench.waiting.count == 1, "no fallback beside the batch")
    #expect(try bench.settleWithStore().outcomes(.ann)[3] == (value == "0.4" ? .unchanged : .committed(3)))
    #expect(bench.waiting.isEmpty)
    bench.settling = .atOnce
    bench.wait(499)
    #expect(values["speed"] == value)
    bench.wait(1)
    #expect(values["speed"] == "0")
  }

  @Test("a renewal that waited while a batch was stored counts when it is decided, before the fallback")
  mutating func waitedBehindBatch() throws {
    write(.set("speed", "0.4"))
    bench.settling = .later
    _ = send([.set("name", "1")])
    bench.wait(490)
    _ = send([.set("speed", "0.4")])
    bench.wait(20)
    try bench.settleWithStore()
    #expect(bench.waiting.count == 1 && bench.waiting.first?.body.isEmpty == true, "only the renewal's outcome")
    try bench.settleWithStore()
    bench.settling = .atOnce
    #expect(values["speed"] == "0.4")
  }

  @Test("a fallback that the store did not take is decided again; a full store delays it until there is room")
  mutating func notTaken() throws {
    write(.set("speed", "0.4"))
    bench.settling = .later
    bench.wait(500)
    #expect(bench.waiting.count == 1)
    bench.settle(.full)
    #expect(bench.waiting.isEmpty && bench.machine.nextDeadline <= bench.now + 1_000)
    bench.wait(1_000)
    #expect(bench.waiting.count == 1)
    try bench.settleWithStore()
    bench.settling = .atOnce
    #expect(values["speed"] == "0" && bench.counters.fallbacks == 2)
  }

  @Test("a restart gives a value one more full term, and does not bring back one that has expired")
  mutating func restarted() throws {
    write(.set("speed", "0.4"), .set("light", "true"))
    write(.set("light", "false"))
    bench.wait(400)
    var next = HubBench(store: bench.store, stored: try bench.store.loadAll(), epoch: HubBench.epoch)
    #expect(next.machine.nextDeadline == 1_500)
    next.wait(499)
    #expect(values(&next) == ["speed": "0.4", "light": "false"])
    next.wait(1)
    #expect(values(&next) == ["speed": "0", "light": "false"])
    var third = HubBench(store: next.store, stored: try next.store.loadAll(), epoch: HubBench.epoch)
    third.wait(5_000)
    #expect(values(&third) == ["speed": "0", "light": "false"] && third.counters.fallbacks == 0)
  }

  // MARK: Time

  @Test("a hub that was paused gives each value one full term, and not another before it is renewed")
  mutating func paused() {
    write(.set("speed", "0.4"))
    bench.wait(10_000)
    #expect(values["speed"] == "0.4")
    bench.wait(499)
    #expect(values["speed"] == "0.4")
    bench.wait(10_000)
    #expect(values["speed"] == "0", "paused twice")
  }

  @Test("a tick that is a little late is no pause")
  mutating func lateTick() {
    write(.set("speed", "0.4"))
    bench.wait(500 + 250)
    #expect(values["speed"] == "0")
  }

  // MARK: The description

  @Test("a changed limit begins a full term; without a limit, or without the description, nothing expires")
  mutating func redescribed() {
    write(.set("speed", "0.4"))
    bench.wait(400)
    write(.set("@description", #"{"fields":{"speed":{"default":0,"expires":300}}}"#))
    bench.wait(299)
    #expect(values["speed"] == "0.4")
    write(.set("@description", #"{"fields":{"speed":{"default":0,"expires":1000}}}"#))
    bench.wait(999)
    #expect(values["speed"] == "0.4")
    write(.set("@description", #"{"fields":{"speed":{"default":0}}}"#))
    bench.wait(2_000)
    #expect(values["speed"] == "0.4")
    write(.set("@description", #"{"fields":{"speed":{"default":0.4,"expires":1000}}}"#))
    bench.wait(2_000)
    #expect(values["speed"] == "0.4", "it is the default")
    write(.set("@description", #"{"fields":{"speed":{"default":0,"expires":1000}}}"#))
    write(.delete("@description"))
    bench.wait(2_000)
    #expect(values["speed"] == "0.4" && bench.counters.fallbacks == 0)
  }

  @Test("a description with a limit that cannot be kept is refused, and the text names the path")
  mutating func badDescriptions() {
    func words(_ members: String) -> String? {
      guard case .refused(let refusal)? = write(.set("@description", #"{"fields":{"f":{\#(members)}}}"#)) else {
        return nil
      }
      #expect(refusal.code == .malformedValue)
      return refusal.text
    }
    let range = "not a whole number of milliseconds, 100 to 604800000"
    for (limit, shown) in [("99", "99"), ("604800001", "604800001"), ("0.5", "0.5"), (#""5s""#, #""5s""#)] {
      #expect(words(#""expires":\#(limit)"#) == "lamp.@description: fields.f.expires is \(shown), \(range)")
    }
    #expect(words(#""expires":100,"ephemeral":true"#)?.contains("fields.f.expires does not go with ephemeral") == true)
    for policy in ["add", "max", "min", "union", "text"] {
      #expect(words(#""expires":100,"policy":"\#(policy)""#)?.contains("the policy \(policy)") == true)
    }
    #expect(words(#""expires":100,"max":1,"default":2"#)?.contains("fields.f.default 2 is not in ...1") == true)
    #expect(words(#""expires":604800000,"policy":"compareAndSet""#) == nil)
    for count in [256, 257] {
      let fields = (0..<count).map { #""f\#($0)":{"expires":100}"# }.joined(separator: ",")
      let outcome = write(.set("@description", #"{"fields":{\#(fields)}}"#))
      #expect((outcome?.refusal == .malformedValue) == (count == 257))
    }
  }
}
