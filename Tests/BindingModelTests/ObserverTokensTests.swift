import BindingModel
import Testing

@Suite("bags of tokens")
struct ObserverTokensTests {
  @Test("a bag of tokens keeps its observations until it is released")
  func released() {
    let count = Observable(0)
    let seen = Recorder<Int>()
    do {
      let tokens = ObserverTokens()
      for _ in 0..<20 { count.observe(initial: false) { seen.record($0) }.store(in: tokens) }
      count.value = 1
      #expect(seen.all.count == 20)
      withExtendedLifetime(tokens) {}
    }
    count.value = 2
    #expect(seen.all.count == 20)
  }

  @Test("cancelAll ends the bag's observations, owned ones too, and the bag can be used again")
  func cancelAll() {
    let count = Observable(0)
    let seen = Recorder<Int>()
    let owner = Owner()
    let tokens = ObserverTokens()
    count.observe(on: owner) { seen.record($0) }.store(in: tokens)
    tokens.cancelAll()
    count.value = 1
    #expect(seen.all == [0])
    count.observe { seen.record($0) }.store(in: tokens)
    count.value = 2
    #expect(seen.all == [0, 1, 2])
  }

  @Test("a set of tokens can serve as a bag")
  func set() {
    let count = Observable(0)
    let seen = Recorder<Int>()
    var tokens: Set<ObserverToken> = []
    count.observe { seen.record($0) }.store(in: &tokens)
    count.observe { _ in }.store(in: &tokens)
    #expect(tokens.count == 2)
    tokens = []
    count.value = 1
    #expect(seen.all == [0])
  }

  @Test("a bag accepts tokens from many threads and cancels all of them")
  func threads() {
    let count = Observable(0)
    let seen = Recorder<Int>()
    let tokens = ObserverTokens()
    onThreads(8) { thread in
      for step in 0..<500 {
        count.observe(initial: false) { seen.record($0) }.store(in: tokens)
        if thread == 0, step % 100 == 99 { tokens.cancelAll() }
      }
    }
    tokens.cancelAll()
    seen.clear()
    count.value = 1
    #expect(seen.all.isEmpty)
  }
}
