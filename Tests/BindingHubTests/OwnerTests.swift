import BindingHub
import BindingProtocol
import Testing

@Suite("A model's owner at the hub")
struct OwnerTests {
  private var room = Room()

  init() { room.write(.ann, 1, .set("@owner", #""ann""#)) }

  private func question(_ received: Received) -> ApprovalRequest? {
    received.messages(to: .ann).lazy.compactMap { if case .approve(let request) = $0 { request } else { nil } }.first
  }

  private func answer(_ request: ApprovalRequest, _ reason: String? = nil) -> PeerMessage {
    .approval(Approval(topic: request.topic, token: request.token, isAccepted: reason == nil, text: reason ?? ""))
  }

  @Test("the owner is asked about the resulting values before anything is decided")
  mutating func asked() throws {
    room.hub.write(.ann, 1, .set("count", "5"))
    let received = room.hub.send(.ben, .propose([.of(1, [.of(.add, "count", "2"), .set("on", "true")])]))
    let request = try #require(question(received))
    #expect(request.origin == Speaker.ben.origin)
    #expect(request.topic == HubBench.lamp)
    #expect(request.fields.map(\.name) == ["count", "on"])
    #expect(request.fields.map { $0.value?.description } == ["7", "true"])
    #expect(received.outcomes(.ben).isEmpty)
    #expect(room.hub.read().values == ["count": "5"])
  }

  @Test("a write that the owner approves is committed")
  mutating func agreed() throws {
    let request = try #require(question(room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))))
    let received = room.hub.send(.ann, answer(request))
    #expect(received.outcomes(.ben) == [1: .committed(1)])
    #expect(room.hub.read().values == ["on": "true"])
  }

  @Test("a write that the owner refuses is refused with its reason, and uses its number")
  mutating func refused() throws {
    let request = try #require(question(room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))))
    let received = room.hub.send(.ann, answer(request, "not at night"))
    guard case .refused(let refusal)? = received.outcomes(.ben)[1] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .refusedByOwner)
    #expect(refusal.text == "lamp: ann says: not at night")
    #expect(question(room.hub.send(.ben, .propose([.of(2, [.set("on", "false")])]))) != nil)
  }

  @Test("writers may be forgotten while the owner is asked, and its approval may then be deferred")
  mutating func forgottenMeanwhile() throws {
    room.hub.live(.cat)
    let first = try #require(question(room.hub.send(.cat, .propose([.of(1, [.set("a", "1")])]))))
    room.hub.send(.ann, answer(first))
    let second = try #require(question(room.hub.send(.ben, .propose([.of(1, [.set("b", "2")])]))))
    room.hub.send(
      .cat, .alive(Alive(heartbeat: 0, entries: [AliveEntry(topic: HubBench.lamp, confirmed: 1, applied: 1)])))
    room.hub.send(.cat, .leave(Leave()))
    #expect(room.hub.counters.forgottenIdentities == 1)
    room.hub.settling = .later
    room.hub.send(.ann, answer(second))
    #expect(room.hub.settle(.full).outcomes(.ben).keys.sorted() == [1])
    #expect(room.hub.read().values == ["a": "1"])
  }

  @Test("the owner's own writes are committed without approval")
  mutating func ownWrites() {
    #expect(room.hub.write(.ann, 1, .set("on", "true")) == .committed(1))
  }

  @Test("later proposals wait and are asked about in turn")
  mutating func inTurn() throws {
    let first = try #require(
      question(room.hub.send(.ben, .propose([.of(1, [.set("a", "1")]), .of(2, [.set("b", "2")])]))))
    #expect(room.hub.write(.ann, 1, .set("c", "3")) == nil)
    let received = room.hub.send(.ann, answer(first))
    let second = try #require(question(received))
    #expect(received.outcomes(.ben) == [1: .committed(1)])
    let last = room.hub.send(.ann, answer(second))
    #expect(last.outcomes(.ben) == [2: .committed(2)])
    #expect(last.outcomes(.ann) == [1: .committed(3)])
  }

  @Test("a proposal that would be refused or conflict anyway is not asked about")
  mutating func notAsked() {
    room.hub.write(.ann, 1, .set("on", "true"))
    let received = room.hub.send(
      .ben, .propose([.of(1, [.set("on", "false")], conditions: [.unchanged("on", since: 0)])]))
    #expect(question(received) == nil)
    #expect(received.outcomes(.ben)[1]?.conflict != nil)
  }

  @Test("an owner that does not answer within 2 s is not waited for")
  mutating func silent() throws {
    _ = room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))
    #expect(room.hub.wait(1_900).outcomes(.ben).isEmpty)
    let received = room.hub.wait(200)
    #expect(received.outcomes(.ben)[1]?.refusal == .ownerSilent)
    #expect(room.hub.counters.silentOwners == 1)
  }

  @Test(
    "a silent owner loses the model: proposals that wait behind the asked one are committed immediately")
  mutating func disowned() {
    room.hub.send(.ben, .propose((1...8).map { .of($0, [.set("on", "\($0)")]) }))
    let outcomes = room.hub.wait(2_000).outcomes(.ben)
    #expect(outcomes[1]?.refusal == .ownerSilent)
    #expect((2...8).allSatisfy { outcomes[$0] == .committed(Version($0) - 1) }, "\(outcomes)")
    #expect(room.hub.counters.silentOwners == 1)
    // Another peer may take it now.
    #expect(room.write(.ben, 1, .set("@owner", #""ben""#)).map { !isRefused($0, .notOwner) } == true)
  }

  @Test("a write that an owner was silent about is refused, also when its peer returned and sent it again")
  mutating func silentAboutGone() throws {
    room.hub.write(.ben, 1, .set("on", "true"))
    let ben = Speaker.ben.again(22)
    room.hub.hello(ben)
    room.hub.send(ben, .join([Join(request: 1, model: "lamp")]))
    room.hub.write(ben, 1, .set("on", "true"))
    room.hub.wait(2_000)
    let again = room.hub.send(ben, .propose([.of(1, [.set("on", "true")])]))
    guard case .refused(let refusal)? = again.outcomes(ben)[1] else {
      Issue.record("\(again.outcomes(ben))")
      return
    }
    #expect(refusal.code == .ownerSilent && room.hub.read().values.isEmpty)
  }

  @Test("an answer that is late, or from another peer, changes nothing")
  mutating func lateAnswer() throws {
    let request = try #require(question(room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))))
    #expect(room.hub.send(.ben, answer(request)).outcomes(.ben).isEmpty)
    room.hub.wait(2_100)
    #expect(room.hub.send(.ann, answer(request)).outcomes(.ben).isEmpty)
    #expect(room.hub.read().values.isEmpty)
  }

  @Test("when the owner leaves, the pending write is decided without it")
  mutating func ownerGoes() throws {
    _ = room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))
    let received = room.hub.send(.ann, .leave(Leave()))
    #expect(received.outcomes(.ben) == [1: .committed(1)])
    #expect(room.hub.write(.ben, 2, .set("on", "false")) == .committed(2))
  }

  @Test("a model has one owner")
  mutating func oneOwner() {
    #expect(isRefused(room.write(.ben, 1, .set("@owner", "1")), .notOwner))
  }

  @Test("an approval that arrives during an append is applied after it")
  mutating func whileStoring() throws {
    room.hub.settling = .later
    // In one drain: ann's own write is decided, then ben's is asked about.
    let received = room.hub.together([
      (.ann, .propose([.of(1, [.set("a", "1")])])), (.ben, .propose([.of(1, [.set("b", "2")])])),
    ])
    let request = try #require(question(received))
    #expect(room.hub.send(.ann, answer(request)).outcomes(.ben).isEmpty)
    room.hub.settling = .atOnce
    let after = try room.hub.settleWithStore()
    #expect(after.outcomes(.ann) == [1: .committed(1)])
    #expect(after.outcomes(.ben) == [1: .committed(2)])
  }

  @Test("a proposer that leaves while the owner is asked does not block the model")
  mutating func proposerGoes() throws {
    let request = try #require(question(room.hub.send(.ben, .propose([.of(1, [.set("on", "true")])]))))
    room.hub.send(.ben, .leave(Leave()))
    room.hub.send(.ann, answer(request))
    #expect(room.hub.write(.ann, 1, .set("on", "false")) == .committed(1))
  }
}
