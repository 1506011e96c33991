import BindingClassic
import BindingControls
import Testing

/// The weaknesses that article 1 admits, and those it left: all of them are fixed here.
@Suite("article 1: weaknesses")
@MainActor
struct Article1WeaknessTests {
  @Test("S1.W2 S1.W3: a control can be unbound, and a reused row follows its new model only")
  func unbind() {
    let (old, new) = (Observable("old"), Observable("new"))
    let row = TextField()
    row.bind(with: old)
    row.bind(with: new)
    old.value = "stale"
    #expect(row.text == "new")
    row.unbind()
    new.value = "later"
    row.type("!")
    #expect(row.text == "new!")
    #expect(new.value == "later")
  }

  @Test("S1.W4: bindings set up at each appearance are not doubled")
  func appearingTwice() {
    let form = Article1Tests.ViewController()
    for _ in 0..<3 { form.setupBindings() }
    var pushes = 0
    form.viewModel.name.bind { _, _ in pushes += 1 }
    form.nameField.type("a")
    #expect(pushes == 1)
    #expect(form.nameField.text == "a")
  }

  @Test("S1.W5: a callback that releases its observable runs to its end")
  func dyingMidway() {
    var name: Observable<String>? = Observable("a")
    var results: [String] = []
    name?.bind { _, value in
      name = nil
      results.append(value)
    }
    name?.bind { _, value in results.append("second \(value)") }
    name?.value = "b"
    #expect(results.first == "b")
    #expect(name == nil)
  }

  @Test("S1.W5: a binding keeps neither form nor model alive")
  func noLeak() {
    weak var name: Observable<String>?
    weak var form: Article1Tests.ViewController?
    do {
      let controller = Article1Tests.ViewController()
      controller.setupBindings()
      form = controller
      name = controller.viewModel.name
    }
    #expect(form == nil)
    #expect(name == nil)
  }

  @Test("S1.W1 S1.W7: a value can be unset again and written from any thread")
  func backToUnsetAndThreads() async {
    let count = Observable(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<500 { count.binding.value = (count.value ?? 0) + 1 } }
      }
    }
    #expect((500...2000).contains(count.value ?? 0))
    count.value = nil
    #expect(count.value == nil)
  }
}
