import BindingPeer
import BindingProtocol
import Testing

@Suite("A session with barriers and version reports")
struct AppliedTests {
  private var bench = PeerBench()

  init() throws { bench.capabilities = [Capability.applied] }

  private mutating func wait(
    _ version: Version = 5, count: UInt32 = 0, timeoutMilliseconds: UInt64 = 2_000
  ) -> (id: BarrierID?, drain: Drain) {
    var id: BarrierID?
    let drain = bench.act { session, now, _ in
      id = session.awaitApplied(version, of: "lamp", count: count, timeoutMilliseconds: timeoutMilliseconds, now: now)
    }
    return (id, drain)
  }

  private func awaited(
    _ request: UInt32, _ end: Awaited.End, applied: UInt32 = 0, of: UInt32 = 0, _ missing: [String] = []
  ) -> HubMessage {
    .awaited(
      Awaited(session: bench.sessionID, request: request, applied: applied, of: of, end: end, missing: missing))
  }

  private func ask(_ version: Version) -> HubMessage { .ask(AskApplied(epoch: bench.epoch, version: version)) }

  @Test("a barrier asks the hub immediately, and reports its answer once")
  mutating func answered() throws {
    bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)])
    let (id, drain) = wait(count: 3)
    let asked = try #require(drain.awaits.first)
    #expect(asked.topic == PeerBench.lamp && asked.version == 5 && asked.epoch == bench.epoch)
    #expect(asked.count == 3 && asked.timeoutMilliseconds == 2_000)
    let end = bench.hub(awaited(asked.request, .complete, applied: 3, of: 3))
    #expect(end.barriers.map(\.id) == [id] && end.barriers.map(\.end) == [.applied(3)])
    #expect(bench.hub(awaited(asked.request, .complete, applied: 3, of: 3)).barriers.isEmpty)
  }

  @Test("a barrier reports the missing peers, and why the hub does not wait")
  mutating func notComplete() throws {
    bench.live()
    let cases: [(Awaited.End, BarrierEnd)] = [
      (.incomplete, .missing(["desk"], applied: 1, of: 2)), (.tooMany, .tooMany), (.otherEpoch, .otherEpoch),
      (.notJoined, .notJoined),
    ]
    for (answered, reported) in cases {
      let request = try #require(wait(0).drain.awaits.first).request
      #expect(bench.hub(awaited(request, answered, applied: 1, of: 2, ["desk"])).barriers.map(\.end) == [reported])
    }
  }

  @Test("a barrier waits for a hub, and asks it for the remaining time")
  mutating func later() throws {
    bench.join()
    #expect(wait().drain.awaits.isEmpty)
    bench.wait(500)
    let drain = bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)])
    #expect(drain.awaits.map(\.timeoutMilliseconds) == [1_500])
  }

  @Test("a barrier asks again after a reconnect, under another request number")
  mutating func reconnected() throws {
    bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)])
    let first = try #require(wait().drain.awaits.first)
    bench.lose()
    bench.wait(700)
    let second = try #require(
      bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)], knew: true).awaits.first)
    #expect(second.request != first.request && second.timeoutMilliseconds == 1_300)
    #expect(bench.hub(awaited(first.request, .complete)).barriers.isEmpty)
    #expect(bench.hub(awaited(second.request, .complete, applied: 1)).barriers.count == 1)
  }

  @Test("a barrier ends at its timeout without a hub, and a second later when a hub was asked")
  mutating func noAnswer() {
    bench.join()
    _ = wait(timeoutMilliseconds: 300)
    #expect(bench.wait(299).barriers.isEmpty)
    #expect(bench.wait(1).barriers.map(\.end) == [.noAnswer])
    bench.live()
    _ = wait(0, timeoutMilliseconds: 300)
    #expect(bench.wait(1_299).barriers.isEmpty)
    #expect(bench.session.nextDeadline <= bench.now + 1)
    #expect(bench.wait(1).barriers.map(\.end) == [.noAnswer])
  }

  @Test("a barrier sends nothing to a hub without the capability, and reports it as too old")
  mutating func oldHub() {
    bench.capabilities = []
    bench.live()
    let drain = wait(0).drain
    #expect(drain.awaits.isEmpty && drain.barriers.map(\.end) == [.hubTooOld])
  }

  @Test("a barrier ends with the session, and with another epoch")
  mutating func ends() {
    bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)])
    _ = wait()
    bench.lose()
    bench.epoch += 1
    #expect(bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)]).barriers.map(\.end) == [.otherEpoch])
    _ = wait()
    let bye = bench.act { session, now, output in session.bye(now: now, into: &output) }
    #expect(bye.barriers.map(\.end) == [.stopped(.closed)])
    #expect(wait().drain.barriers.map(\.end) == [.stopped(.closed)])
  }

  @Test("a barrier ends when its model is left")
  mutating func left() {
    bench.live(version: 5, [Entry(name: "on", value: "true", version: 5)])
    _ = wait()
    let drain = bench.act { session, now, output in session.leave("lamp", now: now, into: &output) }
    #expect(drain.barriers.map(\.end) == [.notJoined])
  }

  @Test("a session answers the hub's question immediately when it has the version, with its digest")
  mutating func reports() throws {
    bench.live(
      version: 12,
      [
        Entry(name: "level", value: "0.8", version: 12), Entry(name: "on", value: "true", version: 9),
      ])
    let entry = try #require(bench.hub(ask(12)).reports.first)
    #expect(entry.topic == PeerBench.lamp && entry.epoch == bench.epoch && entry.version == 12 && entry.healed == 0)
    #expect(entry.digest == 0x09D7_D3AE_59E2_AC80)
    #expect(bench.wait(100).reports.isEmpty)
  }

  @Test("a session answers questions for later versions as soon as each is there")
  mutating func reportsLater() {
    bench.live(version: 1, [Entry(name: "level", value: "0.8", version: 1)])
    #expect(bench.hub(ask(2)).reports.isEmpty)
    #expect(bench.hub(ask(3)).reports.isEmpty)
    #expect(bench.hub(bench.commits(after: 1, [[0: "0.9"]], names: NamesRun(first: 1))).reports.map(\.version) == [2])
    #expect(bench.hub(bench.commits(after: 2, [[0: "1"]], names: NamesRun(first: 1))).reports.map(\.version) == [3])
    #expect(bench.hub(bench.commits(after: 3, [[0: "2"]], names: NamesRun(first: 1))).reports.isEmpty)
  }

  @Test("a session that heals a divergence reports it unasked, counted within the session")
  mutating func healed() throws {
    let fields = [Entry(name: "level", value: "0.8", version: 12)]
    bench.live(version: 12, fields)
    for count in 1...2 {
      let request = bench.hub(bench.head(12, digest: 1)).request
      let entry = try #require(bench.catchUp(request, version: 12, fields).reports.first)
      #expect(entry.version == 12 && entry.healed == UInt32(count))
    }
    bench.lose()
    bench.live(version: 12, fields, knew: true)
    #expect(bench.hub(ask(1)).reports.map(\.healed) == [0])
  }

  @Test("a session reports nothing unasked to a hub that does not know reports")
  mutating func healedSilently() {
    bench.capabilities = []
    let fields = [Entry(name: "level", value: "0.8", version: 12)]
    bench.live(version: 12, fields)
    let request = bench.hub(bench.head(12, digest: 1)).request
    #expect(bench.catchUp(request, version: 12, fields).reports.isEmpty)
  }
}

extension Drain {
  var awaits: [AwaitApplied] {
    sent.compactMap { if case .awaitApplied(let wanted) = $0 { wanted } else { nil } }
  }
  var reports: [AppliedEntry] {
    sent.flatMap { message -> [AppliedEntry] in if case .report(let entries) = message { entries } else { [] } }
  }
}
