import BindingPeer
import BindingTerminal
import Testing

@testable import bindpeer

@Suite("The ledger of a measurement")
struct BenchLedgerTests {
  /// Ten writes to one field, due every 10 ms from 1 s on, watched by one peer.
  private func ledger() throws -> BenchLedger {
    var ledger = BenchLedger(try BenchPlan(.slider, rate: 100, peers: 1, span: TimeSpan(milliseconds: 100)))
    ledger.begin(at: 1_000_000_000)
    return ledger
  }
  private let committed = Outcome.committed(epoch: 1, version: 1)

  @Test("a latency counts from when the write was due, not from when it was made")
  func dues() throws {
    var ledger = try ledger()
    ledger.shownHere(0, at: 1_050_000_000)
    ledger.returned(0, at: 1_050_000_400)
    #expect(ledger.local.greatest == 50_000_400)
    // The write was due 20 ms after the beginning.
    ledger.shown(2, at: 1_050_000_000, by: 0)
    #expect(ledger.seen.count == 3 && ledger.seen.percentile(0.1).map { $0 >= 30_000_000 } == true)
    #expect(ledger.coalesced == 2)
  }

  @Test("a superseded write counts as committed when the later one does, in any order of outcomes")
  func replaced() throws {
    var ledger = try ledger()
    for number in 0..<3 { ledger.returned(number, at: 1_100_000_000) }
    ledger.ended(0, .superseded, at: 1_100_000_000)
    #expect(ledger.open == 3 && ledger.committed.count == 0)
    ledger.ended(2, committed, at: 1_200_000_000)
    #expect(ledger.open == 1 && ledger.committed.greatest == 200_000_000)
    ledger.ended(1, .superseded, at: 1_300_000_000)
    #expect(ledger.open == 0 && ledger.failed == 0 && ledger.committed.count == 3)
  }

  @Test("a write that a watching peer never showed is lost, and a refused one is not committed")
  func lost() throws {
    var ledger = try ledger()
    for number in 0..<4 { ledger.returned(number, at: 1_100_000_000) }
    ledger.shown(1, at: 1_100_000_000, by: 0)
    #expect(ledger.lost == 2)
    ledger.ended(3, .unknown("the hub is gone"), at: 1_100_000_000)
    #expect(ledger.open == 3 && ledger.failed == 1)
    #expect(ledger.firstProblem == "write 3: outcome unknown: the hub is gone")
  }

  @Test("after a reconnect, latencies count from the reconnect")
  func comeback() throws {
    var ledger = try ledger()
    ledger.returned(0, at: 1_000_000_000)
    ledger.ended(0, .unknown("closed"), isAway: true, at: 1_100_000_000)
    #expect(ledger.open == 1 && ledger.failed == 0)
    ledger.comeBack(at: 5_000_000_000)
    ledger.ended(0, committed, at: 5_000_700_000)
    ledger.shown(0, at: 5_000_900_000, by: 0)
    #expect(ledger.committed.greatest == 700_000 && ledger.seen.greatest == 900_000)
  }

  @Test("a burst is due immediately, and the next one when the rate allows it")
  func bursts() throws {
    let plan = try BenchPlan(.burst, rate: 2_000, peers: nil, span: TimeSpan(seconds: 1))
    #expect(plan.total == 2_000 && plan.due(999) == 0 && plan.due(1_000) == 500_000_000)
    #expect(throws: Failure.self) { try BenchPlan(.offline, rate: 2_000, peers: nil, span: TimeSpan(seconds: 10)) }
  }
}
