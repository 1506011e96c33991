import BindingModel
import Testing

@Suite("the end of a value")
struct EndTests {
  private let seen = Recorder<String>()

  @Test("is told once when the owner goes")
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

  @Test("is not told to who cancelled or let go")
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

  @Test("is told at once where the owner is gone already, and through a part too")
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
