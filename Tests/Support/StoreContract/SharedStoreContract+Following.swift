import BindingHub
import BindingProtocol

extension SharedStoreContract {
  static let following = [
    SharedStoreContract("the tail delivers every record of every hub, each model's in order") { bench in
      let (reader, client) = (try bench.open(.none), try bench.open(.none))
      try reader.wait(until: "its tail") { !reader.all.isEmpty }
      var writers = (0..<5).map { ModelWriter("m\($0)", 1) }
      var written: [Batch] = []
      for round in 0..<12 {
        for index in writers.indices { written.append(try writers[index].write("\(round)", client)) }
      }
      let all = written
      try reader.wait(until: "all records") { reader.followed.count >= all.count }
      var tails: [String: SharedModelTail] = [:]
      for record in reader.followed {
        let model = record.batch.model
        let step = tails[model, default: SharedModelTail(SharedHead(model))]
          .take(record.batch.record, revision: record.revision)
        try expect(step != .load, "\(model): a record before \(record.batch.record) is missing")
      }
      try expect(Set(reader.followed.map(\.batch)) == Set(all), "other records than were written")
      for writer in writers { try expect(tails[writer.model] == writer.tail, "\(writer.model): another end") }
      try checkOrder(client)
    },
    SharedStoreContract("a tail that is held up goes on where it was") { bench in
      let (reader, client) = (try bench.open(.none), try bench.open(.none))
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      try reader.wait("record 1") { if case .followed(let records, _) = $0, !records.isEmpty { true } else { nil } }
      try bench.setHeld(true, reader)
      for value in 2...30 { try writer.write("\(value)", client) }
      try bench.setHeld(false, reader)
      try reader.wait(until: "record 30") { reader.followed.contains { $0.batch.record == 30 } }
      let records = Set(reader.followed.map(\.batch.record))
      try expect(records == Set(1...30), "it delivered \(records.sorted())")
    },
    SharedStoreContract("a tail whose place is compacted says so, and names what changed") { bench in
      let (reader, client) = (try bench.open(.none), try bench.open(.none))
      var writers = ["lamp", "fan", "door"].map { ModelWriter($0, 1) }
      for index in writers.indices { try writers[index].write("1", client) }
      try reader.wait(until: "all first records") { Set(reader.followed.map(\.batch.model)).count == 3 }
      let first = reader.all.count
      try bench.setHeld(true, reader)
      for value in 2...5 { for index in 0..<2 { try writers[index].write("\(value)", client) } }
      try bench.compact()
      try bench.setHeld(false, reader)
      let position = try reader.wait("lost", after: first, seconds: 60) {
        if case .lost(let position) = $0 { position } else { nil }
      }
      try expect(writers.allSatisfy { $0.tail.revision <= position }, "it lost less than it missed")
      try reader.wait("caught up", after: first, seconds: 60) {
        if case .caughtUp(let reached) = $0, reached >= position { true } else { nil }
      }
      var changed: [String: UInt64] = [:]
      for case .changed(let heads) in reader.all.dropFirst(first) {
        for head in heads { changed[head.model] = head.record }
      }
      try expect(changed["lamp"] == 5 && changed["fan"] == 5, "changed are \(changed)")
      try writers[0].write("6", client)
      try reader.wait(until: "the next record") { reader.followed.contains { $0.batch.record == 6 } }
    },
    SharedStoreContract("when a sync is answered, the tail has shown or named all that was stored before it") { bench in
      let (reader, client) = (try bench.open(.none), try bench.open(.none))
      try reader.wait(until: "its tail") { !reader.all.isEmpty }
      var writer = ModelWriter("lamp", 1)
      for number in 1...5 as ClosedRange<UInt64> {
        try writer.write("\(number)", client)
        let first = reader.all.count
        reader.store.sync(number)
        try reader.wait("synced", after: first) { if case .synced(number) = $0 { true } else { nil } }
        let shown = reader.followed.contains { $0.batch.record == number }
        let named = reader.all.contains { event in
          if case .changed(let heads) = event { heads.contains { $0.record == number } } else { false }
        }
        try expect(shown || named, "record \(number) is neither shown nor named")
      }
    },
    SharedStoreContract("a change of room is told, and refuses all but removals until there is room again") { bench in
      let client = try bench.open(.none)
      var (writer, other) = (ModelWriter("lamp", 1), ModelWriter("fan", 1))
      try writer.write("1", client)
      try other.write("1", client)
      try bench.setRoom(.full)
      try client.wait("full") { if case .room(.full) = $0 { true } else { nil } }
      let batch = writer.next("2")
      try expect(try client.append([batch])[0] == .full, "a full log stores")
      try expect(try client.load("lamp").head.record == 1, "a full log cannot be read")
      try expect(try client.fold("lamp") == .folded, "a full log cannot be folded")
      try client.store(other.removal())
      let first = client.all.count
      try bench.setRoom(.enough)
      try client.wait("room", after: first) { if case .room(.enough) = $0 { true } else { nil } }
      try client.store(batch)
    },
    SharedStoreContract("history is read page by page as far as records are kept") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      for value in 1...6 { try writer.write("\(value)", client) }
      var query = HistoryQuery(model: "lamp", record: 6, head: 6)
      query.count = 4
      let first = client.all.count
      client.store.history(query)
      let answer = try client.wait("history", after: first) {
        if case .history(_, let result) = $0 { result } else { nil }
      }.get()
      try expect(answer.commits.count == 4 && answer.next != nil, "a page of \(answer.commits.count)")
    },
  ]

  static let ending = [
    SharedStoreContract("another epoch of the log ends the store") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      try bench.beginEpoch()
      // Whether the store has noticed or not, nothing of the old epoch goes into the new one.
      _ = client.submit([writer.next("2")])
      let error = try client.wait("failed") { if case .failed(let error) = $0 { error } else { nil } }
      try expect(error.description.contains("epoch"), error.description)
      let later = try bench.open(.none)
      try expect(try later.head(of: "lamp").record == 1, "something of the old epoch was stored")
    },
    SharedStoreContract("after close no event comes") { bench in
      let (client, other) = (try bench.open(.none), try bench.open(.none))
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      client.store.close()
      let count = client.all.count
      var later = ModelWriter("fan", 1)
      try later.write("1", other)
      for _ in 0..<10 { client.work() }
      try expect(client.all.count == count, "\(client.all.suffix(from: count))")
    },
  ]
}
