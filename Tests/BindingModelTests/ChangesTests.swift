import BindingModel
import Dispatch
import Testing

@Suite("observers of changes")
struct ChangesTests {
  @Test("an observer of changes gets the old and the new value, and no first call")
  func oldAndNew() {
    let count = Observable(1)
    let seen = Recorder<[Int]>()
    let token = count.observe(initial: false) { old, new in seen.record([old, new]) }
    #expect(seen.all.isEmpty)
    count.value = 2
    count.value = 5
    #expect(seen.all == [[1, 2], [2, 5]])
    token.cancel()
    count.value = 6
    #expect(seen.all.count == 2)
  }

  @Test("an observer of changes that asks for a first call gets the present value as old and new")
  func initial() {
    let count = Observable(1)
    let seen = Recorder<[Int]>()
    let token = count.observe(initial: true) { old, new in seen.record([old, new]) }
    count.value = 2
    #expect(seen.all == [[1, 1], [1, 2]])
    withExtendedLifetime(token) {}
  }

  @Test("an observer of the new value alone can skip the first call")
  func newAlone() {
    let count = Observable(1)
    let seen = Recorder<Int>()
    let token = count.observe(initial: false) { seen.record($0) }
    count.value = 2
    #expect(seen.all == [2])
    withExtendedLifetime(token) {}
  }

  @Test("an observer of changes gets one step for a turn of several writes")
  func turn() {
    let count = Observable(1)
    let seen = Recorder<[Int]>()
    let token = count.observe(initial: false) { old, new in seen.record([old, new]) }
    Turn.run { for value in 2...9 { count.value = value } }
    #expect(seen.all == [[1, 9]])
    withExtendedLifetime(token) {}
  }

  @Test("an observer of changes that writes the value gets the next step after the current one")
  func writesInside() {
    let count = Observable(0)
    let seen = Recorder<[Int]>()
    let token = count.observe(initial: false) { old, new in
      seen.record([old, new])
      if new < 3 { count.value = new + 1 }
    }
    count.value = 1
    #expect(seen.all == [[0, 1], [1, 2], [2, 3]])
    withExtendedLifetime(token) {}
  }

  @Test("an observer of changes lives as long as its owner and receives the owner as an argument")
  func owner() {
    let count = Observable(1)
    let seen = Recorder<[Int]>()
    var owner: Owner? = Owner()
    weak let watched = owner
    if let owner {
      count.observe(on: owner, initial: false) { old, new in seen.record([old, new]) }
      count.observe(on: owner, initial: false) { [weak watched] owner, old, new in
        seen.record([owner === watched ? 1 : 0, old, new])
      }
    }
    count.value = 2
    #expect(seen.all == [[1, 2], [1, 1, 2]])
    owner = nil
    #expect(watched == nil)
    count.value = 3
    #expect(seen.all.count == 2)
  }

  @Test("an observer of changes of a member, a mapped or a derived value gets that value's own steps")
  func otherSources() {
    struct Person: Equatable, Sendable { var name = "a", age = 1 }
    let person = Observable(Person())
    let seen = Recorder<String>()
    let tokens = ObserverTokens()
    person.binding.name.observe(initial: false) { seen.record("name \($0) \($1)") }.store(in: tokens)
    person.binding.age.map(NumberText()).observe(initial: false) { seen.record("text \($0) \($1)") }.store(in: tokens)
    person.derived { $0.age * 2 }.observe(initial: false) { seen.record("twice \($0) \($1)") }.store(in: tokens)
    person.value.age = 2
    person.value.name = "b"
    #expect(seen.all == ["text 1 2", "twice 2 4", "name a b"])
  }

  @Test("an observer of changes on the main actor gets consecutive steps, even coalesced", .timeLimit(.minutes(5)))
  @MainActor
  func coalescedOnMain() async {
    let count = Observable(0)
    var steps: [[Int]] = []
    let token = count.observeOnMain(initial: false) { old, new in steps.append([old, new]) }
    count.value = 1
    #expect(steps == [[0, 1]])
    await Task.detached { for value in 2...500 { count.value = value } }.value
    while steps.last?[1] != 500 { await Task.yield() }
    #expect(zip(steps, steps.dropFirst()).allSatisfy { $0[1] == $1[0] })
    token.cancel()
    count.value = 501
    #expect(steps.last?[1] == 500)
  }

  @Test("an observer on the main actor receives its owner, with or without the old value")
  @MainActor
  func ownerOnMain() {
    final class Screen { var steps: [String] = [] }
    let count = Observable(0)
    let screen = Screen()
    count.observeOnMain(on: screen, initial: false) { screen, old, new in screen.steps.append("\(old) \(new)") }
    count.observeOnMain(on: screen, initial: true) { screen, new in screen.steps.append("\(new)") }
    count.value = 1
    #expect(screen.steps == ["0", "0 1", "1"])
  }

  @Test("an observer of changes misses no step while ten threads write")
  func threads() {
    let count = Observable(0)
    let steps = Recorder<[Int]>()
    let token = count.observe(initial: false) { old, new in steps.record([old, new]) }
    onThreads(10) { _ in
      for write in 0..<1_000 {
        count.update { $0 += 1 }
        if write % 100 == 0 { count.observe(initial: false) { _, _ in }.cancel() }
      }
    }
    #expect(steps.all == (0..<10_000).map { [$0, $0 + 1] })
    withExtendedLifetime(token) {}
  }
}

@Suite("observers that belong to an actor")
struct IsolationTests {
  @MainActor
  final class Screen {
    var titles: [String] = []
    var token: ObserverToken?

    func follow(_ name: Observable<String>) {
      token = name.observe(isolation: #isolation) { [weak self] in self?.titles.append($0) }
    }
  }

  actor Store {
    private(set) var names: [String] = []
    private(set) var steps: [String] = []
    private var tokens: [ObserverToken] = []

    func follow(_ name: Observable<String>) {
      name.observeOnActor(self) { store, name in store.names.append(name) }
      tokens.append(name.observe(isolation: #isolation, initial: false) { self.steps.append("\($0) \($1)") })
    }

    func stop() { tokens = [] }
  }

  @Test("an observer on the main actor touches the actor's state and runs before a write there returns")
  @MainActor
  func main() {
    let name = Observable("a")
    let screen = Screen()
    screen.follow(name)
    name.value = "b"
    #expect(screen.titles == ["a", "b"])
    var log: [String] = []
    let token = name.observe(isolation: #isolation, initial: false) { log.append($0) }
    name.value = "c"
    #expect(log == ["c"])
    withExtendedLifetime(token) {}
  }

  @Test("an observer on any actor gets the present value first, then the newest when it runs", .timeLimit(.minutes(5)))
  func anyActor() async {
    let name = Observable("a")
    let store = Store()
    await store.follow(name)
    #expect(await store.names == ["a"])
    #expect(await store.steps.isEmpty)
    name.value = "b"
    #expect(await eventually { await store.names == ["a", "b"] })
    #expect(await eventually { await store.steps == ["a b"] })
    await store.stop()
    name.value = "c"
    #expect(await eventually { await store.names == ["a", "b", "c"] })
    #expect(await store.steps == ["a b"])
  }

  @Test("an observer does not keep the actor alive that owns it", .timeLimit(.minutes(5)))
  func actorGoes() async {
    let name = Observable("a")
    let seen = Recorder<String>()
    let isAlive = await Self.follow(name, seen)
    #expect(await eventually { !isAlive() })
    name.value = "b"
    #expect(seen.all == ["a"])
  }

  /// Lets an otherwise unreferenced actor observe `name`. Returns whether that actor is still alive.
  private static func follow(
    _ name: Observable<String>, _ seen: Recorder<String>
  ) async -> @Sendable () -> Bool {
    let follower = Follower()
    await follower.follow(name, seen)
    weak let watched = follower
    return { watched != nil }
  }

  private actor Follower {
    func follow(_ name: Observable<String>, _ seen: Recorder<String>) {
      name.observeOnActor(self) { _, name in seen.record(name) }
    }
  }

  @Test("an observer on an actor gets ordered values and the last under ten threads", .timeLimit(.minutes(5)))
  func threads() async {
    let count = Observable(0)
    let counter = Counter()
    await counter.follow(count)
    onThreads(10) { _ in for _ in 0..<1_000 { count.update { $0 += 1 } } }
    #expect(await eventually { await counter.values.last == 10_000 })
    let values = await counter.values
    #expect(values == values.sorted())
    #expect(values.first == 0)
  }

  private actor Counter {
    var values: [Int] = []
    func follow(_ count: Observable<Int>) {
      count.observeOnActor(self) { counter, value in counter.values.append(value) }
    }
  }
}
