import BindingModel
import Testing

/// Behaviour 16: a flattened binding follows the newly chosen source and leaves the former one.
@Suite("flattened bindings")
struct FlattenedTests {
  struct Story: Equatable, Sendable { var text: String }

  let one = Observable(Story(text: "one"))
  let other = Observable(Story(text: "other"))

  @Test("behaviour 16: a flattened binding follows the chosen value and no longer the former one")
  func following() {
    let choice = Observable(one.binding)
    let text = choice.flattened().text
    let seen = Recorder<String>()
    let token = text.observe { seen.record($0) }
    choice.value = other.binding
    one.value.text = "stale"
    other.value.text = "later"
    #expect(seen.all == ["one", "other", "later"])
    token.cancel()
    other.value.text = "unheard"
    #expect(seen.all.count == 3)
  }

  @Test("behaviour 16: a flattened binding writes to the current choice, also through a member")
  func writing() {
    let choice = Observable(one.binding)
    let text = choice.flattened().text
    text.value = "1"
    choice.value = other.binding
    text.value = "2"
    #expect(one.value.text == "1")
    #expect(other.value.text == "2")
    #expect(text.value == "2")
  }

  @Test("an observation of a flattened binding lasts as long as its owner, without a token")
  func owners() {
    let choice = Observable(one.binding)
    let seen = Recorder<String>()
    var owner: Owner? = Owner()
    choice.flattened().observe(on: owner!) { seen.record($0.text) }
    choice.value = other.binding
    other.value.text = "later"
    owner = nil
    other.value.text = "unheard"
    choice.value = one.binding
    #expect(seen.all == ["one", "other", "later"])
  }

  @Test("a flattened binding keeps neither the choice nor the chosen value alive")
  func lifetimes() {
    weak var first: Observable<Int>?
    weak var choice: Observable<Binding<Int>>?
    let token: ObserverToken
    do {
      let value = Observable(1)
      let chosen = Observable(value.binding)
      (first, choice) = (value, chosen)
      token = chosen.flattened().observe { _ in }
    }
    #expect(first == nil)
    #expect(choice == nil)
    token.cancel()
  }

  @Test("a flattened binding ends with the chosen value while choice and values are written concurrently")
  func underLoad() {
    let choice = Observable(one.binding)
    let last = Protected("")
    let token = choice.flattened().observe { value in last.withLock { $0 = value.text } }
    let (one, other) = (one, other)
    onThreads(3) { index in
      for turn in 0..<2_000 {
        switch index {
        case 0: one.value = Story(text: "one \(turn)")
        case 1: other.value = Story(text: "other \(turn)")
        default: choice.value = turn % 2 == 0 ? other.binding : one.binding
        }
      }
    }
    #expect(last.withLock { $0 } == "one 1999")
    token.cancel()
  }
}
