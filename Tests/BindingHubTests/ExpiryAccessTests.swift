import BindingProtocol
import Testing

@testable import BindingHub

/// Who may renew a field that expires, and what remains of terms that nobody needs.
@Suite("Renewals by others, and terms that go")
struct ExpiryAccessTests {
  private static let description = #"{"fields":{"speed":{"default":0,"expires":500}}}"#

  @Test("the owner is neither asked about a renewal nor about the fallback, which does not wait for its answer")
  func owner() throws {
    var room = Room()
    room.hub.write(.ann, 1, .set("@description", Self.description), .set("speed", "0.4"))
    room.write(.ann, 1, .set("@owner", #""ann""#))
    room.hub.wait(400)
    let renewal = room.hub.send(.ben, .propose([.of(1, [.set("speed", "0.4")])]))
    #expect(renewal.outcomes(.ben)[1] == .unchanged)
    let asked = room.hub.send(.ben, .propose([.of(2, [.set("speed", "0.9")])]))
    let requests = asked.messages(to: .ann).compactMap { if case .approve(let request) = $0 { request } else { nil } }
    let request = try #require(requests.first)
    let received = room.hub.wait(500)
    #expect(received.commits().last?.origins == [Origin(tag: .none, name: "expiry")])
    #expect(room.hub.read().values["speed"] == "0")
    let answer = Approval(topic: request.topic, token: request.token, isAccepted: true, text: "")
    #expect(room.hub.send(.ann, .approval(answer)).outcomes(.ben)[2] == .committed(3))
    room.hub.wait(500)
    #expect(room.hub.read().values["speed"] == "0")
  }

  @Test("whoever may not write a field cannot keep its value alive either")
  func liar() {
    var bench = HubBench()
    let all = AccessPattern("*").map { [$0] } ?? []
    let everything = Dictionary(uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, all) })
    let policy = AccessPolicy(
      roles: [
        "staff": AccessRole(everything, fanout: true, recover: true, admin: true),
        "lighting": AccessRole([
          .read: all, .write: [AccessPattern("lamp.light"), AccessPattern("lamp.lamp")].compactMap { $0 },
        ]),
      ],
      names: ["ann": ["staff"], "ben": ["lighting"]])
    bench.act { machine, _, _ in
      _ = machine.apply(policy)
      for peer in [Speaker.ann, .ben] {
        machine.identify(peer.connection, as: .named(peer.identity.name, role: nil))
      }
    }
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("@description", Self.description))
    bench.write(.ann, 2, .set("speed", "0.4"))
    bench.wait(400)
    #expect(bench.write(.ben, 1, .set("speed", "0.4"))?.refusal == .notPermitted)
    #expect(bench.write(.ben, 2, .set("speed", "0.4"), .set("light", "1"))?.refusal == .notPermitted)
    #expect(bench.write(.ben, 3, .set("light", "1")) == .committed(3))
    bench.wait(100)
    #expect(bench.counters.fallbacks == 1)
  }

  @Test("a removed model, deleted and renamed fields leave no terms, and the next model of that name has its own")
  func gone() throws {
    var bench = HubBench()
    bench.live(.ann)
    bench.write(.ann, 1, .set("@description", Self.description), .set("speed", "0.4"))
    bench.write(.ann, 2, .of(.clear, ""))
    #expect(bench.wait(2_000).commits().isEmpty && bench.counters.fallbacks == 0)
    bench.write(.ann, 3, .set("@description", Self.description))
    bench.write(.ann, 4, .set("speed", "0.4"))
    bench.write(.ann, 5, .delete("speed"))
    #expect(bench.wait(2_000).commits().isEmpty)
    bench.write(.ann, 6, .set("speed", "1"))
    #expect(bench.wait(500).commits().count == 1)
  }
}
