import BindingHub
import BindingProtocol
import Dispatch
import Synchronization

extension SharedStoreContract {
  static let racing =
    SharedStoreFaults.allCases.filter { $0 != .silent }.map { faults in
      SharedStoreContract("three hubs write the same models, answers \(faults.rawValue)") { bench in
        let clients = try (0..<3).map { _ in try bench.open(faults) }
        var writers = clients.indices.map { index in (0..<3).map { ModelWriter("race/\($0)", UInt64(index + 1)) } }
        // One thread a hub where the store has threads; the order of turns is drawn by the store's faults else.
        for round in 0..<8 {
          for (index, client) in clients.enumerated() {
            for model in 0..<3 { try writers[index][model].insist("\"\(index).\(round)\"", client) }
          }
        }
        for model in 0..<3 {
          let name = "race/\(model)"
          let batches = try clients[0].load(name).stored?.batches ?? []
          try expect(batches.map(\.record) == (1...24).map(UInt64.init), "\(name) has \(batches.map(\.record))")
          try expect(batches.map(\.version) == (1...24).map(UInt64.init), "\(name): versions \(batches.map(\.version))")
          try expect(Set(batches.map(\.body)).count == 24, "\(name): a value was stored twice")
        }
        for client in clients { try checkOrder(client) }
      }
    } + [
      SharedStoreContract("three hubs at the same time, many appends under way") { bench in
        let clients = try (0..<3).map { _ in try bench.open(.mixed) }
        let failure = Mutex<(any Error)?>(nil)
        DispatchQueue.concurrentPerform(iterations: 3) { index in
          do {
            for model in 0..<4 {
              var writer = ModelWriter("same/\(model)", UInt64(index + 1))
              for round in 0..<6 { try writer.insist("\"\(index).\(round)\"", clients[index]) }
            }
          } catch {
            failure.withLock { $0 = error }
          }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        for model in 0..<4 {
          let batches = try clients[0].load("same/\(model)").stored?.batches ?? []
          try expect(batches.map(\.record) == (1...18).map(UInt64.init), "same/\(model): \(batches.map(\.record))")
          try expect(Set(batches.map(\.body)).count == 18, "same/\(model): a value was stored twice")
        }
        for client in clients { try checkOrder(client) }
      }
    ]

  /// No record of the tail at or after an append's place comes before its answer.
  package static func checkOrder(_ client: SharedStoreClient) throws {
    var last: [String: UInt64] = [:]
    for event in client.all {
      switch event {
      case .followed(let records, let position):
        for record in records {
          try expect(record.revision <= position, "a record of \(record.revision) comes at position \(position)")
          last[record.batch.model] = max(last[record.batch.model] ?? 0, record.batch.record)
        }
      case .appended(_, let answers):
        for answer in answers {
          guard case .stored = answer.result else { continue }
          try expect(
            last[answer.model] ?? 0 < answer.record, "\(answer.model) \(answer.record) was followed before its answer")
        }
      default: break
      }
    }
  }

  static let naming = [
    SharedStoreContract("models whose names contain each other's keys are apart") { bench in
      let client = try bench.open(.none)
      let names = ["a", "a-", "a/0000000000000001", "a/ffffffffffffffff", "a0", "a/0000000000000001/0000000000000002"]
      var writers = names.map { ModelWriter($0, 1) }
      for round in 0..<3 {
        for index in writers.indices { try writers[index].write("\"\(names[index]).\(round)\"", client) }
      }
      func check(_ gone: Set<String>, _ what: String) throws {
        for name in names {
          let (head, stored) = try client.load(name)
          try expect((stored == nil) == gone.contains(name), "\(what): \(name) is \(stored == nil ? "gone" : "there")")
          guard let stored else { continue }
          try expect(head.record == 3, "\(what): \(name) ends at \(head.record)")
          try expect(try ModelCompactor(stored).record == 3, "\(what): \(name) is not whole")
          try expect(stored.batches.allSatisfy { $0.model == name }, "\(what): \(name) has records of another")
        }
        try expect(try client.list("a", page: 2).sorted() == names.filter { !gone.contains($0) }.sorted(), what)
      }
      try check([], "written")
      for name in names {
        try expect(try client.fold(name) == .folded, "\(name) is not folded")
        try check([], "\(name) folded")
      }
      var gone: Set<String> = []
      for index in writers.indices {
        try client.store(writers[index].removal())
        gone.insert(names[index])
        try check(gone, "\(names[index]) removed")
      }
    }
  ]
}
