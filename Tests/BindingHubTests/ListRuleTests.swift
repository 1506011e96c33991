import BindingProtocol
import Testing

@testable import BindingHub

/// Lists and the description, rights, owners, and peers that do not know lists.
@Suite struct ListRuleTests {
  private var bench = ListBench()
  private static let plain = #"{"fields":{"cues":{"type":"array"}}}"#

  // MARK: The description

  @Test("an array becomes a list only while it is empty, or with the first elements", arguments: ["[1]", "7", "{}"])
  mutating func becomesList(_ value: String) {
    bench.write(.set("@description", #"{"fields":{}}"#))
    bench.write(.set("cues", value))
    let outcome = bench.write(.set("@description", ListBench.description))
    #expect(outcome?.refusal == .doesNotFit)
    #expect(ListBench.text(outcome)?.contains("delete it first") == true)
    let since = WireCondition.unchanged("cues", since: 3)
    #expect(
      bench.write([.set("@description", ListBench.description), .insert("a", "1")], if: [since]) == .committed(4))
    #expect(bench.ids() == ["a"])
    #expect(bench.write(.set("cues", "[1]"))?.refusal == .doesNotFit)
  }

  @Test("an empty array becomes a list as it is")
  mutating func emptyArray() {
    bench.write(.set("@description", Self.plain))
    bench.write(.set("cues", " [ ]"))
    #expect(bench.write(.set("@description", ListBench.description)) == .committed(4))
    #expect(bench.write(.insert("a")) == .committed(5))
    #expect(bench.ids() == ["a"])
  }

  @Test("a value that passes for a head is none", arguments: [#"{"$list":1}"#, #"{"$list":0,"x":1}"#])
  mutating func forgedHead(_ value: String) {
    bench.write(.set("@description", #"{"fields":{}}"#))
    #expect(bench.write(.set("cues", value), .set("@description", ListBench.description))?.refusal == .doesNotFit)
    #expect(bench.write(.set("@description", ListBench.description), .set("cues", value))?.refusal == .doesNotFit)
  }

  @Test(
    "a list with elements stays one until it is deleted",
    arguments: [WireOperation.set("@description", plain), .delete("@description")])
  mutating func staysList(_ operation: WireOperation) {
    bench.write(.insert("a"))
    let outcome = bench.write(operation)
    #expect(outcome?.refusal == .doesNotFit)
    #expect(ListBench.text(outcome) == "lamp.cues: is a list of 1 elements; delete it first")
    #expect(bench.write(.insert("b")) == .committed(3), "the description still applies")
    bench.write(.delete("cues"))
    #expect(bench.write(operation) == .committed(5))
  }

  @Test("elements must fit the description that their proposal leaves, wherever in it that is written")
  mutating func laterDescription() {
    let strict = #"{"fields":{"cues":{"policy":"list","type":"number","min":5}}}"#
    let outcome = bench.write(.insert("a", "1"), .set("@description", strict))
    #expect(ListBench.text(outcome) == "lamp.cues@a: 1 is not in 5...")
    #expect(bench.write(.set("@description", strict), .insert("a", "6")) == .committed(2))
  }

  @Test("a list cannot be ephemeral, and no element is described for itself")
  mutating func malformed() {
    let both = #"{"fields":{"cues":{"policy":"list","ephemeral":true}}}"#
    #expect(ListBench.text(bench.write(.set("@description", both)))?.contains("fields.cues.policy is list") == true)
    #expect(bench.write(.set("@description", #"{"fields":{"cues@a":{}}}"#))?.refusal == .malformedValue)
  }

  // MARK: Owners

  @Test("the owner of a model sees the resulting elements and the head")
  mutating func owner() throws {
    bench.hub.join(.ann, Join(request: 5, model: "@ephemeral/lamp"), topic: HubBench.lamp + 1)
    let topic = bench.hub.machine.topic(of: "@ephemeral/lamp") ?? 0
    bench.hub.send(.ann, .propose([.of(1, [.set("@owner", "1")], topic: topic)]))
    let received = bench.hub.send(.ben, .propose([.of(1, [.insert("a", "4")])]))
    let asked = received.messages(to: .ann).compactMap { if case .approve(let request) = $0 { request } else { nil } }
    let request = try #require(asked.first)
    #expect(request.fields.map(\.name) == ["cues@a", "cues"])
    #expect(request.fields.last?.value?.description == #"{"$list":1}"#)
    #expect(bench.ids().isEmpty)
    let approval = Approval(topic: request.topic, token: request.token, isAccepted: true, text: "")
    #expect(bench.hub.send(.ann, .approval(approval)).outcomes(.ben) == [1: .committed(2)])
    #expect(bench.ids() == ["a"])
  }

  // MARK: Rights

  @Test("rights on a list are rights on its elements")
  mutating func rights() throws {
    var hub = HubBench()
    let policy = AccessPolicy(
      roles: [
        "staff": AccessRole(
          Dictionary(uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, [AccessPattern("*")!]) })),
        "adder": AccessRole([.write: [AccessPattern("lamp.cues")!]]),
        "remover": AccessRole([.delete: [AccessPattern("lamp.cu*")!]]),
      ], names: ["ann": ["staff"], "ben": ["adder"], "cat": ["remover"]])
    hub.act { machine, _, _ in _ = machine.apply(policy) }
    for peer in [Speaker.ann, .ben, .cat] {
      hub.act { machine, _, _ in machine.identify(peer.connection, as: .named(peer.identity.name, role: nil)) }
      hub.live(peer, topic: hub.machine.topic(of: "lamp") ?? HubBench.lamp)
    }
    let topic = hub.machine.topic(of: "lamp") ?? 0
    func write(_ peer: Speaker, _ number: ProposalNumber, _ operations: WireOperation...) -> WireOutcome.Rest? {
      hub.send(peer, .propose([.of(number, operations, topic: topic)])).outcomes(peer, topic: topic)[number]
    }
    _ = write(.ann, 1, .set("@description", ListBench.description))
    #expect(write(.ben, 1, .insert("a")) == .committed(2))
    #expect(write(.ben, 2, .remove("a"))?.refusal == .notPermitted)
    #expect(write(.cat, 1, .insert("b"))?.refusal == .notPermitted)
    #expect(write(.cat, 2, .move("a"))?.refusal == .notPermitted)
    #expect(write(.cat, 3, .replace("a", "2"))?.refusal == .notPermitted)
    #expect(write(.cat, 4, .remove("a")) == .committed(3))
    #expect(write(.ben, 3, .insert("x", in: "other"))?.refusal == .notPermitted)
  }

  // MARK: Peers that do not know lists

  @Test("a peer that does not know lists is refused a model that has one, and told what to do")
  mutating func older() {
    bench.hub.hello(.cat, knowsLists: false)
    let received = bench.hub.send(.cat, .join([Join(request: 1, model: "lamp"), Join(request: 2, model: "other")]))
    #expect(received.errors(.cat).map(\.code) == [.badName])
    #expect(received.errors(.cat).first?.isFatal == false)
    #expect(received.errors(.cat).first?.text.hasPrefix("lamp: it has lists") == true)
    #expect(received.errors(.cat).first?.text.contains("update it") == true)
  }

  @Test("a peer that does not know lists leaves a model that gets one, before it is sent a name that it cannot read")
  mutating func olderAlready() {
    var hub = HubBench()
    hub.live(.ann)
    hub.hello(.cat, knowsLists: false)
    hub.join(.cat, Join(request: 1, model: "lamp"))
    hub.unsubscribe(.cat, Topics.bytes(HubBench.lamp))
    #expect(hub.write(.ann, 1, .set("level", "1")) == .committed(1))
    let received = hub.send(.ann, .propose([.of(2, [.set("@description", ListBench.description)])]))
    #expect(received.errors(.cat).map(\.code) == [.badName])
    let later = hub.send(.ann, .propose([.of(3, [.insert("a")])]))
    #expect(later.frames(to: .cat).isEmpty)
    #expect(hub.send(.cat, .propose([.of(1, [.set("level", "2")])])).errors(.cat).map(\.code) == [.notJoined])
    #expect(hub.machine.hub.models[0].members.unable.isEmpty)
  }

  @Test("an owner that does not know lists is not asked about elements that it cannot read")
  mutating func olderOwner() {
    var hub = HubBench()
    hub.live(.ann)
    hub.hello(.cat, knowsLists: false)
    hub.join(.cat, Join(request: 1, model: "lamp"))
    hub.send(.cat, .join([Join(request: 2, model: "@ephemeral/lamp")]))
    let topic = hub.machine.topic(of: "@ephemeral/lamp") ?? 0
    hub.subscribe(.cat, Topics.bytes(topic))
    hub.send(.cat, .propose([.of(1, [.set("@owner", "1")], topic: topic)]))
    let proposal = NumberedProposal.of(1, [.set("@description", ListBench.description), .insert("a")])
    let received = hub.send(.ann, .propose([proposal]))
    #expect(received.outcomes(.ann)[1]?.refusal == .refusedByOwner)
    #expect(received.frames(to: .cat).isEmpty)
  }
}
