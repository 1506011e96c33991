import BindingHub
import BindingProtocol

/// What every `SharedStore` must do, as checks that any bench can run.
package struct SharedStoreContract: Sendable, CustomStringConvertible {
  package let description: String
  package let run: @Sendable (any SharedStoreBench) throws -> Void

  init(_ description: String, _ run: @escaping @Sendable (any SharedStoreBench) throws -> Void) {
    self.description = description
    self.run = run
  }

  /// All checks.
  package static let all = appending + racing + naming + folding + following + ending

  private static let appending = [
    SharedStoreContract("a store says first that it is connected and where its tail begins") { bench in
      let client = try bench.open(.none)
      try client.wait(until: "two events") { client.all.count >= 2 }
      guard case .connected(true) = client.all[0], case .caughtUp = client.all[1] else {
        throw ContractError("the first events are \(client.all.prefix(2))")
      }
      try expect(client.store.epoch == ModelWriter.epoch && client.store.logID != 0, "it does not name its log")
    },
    SharedStoreContract("what is stored is loaded, in order, with its head") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      let batches = [try writer.write("1", client), try writer.write(nil, client), try writer.write("3", client)]
      let (head, stored) = try client.load("lamp")
      try expect(stored?.batches == batches && stored?.chunks == [], "other batches are loaded")
      try expect(head.record == 3 && head.version == 2 && !head.isRemoved, "the head is \(head)")
      try expect(head.revision == writer.tail.revision, "the head has another revision than the last answer")
      try expect(try client.head(of: "lamp") == head, "the head is not that of the load")
      let none = try client.load("none")
      try expect(none.stored == nil && none.head == SharedHead("none"), "a model that never was is \(none.head)")
    },
    SharedStoreContract("a batch decided on an old head moves, and gets what stands there, refusals included") {
      bench in
      let (client, other) = (try bench.open(.none), try bench.open(.none))
      var (writer, late) = (ModelWriter("lamp", 1), ModelWriter("lamp", 2))
      try late.take(writer.write("1", client), writer.tail.revision)
      let missed = [try writer.write(nil, client), try writer.write("3", client)]
      guard case .moved(let records) = try other.append([late.next("9")])[0] else { throw ContractError("not moved") }
      // The tail may have told the first of them before the engine told all; then it tells the others.
      for record in records { late.take(record.batch, record.revision) }
      try other.wait(until: "record 3") {
        for record in other.followed { late.take(record.batch, record.revision) }
        return late.tail.record == 3
      }
      try expect(records.first?.batch == missed[0], "it gets \(records.map(\.batch.record)), not 2 first")
      try expect(late.tail == writer.tail, "the records have other revisions than their answers")
      try late.write("4", other)
    },
    SharedStoreContract("in one append some batches are stored and others move") { bench in
      let (client, other) = (try bench.open(.none), try bench.open(.none))
      var writers = (0..<5).map { ModelWriter("m\($0)", 1) }
      for index in [1, 3] {
        var first = ModelWriter("m\(index)", 2)
        try first.write("1", other)
      }
      let results = try client.append(writers.indices.map { writers[$0].next("2") })
      for (index, result) in results.enumerated() {
        switch result {
        case .stored: try expect(index % 2 == 0, "m\(index) is stored over another's")
        case .moved(let records): try expect(index % 2 == 1 && records.count == 1, "m\(index) moved")
        default: throw ContractError("m\(index): \(result)")
        }
      }
    },
    SharedStoreContract("an append of any number of batches is stored") { bench in
      let client = try bench.open(.none)
      for count in [63, 64, 200] {
        var writers = (0..<count).map { ModelWriter("n\(count)/\($0)", 1) }
        let results = try client.append(writers.indices.map { writers[$0].next() })
        try expect(results.allSatisfy { if case .stored = $0 { true } else { false } }, "\(count): not all are stored")
        try expect(try client.list("n\(count)/", page: 50).count == count, "\(count): not all are listed")
      }
    },
    SharedStoreContract("batches up to the store's limit are stored, one byte more is refused") { bench in
      let client = try bench.open(.none)
      func batch(_ model: String, bytes: Int) -> SharedBatch {
        var writer = ModelWriter(model, 1)
        var (batch, size) = (writer.next("\"\""), WireWriter())
        batch.batch.write(to: &size)
        writer = ModelWriter(model, 1)
        var text = String(repeating: "x", count: bytes - size.count)
        batch = writer.next("\"\(text)\"")
        size = WireWriter()
        batch.batch.write(to: &size)
        // A longer value has a longer length before it.
        text.removeLast(size.count - bytes)
        writer = ModelWriter(model, 1)
        return writer.next("\"\(text)\"")
      }
      let most = client.store.maxBatchBytes
      try expect(try client.append([batch("big", bytes: most + 1)])[0] == .tooLarge, "one byte too many is stored")
      try client.store(batch("big", bytes: most))
      try expect(try client.load("big").stored?.batches == [batch("big", bytes: most).batch], "it is changed")
      // Together they are more than one transaction of any engine takes.
      let several = (0..<4).map { batch("b\($0)", bytes: most * 2 / 3) }
      let results = try client.append(several)
      try expect(results.allSatisfy { if case .stored = $0 { true } else { false } }, "not all big ones are stored")
    },
    SharedStoreContract("what was answered unknown is settled by the same bytes again") { bench in
      let client = try bench.open(.silent)
      var (writer, other) = (ModelWriter("lamp", 1), ModelWriter("lamp", 2))
      let batch = writer.next("1")
      try expect(try client.append([batch], seconds: 60)[0] == .unknown, "an append without any answer is answered")
      guard case .stored(let revision) = try client.append([batch])[0] else { throw ContractError("not settled") }
      writer.take(batch.batch, revision)
      try expect(try client.load("lamp").stored?.batches == [batch.batch], "it is there twice, or not at all")
      // An answer to the second try must not count for what came after it.
      try writer.write("2", client)
      try other.insist("3", client)
      try expect(try client.head(of: "lamp").record == 3, "it is not the third record")
    },
  ]
}
