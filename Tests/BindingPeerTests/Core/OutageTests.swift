import BindingPeer
import BindingProtocol
import Testing

@Suite("A session without a hub")
struct OutageTests {
  @Test("half a second without a hub is reported once, and so is the hub found afterwards")
  func outage() {
    var bench = PeerBench()
    bench.join()
    #expect(bench.wait(0).notices.isEmpty && bench.session.nextDeadline == bench.now + 500)
    #expect(bench.wait(499).notices.isEmpty)
    #expect(bench.wait(1).notices == [.noHub])
    #expect(bench.wait(5_000).notices.isEmpty && bench.session.nextDeadline == .max)
    bench.open()
    #expect(bench.welcome().notices == [.hubFound])
  }

  @Test("a connection restored within half a second is no outage, and each outage is reported again")
  func outages() {
    var bench = PeerBench()
    bench.live()
    bench.wait(1_000)
    #expect(bench.lose().notices == [.reopening(.lost)])
    #expect(bench.wait(499).notices.isEmpty)
    bench.open()
    #expect(bench.welcome(knew: true).notices.isEmpty)
    bench.lose()
    bench.open()
    #expect(bench.wait(500).notices == [.noHub])
    #expect(bench.welcome(knew: true).notices == [.hubFound])
  }

  @Test("a hub that answers with an error is not reported as missing")
  func refusingHub() {
    var bench = PeerBench()
    bench.open()
    bench.hub(bench.error(.closing))
    #expect(bench.wait(5_000).notices.isEmpty)
  }

  @Test("a hello tells which connection of its run it opens, and another run draws another number")
  func openings() throws {
    func opening(_ bench: inout PeerBench) throws -> Opening {
      try #require(bench.open().hellos.first.flatMap { HelloPlace(of: $0).opening })
    }
    var (bench, other) = (PeerBench(seed: 1), PeerBench(seed: 2))
    let first = try opening(&bench)
    bench.lose()
    let second = try opening(&bench)
    #expect(first.precedes(second) && first.run == second.run && second.count == first.count + 1)
    #expect(try opening(&other).run != first.run)
  }
}
