import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("A copy of an outbox that lags behind its original")
struct LaggingCopyTests {
  /// A session of a run that had sent an `add` as number 1. The values of the hub contain what number 1 did.
  private func resumed() throws -> PeerBench {
    var original = PeerBench(keepsOutbox: true)
    let fields = [Entry(name: "n", value: "1", version: 5)]
    original.live(version: 5, fields)
    let entries = try original.write(.one(.add, "n", "1")).drain.entries
    let run = try #require(PreviousRun.left(by: entries))
    var bench = PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: 0))
    bench.live(version: 6, [Entry(name: "n", value: "2", version: 6)], lastDecided: 1, knew: true)
    return bench
  }

  @Test("a write that the hub has deferred is not unanswered, however long it has to wait")
  func deferred() throws {
    var bench = try resumed()
    bench.hub(bench.outcomes((1, .retryLater(.rateLimited, pauseMilliseconds: 20_500))))
    var sent: [ProposalNumber] = []
    for number in 1...21 as ClosedRange<UInt64> {
      let drain = bench.wait(1_000)
      let answered = bench.hub(bench.heartbeat(number))
      sent += (drain.proposals + answered.proposals).map(\.number)
      #expect(drain.outcomes.isEmpty && answered.outcomes.isEmpty)
    }
    #expect(sent == [1])
    let end = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(end.outcomes == [.committed(epoch: 100, version: 6)])
  }
}
