import BindingProtocol
import Testing

@testable import Simulation

@Suite("The oracle's record of additions")
struct AdditionTests {
  private let first = LogOracle.Name(model: 0, tag: Tag(rawValue: 1), number: 1)
  private let second = LogOracle.Name(model: 0, tag: Tag(rawValue: 2), number: 1)

  @Test("an addition lost with its epoch may be applied again")
  func lostWithItsEpoch() {
    var sums = SumAdditions()
    sums.begin(1, at: 0)
    #expect(sums.add(first, in: 1) == nil)
    sums.begin(2, at: 0)
    #expect(sums.add(first, in: 2) == nil)
  }

  @Test("a replica brings back what its epoch contained before the log lost its end and went on")
  func broughtBackAfterTheEpochWentOn() {
    var sums = SumAdditions()
    sums.begin(1, at: 0)
    #expect(sums.add(first, in: 1) == nil)
    sums.begin(1, at: 0)
    sums.begin(2, at: 0)
    sums.bring(1, from: 1, into: 2, by: Tag(rawValue: 3))
    #expect(sums.add(second, in: 2) == nil)
    sums.begin(3, at: 1)
    #expect(sums.add(second, in: 3) == nil)
    #expect(sums.add(first, in: 3) != nil)
  }
}
