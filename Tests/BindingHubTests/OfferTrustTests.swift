import BindingHub
import BindingProtocol
import Testing

/// Which peers are asked for a replica, and what of it is believed: the first peer back may lie.
@Suite struct OfferTrustTests {
  var bench = HubBench(tailProven: false)

  init() {
    bench.hello(.ann)
    bench.hello(.ben)
  }

  @Test("of peers at the same version four are asked, whatever other peers claim")
  mutating func fourAreAsked() {
    let peers = (11...15).map { Speaker(UInt64($0), "p\($0)") }
    let asked = peers.map { peer in
      bench.hello(peer)
      let received = bench.joinAhead(peer, 9)
      _ = bench.offer(peer, 9, .of("a", "9", version: 9))
      return received.askedOffers(peer).count
    }
    #expect(asked == [1, 1, 1, 1, 0])
    #expect(bench.joinAhead(.ann, 8).askedOffers(.ann).count == 1)
  }

  @Test("a peer that leaves without an answer does not count toward the four")
  mutating func unansweredIsWithdrawn() {
    for number in UInt64(1)...6 {
      let peer = Speaker(20 + number, "p")
      bench.hello(peer)
      #expect(bench.joinAhead(peer, 9).askedOffers(peer).count == 1)
      bench.send(peer, .leave(Leave()))
    }
  }

  @Test("a forged version does not exclude later peers: fields that only they have are recovered")
  mutating func silencesNobody() {
    _ = bench.joinAhead(.ann, 1 << 52)
    _ = bench.offer(.ann, 1 << 52, .of("x", "\"forged\"", version: 1 << 52))
    bench.wait(2_500)
    #expect(bench.joinAhead(.ben, 7).askedOffers(.ben).count == 1)
    _ = bench.offer(.ben, 7, .of("x", "1", version: 6), .of("y", "2", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["x": "\"forged\"", "y": "2"])
    #expect(bench.read().fields["x"]?.origin == Speaker.ann.origin)
  }

  @Test("long after an epoch began, only a peer ahead of all others is asked")
  mutating func late() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(60_000)
    bench.hello(.ann)
    bench.hello(.ben)
    #expect(bench.joinAhead(.ben, 6).askedOffers(.ben).isEmpty)
    #expect(bench.joinAhead(.ann, 8).askedOffers(.ann).count == 1)
  }

  @Test(
    "a replica of an impossible epoch or version is not asked for",
    arguments: [
      (HubBench.epoch + 1, 7), (HubBench.epoch + 1 << 32, 7), (UInt64.max, 7), (HubBench.oldEpoch, UInt64.max),
    ] as [(Epoch, Version)])
  mutating func implausible(_ epoch: Epoch, _ version: Version) {
    #expect(bench.joinAhead(.ann, version, epoch: epoch).askedOffers(.ann).isEmpty)
    #expect(bench.counters.implausibleReplicas == 1)
  }

  @Test("an offer of an impossible epoch that differs from its join is refused")
  mutating func implausibleOffer() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7), epoch: .max)
    bench.wait(2_000)
    #expect(bench.read().version == 0)
    #expect(bench.counters.implausibleReplicas == 1)
  }

  @Test("reserved names, versions beyond the replica's and invalid values are left out and counted")
  mutating func refusedFields() {
    _ = bench.joinAhead(.ann, 7)
    let description = #"{"fields":{}}"#
    _ = bench.offer(
      .ann, 7, .of("@peer-0", "1", version: 3), .of("@me", "1", version: 3),
      .of("late", "1", version: 8), .of("none", "1", version: 0), .of("bad", "{", version: 3),
      .of("@description", description, version: 3), .of("a", "1", version: 4))
    bench.wait(400)
    #expect(bench.read().values == ["a": "1", "@description": description])
    #expect(bench.counters.refusedOfferedFields == 5)
  }
}
