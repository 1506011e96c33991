import BindingProtocol
import Testing

@testable import BindingHub

/// Lists after a restart and after a loss (protocol.md 6.5-9).
@Suite struct ListRecoveryTests {
  private func element(_ rank: Int64, _ element: String) -> String { "{\"at\":\(rank),\"is\":\(element)}" }

  @Test("a restarted hub goes on with the order that its store holds")
  mutating func restart() throws {
    let store = LogStore()
    var hub = HubBench(store: store)
    hub.live(.ann)
    hub.write(.ann, 1, .set("@description", ListBench.description))
    hub.write(.ann, 2, .insert("a"), .insert("b"), .insert("c"), .move("a", after: "b"))
    var later = HubBench(store: store, stored: try store.loadAll())
    later.live(.ben)
    #expect(later.write(.ben, 1, .insert("x", after: "b"), .remove("c")) == .committed(3))
    let fields = later.read().values.map { (name: $0.key, value: FieldValue(bytes: Array($0.value.utf8))) }
    #expect(ListElements.ordered("cues", in: fields).map(\.id) == ["b", "x", "a"])
    #expect(later.read().values["cues"] == #"{"$list":3}"#)
  }

  @Test("recovered elements are counted by the hub, whatever the replica's head says", arguments: [nil, "7", "2"])
  mutating func head(_ told: String?) {
    var bench = ListBench(tailProven: false)
    bench.hub.joinAhead(.ann, 9)
    var fields = [
      OfferedField.of("@description", ListBench.description, version: 1),
      .of("cues@b", element(20, "2"), version: 8), .of("cues@a", element(10, "1"), version: 5),
    ]
    if let told { fields.append(.of("cues", "{\"$list\":\(told)}", version: 8)) }
    bench.hub.send(
      .ann,
      .offer(
        Offer(
          request: 1, topic: HubBench.lamp, epoch: HubBench.oldEpoch, version: 9, chunk: 0, isLast: true,
          fields: fields)))
    let received = bench.hub.wait(400)
    #expect(received.commits().flatMap(\.commits).allSatisfy { $0.number == 0 })
    #expect(bench.ids() == ["a", "b"])
    #expect(bench.hub.read().values["cues"] == #"{"$list":2}"#)
  }

  @Test("ranks that collide with those of the new epoch give one order, and room is found between them")
  mutating func collision() {
    var bench = ListBench(tailProven: false)
    bench.hub.wait(3_000)
    bench.hub.joinAhead(.ben, 9)
    bench.hub.offer(
      .ben, 9, .of("@description", ListBench.description, version: 1), .of("cues@b", element(7, "2"), version: 8),
      .of("cues@a", element(7, "1"), version: 5), .of("cues@c", element(7, "3"), version: 6))
    bench.hub.wait(3_000)
    #expect(bench.array() == "[1,2,3]")
    bench.hub.join(.ann, Join(request: 4, model: "lamp"))
    #expect(bench.write(.insert("x", "9", after: "a"))?.isCommitted == true)
    #expect(bench.array() == "[1,9,2,3]")
    #expect(bench.ids() == ["a", "x", "b", "c"], "and ranks differ again")
  }

  @Test(
    "an offered element that is none is not recovered",
    arguments: ["7", #"{"at":0,"is":1}"#, #"{"at":9007199254740992,"is":1}"#, #"{"at":"5","is":1}"#, #"{"at":5}"#])
  mutating func malformed(_ value: String) {
    var bench = ListBench(tailProven: false)
    bench.hub.joinAhead(.ann, 9)
    bench.hub.offer(
      .ann, 9, .of("@description", ListBench.description, version: 1), .of("cues@a", value, version: 5),
      .of("cues@b", element(3, "1"), version: 6))
    bench.hub.wait(400)
    #expect(bench.ids() == ["b"])
    #expect(bench.hub.counters.refusedOfferedFields == 1)
  }

  @Test("a deletion of elements that a replica proves is counted too")
  mutating func deleted() {
    var bench = ListBench(tailProven: false)
    bench.hub.joinAhead(.ann, 9)
    bench.hub.joinAhead(.ben, 8)
    bench.hub.offer(
      .ben, 8, .of("@description", ListBench.description, version: 1), .of("cues@b", element(3, "1"), version: 6),
      .of("cues@a", element(2, "1"), version: 5), .of("cues", #"{"$list":2}"#, version: 6))
    bench.hub.offer(
      .ann, 9, .of("@description", ListBench.description, version: 1), .of("cues@b", nil, version: 9),
      .of("cues@a", element(2, "1"), version: 5), .of("cues", #"{"$list":1}"#, version: 9))
    bench.hub.wait(400)
    #expect(bench.ids() == ["a"])
    #expect(bench.hub.read().values["cues"] == #"{"$list":1}"#)
  }
}
