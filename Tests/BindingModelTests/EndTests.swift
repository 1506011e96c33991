import BindingModel
import Testing

@Suite("the end of a value")
struct EndTests {
  private let seen = Recorder<String>()

  @Test("the end of a value is reported once when its owner goes")
  func notifiesOnce() {
    var count: Observable<Int>? = Observable(1)
    let token = count?.observeEnd { [seen] in seen.record("end") }
    count?.value = 2
    #expect(seen.all.isEmpty)
    count = nil
    #expect(seen.all == ["end"])
    token?.cancel()
    #expect(seen.all == ["end"])
  }

  @Test("the end of a value is not reported to a cancelled or released observer")
  func cancelled() {
    var count: Observable<Int>? = Observable(1)
    count?.observeEnd { [seen] in seen.record("cancelled") }.cancel()
    do {
      let token = count?.observeEnd { [seen] in seen.record("released") }
      withExtendedLifetime(token) {}
    }
    count = nil
    #expect(seen.all.isEmpty)
  }

  @Test("the end of a value is reported immediately where its owner is already gone, and through a part")
  func late() {
    var count: Observable<[Int]>? = Observable([1])
    let binding = count?.binding
    let token = binding?.map(Same()).observeEnd { [seen] in seen.record("part") }
    count = nil
    let late = binding?.observeEnd { [seen] in seen.record("late") }
    #expect(seen.all == ["part", "late"])
    withExtendedLifetime((token, late)) {}
  }

  private struct Same: Mapping {
    func forward(_ source: [Int]) -> [Int] { source }
    func back(_ target: [Int]) -> [Int] { target }
  }
}
