import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Which models of a shared log a hub folds")
struct FoldQueueTests {
  private var folds = FoldQueue()

  /// Another hub stores these records.
  private mutating func follow(_ records: ClosedRange<UInt64>) {
    for record in records { folds.note(record, of: "lamp", at: 1_000 + record) }
  }

  private mutating func next() -> FoldQueue.Order? { folds.begin() }

  @Test("the hub that stores the 256th record after the kept ones folds up to the one before them")
  mutating func leavesTheLast() {
    follow(1...1_279)
    #expect(next() == nil)
    folds.stored(1_280, of: "lamp", at: 9_000)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 256, revision: 1_256))
  }

  @Test("a hub that only follows folds nothing")
  mutating func followerFoldsNothing() {
    follow(1...10_000)
    #expect(next() == nil)
  }

  @Test("a hub that began late folds once it has seen a record that may be folded")
  mutating func beganLate() {
    follow(5_000...5_119)
    folds.stored(5_120, of: "lamp", at: 9_000)
    #expect(next() == nil)
    follow(5_121...6_143)
    folds.stored(6_144, of: "lamp", at: 9_900)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 5_120, revision: 9_000))
  }

  @Test("where room is scarce the fold leaves nothing")
  mutating func scarce() {
    folds.isRoomScarce = true
    folds.stored(256, of: "lamp", at: 300)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 256, revision: 300))
  }

  /// This hub stores records of these sizes, the first with number 1.
  private mutating func store(_ model: String, _ sizes: Int...) {
    for (index, size) in sizes.enumerated() {
      folds.append(size, to: model)
      folds.stored(UInt64(index + 1), of: model, at: UInt64(index + 1))
    }
  }

  @Test("where room is scarce many models of few records are folded, those with the most bytes first")
  mutating func scarceModels() {
    store("small", 2_000, 2_000)
    store("lamp", 3_000, 3_000)
    store("fan", 9_000)
    #expect(next() == nil, "there is room")
    folds.isRoomScarce = true
    #expect(next() == FoldQueue.Order(model: "fan", record: 1, revision: 1))
    folds.end()
    #expect(next() == FoldQueue.Order(model: "lamp", record: 2, revision: 2))
    folds.end()
    #expect(next() == nil, "a fold of the small one would hardly free more than it writes")
    store("small", 2_000)
    #expect(next() == FoldQueue.Order(model: "small", record: 1, revision: 1))
  }

  @Test("where room is scarce a model is folded again once what was appended is as large as its last fold")
  mutating func scarceAgain() {
    folds.isRoomScarce = true
    store("lamp", 5_000)
    #expect(next() != nil)
    folds.compacted(to: 20_000)
    folds.end()
    store("lamp", 19_999)
    #expect(next() == nil)
    store("lamp", 1)
    #expect(next() != nil)
  }

  @Test("where room is scarce models that are loaded are folded too, if that frees more than it writes")
  mutating func scarceLoaded() {
    func head(_ model: String) -> SharedHead { SharedHead(model, record: 90, version: 90, revision: 70) }
    folds.loaded(head("early"), records: 90, bytes: 9_000, size: 100)
    #expect(next() == nil)
    folds.isRoomScarce = true
    folds.loaded(head("large"), records: 90, bytes: 9_000, size: 10_000)
    #expect(next() == nil)
    folds.loaded(head("lamp"), records: 90, bytes: 9_000, size: 100)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 90, revision: 70))
  }

  @Test("few large records are folded too, once each 16 MiB")
  mutating func large() {
    for record in 1...16 as ClosedRange<UInt64> {
      folds.append(1 << 20, to: "lamp")
      folds.stored(record, of: "lamp", at: record)
    }
    #expect(next() == nil)
    folds.append(1 << 20, to: "lamp")
    folds.stored(17, of: "lamp", at: 17)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 17, revision: 17))
    folds.end()
    folds.append(1 << 20, to: "lamp")
    folds.stored(18, of: "lamp", at: 18)
    #expect(next() == nil)
  }

  @Test("a model that nobody folded is folded when it is loaded")
  mutating func overdue() {
    folds.loaded(SharedHead("lamp", record: 5_000, version: 5_000, revision: 70), records: 4_000)
    #expect(next() == nil)
    folds.loaded(SharedHead("lamp", record: 5_000, version: 5_000, revision: 70), records: 4_500)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 5_000, revision: 70))
  }

  @Test("one fold at a time, the newest order of a model alone, and a removed model's marks are gone")
  mutating func order() {
    folds.isRoomScarce = true
    folds.stored(256, of: "lamp", at: 1)
    folds.stored(512, of: "lamp", at: 2)
    folds.stored(256, of: "fan", at: 3)
    #expect(next() == FoldQueue.Order(model: "lamp", record: 512, revision: 2))
    #expect(next() == nil)
    folds.end()
    #expect(next() == FoldQueue.Order(model: "fan", record: 256, revision: 3))
    folds.end()
    follow(1...1_279)
    folds.forget("lamp")
    folds.isRoomScarce = false
    folds.stored(1_280, of: "lamp", at: 9)
    #expect(next() == nil)
  }
}
