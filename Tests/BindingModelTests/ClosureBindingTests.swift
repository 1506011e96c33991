import BindingModel
import Testing

@Suite("a binding to a place of one's own")
@MainActor
struct ClosureBindingTests {
  final class User {
    var name = "Kevin"
  }

  @Test("S2.5: reads and writes by two closures, and tells who observes it")
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

  @Test("shows what the place made of a write")
  func corrections() throws {
    let user = User()
    let name = Binding(get: { user.name }, set: { user.name = String($0.prefix(3)) })
    try name.set("Roberta")
    #expect(name.value == "Rob")
  }

  @Test("is written on the main actor, whoever writes")
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

  @Test("that is a constant shows it and refuses writes")
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
