import BindingModel
import Testing

@Suite("rows of a list")
@MainActor
struct RowsTests {
  final class List {
    var rows: [Int] = []
    var calls = 0
  }

  @Test("behaviour 17: a thousand random changes applied as differences reproduce the list")
  func randomChanges() {
    var generator = Lehmer(seed: 17)
    let model = Observable<[Int]>([])
    let list = List()
    model.observeRowsOnMain(on: list) { list, rows, difference in
      let applied = list.rows.applying(difference)
      #expect(applied == rows)
      list.rows = applied ?? rows
      list.calls += 1
    }
    for step in 0..<1_000 {
      model.update { rows in
        let index = Int.random(in: 0...rows.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where index < rows.count: rows.remove(at: index)
        case 1 where index < rows.count: rows[index] = step
        case 2: rows.shuffle(using: &generator)
        default: rows.insert(step, at: index)
        }
      }
    }
    #expect(list.rows == model.value)
    #expect(list.calls > 500)
  }

  @Test("coalesced changes of rows from another thread still give consecutive differences")
  func coalescedLists() async {
    let model = Observable([0])
    let list = List()
    model.observeRowsOnMain(on: list) { list, rows, difference in
      #expect(list.rows.applying(difference) == rows)
      list.rows = rows
    }
    await Task.detached { for value in 1...500 { model.update { $0.append(value) } } }.value
    while list.rows.count < 501 { await Task.yield() }
    #expect(list.rows == Array(0...500))
  }

  @Test("unchanged rows notify nobody, and an empty list notifies once")
  func equalLists() {
    let model = Observable<[Int]>([], filter: .everyWrite)
    let list = List()
    model.observeRowsOnMain(on: list) { list, _, _ in list.calls += 1 }
    #expect(list.calls == 1)
    model.value = []
    model.value = [1]
    model.value = [1]
    #expect(list.calls == 2)
  }

  /// A generator of pseudorandom numbers that repeat for the same seed.
  struct Lehmer: RandomNumberGenerator {
    var seed: UInt64
    mutating func next() -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return seed
    }
  }
}

@Suite("rows with identities")
@MainActor
struct RowIdentityTests {
  struct Todo: Identifiable, Equatable, Sendable {
    let id: Int
    var title: String
  }

  final class List {
    var ids: [Int] = []
    var steps: [String] = []

    func change(_ rows: [Todo], _ difference: CollectionDifference<Todo>) {
      let known = ids.map { Todo(id: $0, title: "") }
      ids = known.applying(difference)?.map(\.id) ?? []
      steps.append("+\(difference.insertions.count) -\(difference.removals.count)")
    }
  }

  @Test("an edited row is neither inserted nor removed, and the list is notified")
  func edited() {
    let todos = Observable([Todo(id: 1, title: "one"), Todo(id: 2, title: "two")])
    let list = List()
    todos.observeRowsOnMain(on: list) { $0.change($1, $2) }
    todos.value[0].title = "ONE"
    todos.value.append(Todo(id: 3, title: "three"))
    todos.value.removeFirst()
    #expect(list.steps == ["+2 -0", "+0 -0", "+1 -0", "+0 -1"])
    #expect(list.ids == [2, 3])
  }

  @Test("any member can identify rows")
  func byMember() {
    struct File: Sendable {
      var path: String
      var size: Int
    }
    final class Paths { var all: [String] = [] }
    let files = Observable([File(path: "a", size: 1)])
    let paths = Paths()
    files.observeRowsOnMain(on: paths, by: \.path) { paths, files, difference in
      paths.all.append("\(files.map(\.path)) \(difference.count)")
    }
    files.value[0].size = 2
    files.value.append(File(path: "b", size: 0))
    #expect(paths.all == [#"["a"] 1"#, #"["a"] 0"#, #"["a", "b"] 1"#])
  }

  @Test("coalesced changes of identified rows still give consecutive differences")
  func coalesced() async {
    let todos = Observable<[Todo]>([])
    let list = List()
    todos.observeRowsOnMain(on: list) { $0.change($1, $2) }
    await Task.detached {
      for number in 0..<300 {
        todos.update {
          $0.insert(Todo(id: number, title: ""), at: number / 2)
          $0[0].title = "\(number)"
        }
      }
    }.value
    while list.ids.count < 300 { await Task.yield() }
    #expect(list.ids == todos.value.map(\.id))
  }
}
