import BindingProtocol
import Testing

@testable import Simulation

@Suite("The oracle's record of additions")
struct AdditionTests {
  private let first = LogOracle.Name(model: 0, tag: Tag(rawValue: 1), number: 1)
  private let second = LogOracle.Name(model: 0, tag: Tag(rawValue: 2), number: 1)

  private let offerer = Tag(rawValue: 3)

  private func replica(of epoch: Epoch, at version: Version) -> SumAdditions.Replica {
    SumAdditions.Replica(epoch: epoch, version: version, offerer: offerer)
  }

  @Test("an addition lost with its epoch may be applied again")
  func lostWithItsEpoch() {
    var sums = SumAdditions()
    sums.begin(1, at: nil)
    #expect(sums.add(first, in: 1, at: 1) == nil)
    sums.begin(2, at: nil)
    #expect(sums.add(first, in: 2, at: 1) == nil)
  }

  @Test("a log that lost a recovery with its end contains what it did before, and nothing of what came after")
  func recoveryLostWithTheEnd() {
    var sums = SumAdditions()
    sums.begin(1, at: nil)
    #expect(sums.add(first, in: 1, at: 1) == nil)
    sums.bring(0, from: replica(of: 0, at: 0), into: 1, at: 2)
    #expect(sums.add(second, in: 1, at: 3) == nil)
    sums.begin(2, at: 1)
    #expect(sums.add(second, in: 2, at: 2) == nil)
    #expect(sums.add(first, in: 2, at: 3) != nil)
  }

  @Test("a replica of before a recovery has what the counter contained then")
  func replicaOfBefore() {
    var sums = SumAdditions()
    sums.begin(1, at: nil)
    #expect(sums.add(first, in: 1, at: 1) == nil)
    sums.bring(0, from: replica(of: 0, at: 0), into: 1, at: 2)
    #expect(sums.add(second, in: 1, at: 3) == nil)
    sums.begin(2, at: nil)
    sums.bring(1, from: replica(of: 1, at: 1), into: 2, at: 1)
    #expect(sums.add(second, in: 2, at: 2) == nil)
    #expect(sums.add(first, in: 2, at: 3) == .some(offerer))
  }

  @Test("what an epoch stores after the next one has begun is in both")
  func storedLate() {
    var sums = SumAdditions()
    sums.begin(1, at: nil)
    sums.begin(2, at: nil)
    #expect(sums.add(first, in: 1, at: 1) == nil)
    #expect(sums.add(first, in: 2, at: 2) != nil)
  }

  @Test("a replica brings back what its epoch contained before the log lost its end and went on")
  func broughtBackAfterTheEpochWentOn() {
    var sums = SumAdditions()
    sums.begin(1, at: nil)
    #expect(sums.add(first, in: 1, at: 1) == nil)
    sums.begin(1, at: nil)
    sums.begin(2, at: nil)
    sums.bring(1, from: replica(of: 1, at: 1), into: 2, at: 1)
    #expect(sums.add(second, in: 2, at: 2) == nil)
    sums.begin(3, at: 1)
    #expect(sums.add(second, in: 3, at: 2) == nil)
    #expect(sums.add(first, in: 3, at: 3) != nil)
  }
}
