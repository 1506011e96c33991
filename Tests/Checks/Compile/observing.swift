// compiles: common first code: old values, actor-isolated closures, bags of tokens, views, debounce
import BindingControls
import BindingModel

struct Todo: Identifiable, Equatable, Sendable {
  let id: Int
  var title = ""
  var words: Int { title.count }
}

@MainActor
final class Screen {
  @State var todos: [Todo] = []
  @State var selection: Int?
  @State var query = ""
  var title = ""
  private var undo: [String] = []
  private let tokens = ObserverTokens()
  private var set: Set<ObserverToken> = []
  private let (field, label) = (TextField(), Label())

  func follow(_ name: Observable<String>) {
    var log: [String] = []
    name.observe(isolation: #isolation) { log.append($0) }.store(in: tokens)
    name.observe(isolation: #isolation) { self.title = $0 }.store(in: &set)
    name.observe(isolation: #isolation, initial: false) { old, _ in self.undo.append(old) }.store(in: tokens)
    name.observe(initial: false) { old, new in print(old, new) }.store(in: tokens)
    name.observe(on: self, initial: true) { old, new in print(old, new) }
    name.observeOnMain(on: self, initial: false) { screen, old, new in screen.title = old + new }
    name.observeOnMain(on: self, initial: false) { screen, name in screen.title = name }
    $query.debounced(for: .milliseconds(300)).observeOnMain(on: self) { screen, text in screen.title = text }
    $query.throttled(for: .seconds(1)).observe { print($0) }.store(in: tokens)
    $query.assign(to: name).store(in: tokens)
    print(log)
  }

  func show(_ count: Derived<String>) {
    label.bind(to: count)
    count.show(in: label)
    label.bind(to: $query.readOnly)
    field.bind(to: $todos[id: $selection].title, commit: .onLeave)
    for todo in $todos.elements { print(todo.words.value, todo.id.value) }
    $todos.observeRowsOnMain(on: self) { _, todos, difference in print(todos.count, difference.count) }
  }
}

actor Store {
  private var names: [String] = []
  private let tokens = ObserverTokens()

  func follow(_ name: Observable<String>) {
    name.observeOnActor(self) { store, name in store.names.append(name) }
    name.observe(isolation: #isolation) { self.names.append($0) }.store(in: tokens)
  }
}

func read(_ source: some ValueSource<Int>, _ other: any ValueSource<Int>) -> ObserverToken {
  print(source.value + other.value)
  return other.observe { print($0) }
}

func line(_ a: Observable<Int>, _ b: Binding<String>, _ c: Derived<Bool>, _ d: State<Double>) -> Derived<String> {
  Derived(a, b, c, d) { "\($0) \($1) \($2) \($3)" }
}

func loop(_ query: Observable<String>) async {
  for await text in query.values(debounce: .milliseconds(300)) { print(text) }
}
