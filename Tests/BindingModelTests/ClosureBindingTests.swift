import BindingModel
import Testing

@Suite("bindings made of closures")
@MainActor
struct ClosureBindingTests {
  final class User {
    var name = "Kevin"
  }

  @Test("S2.5: a binding of two closures reads, writes and notifies its observers")
  func closures() {
    let user = User()
    let name = Binding(get: { user.name }, set: { user.name = $0 })
    var seen: [String] = []
    let token = name.observeOnMain { seen.append($0) }
    name.value = "Bob"
    #expect(user.name == "Bob")
    user.name = "Eve"
    #expect(name.value == "Eve")
    _ = try? name.update { $0 += "!" }
    #expect(seen == ["Kevin", "Bob", "Eve!"])
    token.cancel()
  }

  @Test("a binding of closures shows the value as its setter corrected it")
  func corrections() throws {
    let user = User()
    let name = Binding(get: { user.name }, set: { user.name = String($0.prefix(3)) })
    try name.set("Roberta")
    #expect(name.value == "Rob")
  }

  @Test("a binding of closures is written on the main actor whichever thread writes")
  func otherThreads() async {
    let user = User()
    let name = Binding(
      get: { user.name },
      set: {
        #expect(Lane.main.isCurrent)
        user.name = $0
      })
    await Task.detached {
      name.value = "Bob"
      #expect(name.value == "Bob")
    }.value
    while user.name != "Bob" { await Task.yield() }
  }

  @Test("a constant binding shows its value and refuses writes")
  func constants() {
    let name = Binding.constant("fixed")
    let seen = Recorder<String>()
    _ = name.observe { seen.record($0) }
    name.value = "other"
    #expect(name.value == "fixed")
    #expect(seen.all == ["fixed"])
    #expect(throws: BindingError(.refused, "this value is a constant")) { try name.set("other") }
  }
}
