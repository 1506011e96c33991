import BindingModel
import Testing

@Suite("rows of a list")
@MainActor
struct RowsTests {
  final class List {
    var rows: [Int] = []
    var calls = 0
  }

  @Test("behaviour 17: a thousand random changes, applied as differences, end with the list")
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
        let place = Int.random(in: 0...rows.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where place < rows.count: rows.remove(at: place)
        case 1 where place < rows.count: rows[place] = step
        case 2: rows.shuffle(using: &generator)
        default: rows.insert(step, at: place)
        }
      }
    }
    #expect(list.rows == model.value)
    #expect(list.calls > 500)
  }

  @Test("that were written elsewhere and folded still follow one another")
  func foldedLists() async {
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

  @Test("that did not change call nobody; an empty list is told once")
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

  /// Numbers from a seed, the same each time.
  struct Lehmer: RandomNumberGenerator {
    var seed: UInt64
    mutating func next() -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return seed
    }
  }
}
