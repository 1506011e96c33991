import BindingHub
import BindingProtocol
import Testing

/// Limits on proposals: accepted at the limit; past it a clear answer and a counter (G9).
@Suite struct LimitTests {
  var bench = HubBench()

  private static func bench(_ configure: (inout HubMachineConfiguration) -> Void) -> HubBench {
    var bench = HubBench(configure)
    bench.live(.ann)
    return bench
  }

  private func refusals(_ code: RefusalCode) -> UInt64 { bench.counters.refusals[code] ?? 0 }

  @Test("the default limits of a hub are those of the protocol page")
  mutating func defaults() throws {
    let limits = try #require(bench.hello(.ann).welcome(.ann)?.limits)
    #expect(limits.maxValueBytes == 65_536 && limits.maxProposalBytes == 262_144 && limits.maxProposalFields == 1_000)
    #expect(limits.maxModelFields == 100_000 && limits.maxModelIdBytes == 200 && limits.maxFieldNameBytes == 64)
    #expect(limits.maxModels == 100_000 && limits.maxSessions == 1_000 && limits.maxUnacknowledged == 256)
    #expect(limits.chunkBytes == 262_144 && limits.maxPublishedBytes == 8_192 && limits.maxHops == 8)
    #expect(limits.maxTopics == 1_000 && limits.routedQueueBytes == 4_194_304)
  }

  // MARK: Values and proposals

  @Test("a value of maxValueBytes is accepted")
  mutating func valueAtLimit() {
    bench.live(.ann)
    #expect(bench.write(.ann, 1, .set("a", text(ofBytes: 65_536))) == .committed(1))
  }

  @Test("a value one byte past maxValueBytes is refused")
  mutating func valuePastLimit() {
    bench.live(.ann)
    #expect(bench.write(.ann, 1, .set("a", text(ofBytes: 65_537)))?.refusal == .valueTooLarge)
    #expect(refusals(.valueTooLarge) == 1)
  }

  /// A proposal of N bytes: 18 for itself, 11 for the operation, the rest for its value.
  private static func proposal(ofBytes count: Int) -> NumberedProposal {
    .of(1, [.set("a", text(ofBytes: count - 18 - 11))])
  }

  @Test("a proposal of maxProposalBytes is accepted")
  mutating func proposalAtLimit() {
    bench = Self.bench { $0.limits.maxProposalBytes = 500 }
    #expect(bench.propose(.ann, Self.proposal(ofBytes: 500)) == [1: .committed(1)])
  }

  @Test("a proposal one byte past maxProposalBytes is refused")
  mutating func proposalPastLimit() {
    bench = Self.bench { $0.limits.maxProposalBytes = 500 }
    #expect(bench.propose(.ann, Self.proposal(ofBytes: 501))[1]?.refusal == .proposalTooLarge)
    #expect(refusals(.proposalTooLarge) == 1)
  }

  @Test("a proposal of maxProposalFields fields is accepted")
  mutating func fieldsAtLimit() {
    bench.live(.ann)
    let outcome = bench.propose(.ann, .of(1, (0..<1_000).map { .set("f\($0)", "1") }))
    #expect(outcome == [1: .committed(1)])
  }

  @Test("a proposal of one field past maxProposalFields is refused")
  mutating func fieldsPastLimit() {
    bench.live(.ann)
    let outcome = bench.propose(.ann, .of(1, (0..<1_001).map { .set("f\($0)", "1") }))
    #expect(outcome[1]?.refusal == .tooManyFields)
    #expect(refusals(.tooManyFields) == 1)
  }

  @Test("a field name of 64 bytes is accepted")
  mutating func nameAtLimit() {
    bench.live(.ann)
    #expect(bench.write(.ann, 1, .set(String(repeating: "n", count: 64), "1")) == .committed(1))
  }

  @Test("a field name of 65 bytes is refused")
  mutating func namePastLimit() {
    bench.live(.ann)
    #expect(bench.write(.ann, 1, .set(String(repeating: "n", count: 65), "1"))?.refusal == .badName)
    #expect(refusals(.badName) == 1)
  }

  @Test("an answer of maxHops hops is accepted")
  mutating func hopsAtLimit() {
    bench.live(.ann)
    #expect(bench.propose(.ann, .of(1, [.set("a", "1")], hops: 8)) == [1: .committed(1)])
  }

  @Test("an answer one hop past maxHops is refused as a loop")
  mutating func hopsPastLimit() {
    bench.live(.ann)
    #expect(bench.propose(.ann, .of(1, [.set("a", "1")], hops: 9))[1]?.refusal == .loop)
    #expect(refusals(.loop) == 1)
  }

  @Test("the refusal of a loop names both peers that answer each other")
  mutating func hopsNamed() {
    bench.live(.ann)
    bench.live(.ben)
    _ = bench.propose(.ben, .of(1, [.set("a", "1")]))
    guard case .refused(let refusal)? = bench.propose(.ann, .of(1, [.set("a", "2")], hops: 9))[1] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.text.contains("ann-") && refusal.text.contains("ben-"), "\(refusal.text)")
  }

  @Test("a model of maxModelFields fields is accepted")
  mutating func modelFieldsAtLimit() {
    bench = Self.bench { $0.limits.maxModelFields = 3 }
    #expect(bench.write(.ann, 1, .set("a", "1"), .set("b", "1"), .set("c", "1")) == .committed(1))
  }

  @Test("a field past maxModelFields is refused, and existing fields can still be written")
  mutating func modelFieldsPastLimit() {
    bench = Self.bench { $0.limits.maxModelFields = 3 }
    bench.write(.ann, 1, .set("a", "1"), .set("b", "1"), .set("c", "1"))
    #expect(bench.write(.ann, 2, .set("d", "1"))?.refusal == .modelFull)
    #expect(refusals(.modelFull) == 1)
    #expect(bench.write(.ann, 3, .set("a", "2")) == .committed(2))
  }

  // MARK: Unconfirmed outcomes

  @Test("maxUnconfirmedOutcomes outcomes may wait for their confirmation")
  mutating func unconfirmedAtLimit() {
    bench = Self.bench { $0.maxUnconfirmedOutcomes = 3 }
    for number in 1...3 { bench.write(.ann, ProposalNumber(number), .set("a", "\(number)")) }
    #expect(bench.read().version == 3)
  }

  @Test("a proposal past maxUnconfirmedOutcomes gets retryLater until earlier ones are confirmed")
  mutating func unconfirmedPastLimit() {
    bench = Self.bench { $0.maxUnconfirmedOutcomes = 3 }
    for number in 1...3 { bench.write(.ann, ProposalNumber(number), .set("a", "\(number)")) }
    #expect(bench.write(.ann, 4, .set("a", "4"))?.retryReason == .busy)
    #expect(bench.counters.retries == 1)
    #expect(bench.propose(.ann, .of(4, [.set("a", "4")], confirmed: 1)) == [4: .committed(4)])
  }

  @Test("proposals of other peers in the same drain do not count against maxUnconfirmedOutcomes")
  mutating func othersDoNotCount() {
    bench = Self.bench { $0.maxUnconfirmedOutcomes = 3 }
    bench.live(.ben)
    let received = bench.together([
      (.ann, .propose((1...3).map { .of($0, [.set("a", "\($0)")]) })), (.ben, .propose([.of(1, [.set("b", "1")])])),
    ])
    #expect(received.outcomes(.ben) == [1: .committed(4)])
  }

  @Test("a session may have maxUnacknowledged proposals unacknowledged")
  mutating func unacknowledgedAtLimit() {
    bench = Self.bench { $0.limits.maxUnacknowledged = 3 }
    let outcomes = bench.propose(.ann, .of(1, [.set("a", "1")]), .of(2, [.set("a", "2")]), .of(3, [.set("a", "3")]))
    #expect(outcomes[3] == .committed(3))
  }

  @Test("a proposal past maxUnacknowledged gets retryLater")
  mutating func unacknowledgedPastLimit() {
    bench = Self.bench { $0.limits.maxUnacknowledged = 3 }
    let outcomes = bench.propose(
      .ann, .of(1, [.set("a", "1")]), .of(2, [.set("a", "2")]), .of(3, [.set("a", "3")]), .of(4, [.set("a", "4")]))
    #expect(outcomes[3] == .committed(3))
    #expect(outcomes[4]?.retryReason == .busy)
    #expect(bench.counters.retries == 1)
  }

  @Test("maxWaitingProposals proposals wait during an append, and the next gets retryLater")
  mutating func waiting() throws {
    bench = Self.bench { $0.maxWaitingProposals = 2 }
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    let received = bench.send(
      .ann, .propose([.of(2, [.set("a", "2")]), .of(3, [.set("a", "3")]), .of(4, [.set("a", "4")])]))
    #expect(received.outcomes(.ann).mapValues(\.retryReason) == [4: .busy])
    #expect(bench.counters.retries == 1)
    try bench.settleWithStore()
    #expect(try bench.settleWithStore().outcomes(.ann) == [2: .committed(2), 3: .committed(3)])
  }
}
