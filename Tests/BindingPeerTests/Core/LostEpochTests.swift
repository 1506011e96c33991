import BindingPeer
import Testing

@Suite("A session after its hub has lost commits")
struct LostEpochTests {
  @Test("a write that the next epoch has lost shows until it is committed again")
  func lostWithItsEpoch() throws {
    let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]
    var bench = PeerBench()
    bench.live(version: 5, lit)
    try bench.set(["level": "0.9"])
    bench.lose()
    bench.open()
    let other = [Entry(name: "level", value: "0.4", version: 7), lit[1]]
    bench.catchUp(bench.welcome(knew: true).request, version: 7, other, lastDecided: 1)
    #expect(bench.shown("level") == "0.4", "it is in this state already, below what others wrote")
    bench.lose()
    bench.open()
    bench.epoch += 1
    let drain = bench.catchUp(bench.welcome().request, version: 5, lit, lastDecided: 0)
    #expect(drain.numbers == [1])
    #expect(bench.shown("level") == "0.9")
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(bench.shown("level") == "0.9")
  }

  @Test("an acknowledged write lost before it was seen no longer shows where the next epoch is empty")
  func lostUnseen() throws {
    var bench = PeerBench()
    bench.join()
    bench.open()
    func joinEmpty(_ bench: inout PeerBench) -> Drain {
      let request = bench.welcome().request
      return bench.hub(bench.assigned(request), bench.joined(request, version: 0, follows: .nothing))
    }
    _ = joinEmpty(&bench)
    try bench.set(["level": "0.9"])
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 7))))
    #expect(bench.shown("level") == "0.9")
    bench.lose()
    bench.open()
    bench.epoch += 1
    #expect(joinEmpty(&bench).changes == ["level 0.9 -"])
    #expect(bench.shown("level") == nil)
  }
}
