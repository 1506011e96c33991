import BindingHub
import BindingProtocol
import Testing

@testable import BindingStore

@Suite("What a store returns when it is opened again")
struct ReopeningTests {
  @Test("a reopened store returns every stored batch in order", arguments: [Durability.process, .disk])
  func batches(_ grade: Durability) throws {
    let bench = StoreBench()
    let lamp = [bench.batch("lamp"), bench.batch("lamp", to: "2")]
    let door = [bench.batch("door")]
    do {
      let store = try bench.open(grade)
      try store.appendAll(lamp[0], door[0])
      try store.appendAll(lamp[1])
      try store.close()
    }
    let models = try bench.open(grade).loadAll()
    #expect(models.map(\.model) == ["door", "lamp"])
    #expect(models.map(\.batches) == [door, lamp])
  }

  @Test("the next record of a reopened store follows those of the previous run")
  func records() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open()
      try store.appendAll(bench.batch())
      try store.close()
    }
    let store = try bench.open()
    try store.appendAll(bench.batch())
    #expect(try store.load("lamp")?.batches.map(\.record) == [1, 2])
  }

  @Test("a reopened store is the same log")
  func log() throws {
    let bench = StoreBench()
    let logID: LogID
    do {
      let store = try bench.open()
      logID = store.logID
      try store.close()
    }
    #expect(try bench.open().logID == logID)
  }
}
