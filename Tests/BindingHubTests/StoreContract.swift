import BindingProtocol
import Foundation
import Testing

@testable import BindingHub
@testable import BindingStore

/// What every store must do. Each new store is entered in `StoreCase.all`.
struct StoreCase: CustomTestStringConvertible, Sendable {
  var testDescription: String
  /// Whether it returns what it has stored. A store that lives no longer than its hub need not: the machine holds
  /// the models.
  var keeps: Bool
  var make: @Sendable () -> any Store

  static let all = [
    StoreCase(testDescription: "MemoryStore", keeps: false) { MemoryStore(logID: 3, epoch: HubBench.epoch) },
    StoreCase(testDescription: "LogStore", keeps: true) { LogStore() },
    StoreCase(testDescription: "SQLiteStore, process", keeps: true) { sqlite(.process) },
    StoreCase(testDescription: "SQLiteStore, disk", keeps: true) { sqlite(.disk) },
  ]
  private static func sqlite(_ durability: Durability) -> any Store {
    let path = folder.appendingPathComponent("\(UUID().uuidString)").path
    let birth = StoreMetadata(logID: 3, epoch: HubBench.epoch, grade: durability, boot: "")
    // SAFETY: a test without its store must not go on.
    return try! SQLiteStore(path: path, durability: durability, boot: "", birth: birth) { 500_000 }
  }
  /// The directory of stores with files; removed when the tests have ended.
  private static let folder: URL = {
    atexit { try? FileManager.default.removeItem(at: StoreCase.folder) }
    return FileManager.default.temporaryDirectory.appendingPathComponent("bindstore-\(UUID().uuidString)")
  }()
  static var keeping: [StoreCase] { all.filter(\.keeps) }
}

@Suite struct StoreContract {
  private static func batch(
    _ model: String = "lamp", record: UInt64? = nil, after previous: Version, set value: String? = "1",
    number: ProposalNumber = 1, decisions: [Decision] = []
  ) -> Batch {
    let record = record ?? previous + 1
    var writer = CommitsWriter()
    writer.begin(epoch: HubBench.epoch, previous: previous, time: 9, namesKnown: previous == 0 ? 0 : 1)
    guard let value else {
      return Batch(
        model: model, record: record, epoch: HubBench.epoch, previous: previous, version: previous, body: [],
        decisions: decisions)
    }
    let origin = writer.origin(Speaker.ann.origin)
    let field = previous == 0 ? writer.introduce("a") : 0
    writer.beginCommit(origin: origin, number: number, hops: 0)
    writer.change(field, json(value))
    writer.endCommit()
    return Batch(
      model: model, record: record, epoch: HubBench.epoch, previous: previous, version: previous + 1,
      body: writer.finish(), decisions: decisions)
  }

  private static func isStored(_ result: Appended?) -> Bool {
    if case .stored? = result { true } else { false }
  }

  @Test("a store names its log and its epoch", arguments: StoreCase.all)
  func names(_ store: StoreCase) {
    let store = store.make()
    #expect(store.logID == 3)
    #expect(store.epoch == HubBench.epoch)
  }

  @Test("a batch decided on the head is stored", arguments: StoreCase.all)
  func stored(_ store: StoreCase) throws {
    let store = store.make()
    let results = try store.append([Self.batch(after: 0)]) + store.append([Self.batch(after: 1, number: 2)])
    #expect(results.map(Self.isStored) == [true, true])
  }

  @Test("batches of different models are each stored, with one result each, in order", arguments: StoreCase.all)
  func models(_ store: StoreCase) throws {
    let store = store.make()
    let results = try store.append([Self.batch("a", after: 0), Self.batch("b", after: 0)])
    #expect(results.map(Self.isStored) == [true, true])
    #expect(try store.append([Self.batch("a", after: 1, number: 2)]).map(Self.isStored) == [true])
  }

  @Test("a batch decided on an old head is not stored, and the log goes on", arguments: StoreCase.all)
  func oldHead(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch(after: 0)])
    // A store that does not keep batches cannot return the missed ones: it fails, and its hub stops.
    let results = try? store.append([Self.batch(after: 0, set: "2")])
    #expect(!Self.isStored(results?.first))
    #expect(try store.append([Self.batch(after: 1, number: 2)]).map(Self.isStored) == [true])
  }

  @Test("a writer with an old head gets the missed batches, in order", arguments: StoreCase.keeping)
  func moved(_ store: StoreCase) throws {
    let store = store.make()
    let others = [Self.batch(after: 0), Self.batch(after: 1, set: "2", number: 2)]
    for batch in others { _ = try store.append([batch]) }
    guard case .moved(let missed)? = try store.append([Self.batch(after: 0, set: "3")]).first else {
      Issue.record("the batch was not moved")
      return
    }
    #expect(missed == others)
  }

  @Test("a record without fields counts: a batch decided before it is not stored", arguments: StoreCase.keeping)
  func movedByRefusal(_ store: StoreCase) throws {
    let store = store.make()
    let refusal = Decision(origin: Speaker.ann.origin, number: 1, outcome: .unchanged)
    let other = Self.batch(record: 1, after: 0, set: nil, decisions: [refusal])
    _ = try store.append([other])
    guard case .moved(let missed)? = try store.append([Self.batch(record: 1, after: 0)]).first else {
      Issue.record("the batch was not moved")
      return
    }
    #expect(missed == [other])
  }

  @Test("a writer that missed only some batches gets only those", arguments: StoreCase.keeping)
  func movedInPart(_ store: StoreCase) throws {
    let store = store.make()
    let others = [Self.batch(after: 0), Self.batch(after: 1, set: "2", number: 2)]
    for batch in others { _ = try store.append([batch]) }
    guard case .moved(let missed)? = try store.append([Self.batch(after: 1, set: "3")]).first else {
      Issue.record("the batch was not moved")
      return
    }
    #expect(missed == [others[1]])
  }

  @Test(
    "a loaded model restores its machine from batches, decisions included",
    arguments: StoreCase.keeping)
  func loads(_ store: StoreCase) throws {
    let store = store.make()
    var bench = HubBench(store: store)
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"), .set("b", "1"))
    bench.write(.ann, 2, .delete("b"))
    bench.write(.ann, 3, .set("a", "{"))
    let before = bench.read()

    var later = HubBench(store: store, stored: try store.loadAll())
    let read = later.read()
    #expect(read.version == before.version)
    #expect(read.fields == before.fields)
    #expect(later.live(.ann).joined(.ann).map(\.lastDecided) == [3])
    #expect(later.write(.ann, 3, .set("a", "3"))?.refusal == .malformedValue)
    #expect(later.write(.ann, 2, .delete("b")) == .committed(2))
    #expect(later.write(.ann, 4, .of(.setIfAbsent, "b", "1")) == .unchanged)
  }

  @Test("a single model can be loaded, and an unwritten one is empty", arguments: StoreCase.keeping)
  func loadsOne(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch("a", after: 0), Self.batch("b", after: 0, set: "2")])
    #expect(try store.load("b")?.batches == [Self.batch("b", after: 0, set: "2")])
    #expect(try store.load("c")?.batches == nil)
    #expect(try store.loadAll().map(\.model) == ["a", "b"])
  }

  @Test("after a removal a model is empty, and its name starts above the floor", arguments: StoreCase.all)
  func removes(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch("a", after: 0), Self.batch("b", after: 0)])
    let removal = Batch.removal(of: "a", record: 2, epoch: HubBench.epoch, version: 1)
    #expect(try store.append([removal]).map(Self.isStored) == [true])
    #expect(store.floor == LogFloor(epoch: HubBench.epoch, version: 1, record: 2))
    #expect(try store.load("a")?.batches == nil)
    #expect(try store.loadAll().filter { $0.model == "a" }.isEmpty)
    // Recreated after the removal, and one created before it whose first write comes now.
    let results = try store.append([Self.batch("a", record: 3, after: 1), Self.batch("c", record: 1, after: 0)])
    #expect(results.map(Self.isStored) == [true, true])
    let beyond = try? store.append([Self.batch("d", record: 9, after: 8)])
    #expect(!Self.isStored(beyond?.first))
  }

  @Test("a recreated model is loaded without what preceded its removal", arguments: StoreCase.keeping)
  func removesAndLoads(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch("a", after: 0)])
    _ = try store.append([.removal(of: "a", record: 2, epoch: HubBench.epoch, version: 1)])
    let again = Self.batch("a", record: 3, after: 1)
    _ = try store.append([again])
    #expect(try store.load("a")?.batches == [again])
    #expect(try store.loadAll().map(\.batches) == [[again]])
  }

  @Test("a new epoch is remembered", arguments: StoreCase.all)
  func epoch(_ store: StoreCase) throws {
    let store = store.make()
    try store.start(HubBench.epoch + 1)
    #expect(store.epoch == HubBench.epoch + 1)
  }
}
