import BindingHub
import BindingProtocol

extension SharedStoreContract {
  static let folding = [
    SharedStoreContract("a folded model is loaded as it was, and written on") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      for value in 1...9 { try writer.write("\(value)", client) }
      try expect(try client.fold("lamp") == .folded, "not folded")
      let (head, stored) = try client.load("lamp")
      guard let stored else { throw ContractError("it is gone") }
      try expect(!stored.chunks.isEmpty && stored.batches.map(\.record) == [9], "kept: \(stored.batches.map(\.record))")
      try expect(head.record == 9 && head.revision == writer.tail.revision, "folding changed the head")
      let compactor = try ModelCompactor(stored)
      try expect(compactor.record == 9 && compactor.lastStored(of: writer.origin.tag) == 9, "the fold lacks records")
      try writer.write("10", client)
      try expect(try ModelCompactor(client.load("lamp").stored ?? stored).record == 10, "it cannot be written on")
      try expect(try client.fold("lamp") == .folded, "not folded again")
      if let keys = try bench.chunkKeys(of: "lamp") { try expect(keys == 1, "\(keys) generations of chunks remain") }
    },
    SharedStoreContract("a fold needs the records up to its own alone, and leaves the later ones") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      var revisions: [SharedRevision] = [0]
      func grow(to last: UInt64) throws {
        while writer.tail.record < last {
          try writer.write("\(writer.tail.record)", client)
          revisions.append(writer.tail.revision)
        }
      }
      for (last, record, needed) in [(9, 4, 1...4), (12, 7, 4...7)] as [(UInt64, UInt64, ClosedRange<UInt64>)] {
        try grow(to: last)
        guard let stored = try client.loadToFold("lamp", upTo: record) else { throw ContractError("it is gone") }
        try expect(stored.batches.map(\.record) == Array(needed), "it gets \(stored.batches.map(\.record))")
        let fold = try SharedFold(compacting: stored, upTo: record, revision: revisions[Int(record)])
        guard let fold else { throw ContractError("it does not end at \(record)") }
        try expect(try client.finish(fold) == .folded, "not folded")
        let left = try client.load("lamp").stored?.batches.map(\.record)
        try expect(left == Array(record...last), "left: \(left ?? [])")
      }
      try expect(try client.loadToFold("fan", upTo: 3) == nil, "a model that never was")
    },
    SharedStoreContract("a hub that slept writes into nothing that was folded meanwhile") { bench in
      let (client, other) = (try bench.open(.none), try bench.open(.none))
      var writer = ModelWriter("lamp", 1)
      var sleeping = ModelWriter("lamp", 2)
      let newborn = ModelWriter("lamp", 3)
      for value in 1...3 { sleeping.take(try writer.write("\(value)", client), writer.tail.revision) }
      for value in 4...8 { try writer.write("\(value)", client) }
      try client.fold("lamp")
      for var late in [sleeping, newborn] {
        // The tail may tell what stands there before the engine tells that it is folded.
        switch try other.append([late.next("9")])[0] {
        case .folded(let head): try expect(head.record == 8 && !head.isRemoved, "the head is \(head)")
        case .moved(let records): try expect(!records.isEmpty, "it moved without a record")
        case let result: throw ContractError("\(result)")
        }
      }
      try expect(try client.head(of: "lamp").record == 8, "something was written")
    },
    SharedStoreContract("a hub that slept writes into nothing that was removed and made again meanwhile") { bench in
      let (client, other) = (try bench.open(.none), try bench.open(.none))
      var writer = ModelWriter("lamp", 1)
      var first = ModelWriter("lamp", 3)
      var sleeping = ModelWriter("lamp", 2)
      for value in 1...3 { sleeping.take(try writer.write("\(value)", client), writer.tail.revision) }
      let removal = writer.removal()
      writer.take(removal.batch, try client.store(removal))
      let (head, stored) = try client.load("lamp")
      try expect(stored == nil && head.isRemoved && head.record == 4, "removed, it is \(head)")
      // At the place of the removal the hub learns of it; at an earlier one it may have to load.
      guard case .moved(let records) = try other.append([sleeping.next("9")])[0] else {
        throw ContractError("not moved")
      }
      try expect(records.map(\.batch) == [removal.batch], "what stands there is \(records.map(\.batch.form))")
      switch try other.append([first.next("9")])[0] {
      case .moved, .folded: break
      case let result: throw ContractError("\(result)")
      }
      // Its log goes on, so that neither record nor version repeats.
      let again = try writer.write("5", client)
      try expect(again.record == 5 && again.previous == 3, "it begins at \(again.record), version \(again.previous)")
      try expect(try client.load("lamp").stored?.batches == [again], "what was removed is loaded")
      for var late in [sleeping, first] {
        switch try other.append([late.next("9")])[0] {
        case .moved, .folded: break
        case let result: throw ContractError("\(result)")
        }
      }
      try expect(try client.load("lamp").stored?.batches == [again], "a late hub wrote")
    },
    SharedStoreContract("of two hubs that fold one model one wins, and nothing of the other remains") { bench in
      let clients = [try bench.open(.none), try bench.open(.none)]
      var writer = ModelWriter("lamp", 1)
      var folds: [SharedFold] = []
      for value in 1...5 {
        try writer.write("\(value)", clients[0])
        if value > 3 {
          let (head, stored) = try clients[value % 2].load("lamp")
          if let stored, let fold = try SharedFold(compacting: stored, head: head) { folds.append(fold) }
        }
      }
      // Both begin; the later record of the second does not matter, what is first in the log does.
      for (client, fold) in zip(clients, folds) { client.store.fold(fold) }
      var results: [SharedFolded] = []
      for client in clients {
        results.append(try client.wait("folded") { if case .folded("lamp", let result) = $0 { result } else { nil } })
      }
      let won = results.filter { $0 == .folded }.count
      try expect(won >= 1 && results.allSatisfy { $0 == .folded || $0 == .outrun }, "\(results)")
      guard let stored = try clients[0].load("lamp").stored else { throw ContractError("it is gone") }
      try expect(try ModelCompactor(stored).record == 5, "it is not whole")
      if let keys = try bench.chunkKeys(of: "lamp") { try expect(keys == 1, "\(keys) generations of chunks remain") }
      // A fold from before the one in force.
      try expect(try clients[0].fold("lamp") == .folded, "not folded again")
      try expect(try clients[1].finish(folds[0]) == .outrun, "an old fold replaced a new one")
      try expect(try ModelCompactor(clients[1].load("lamp").stored ?? stored).record == 5, "it is not whole any more")
    },
    SharedStoreContract("a fold of a model that was removed meanwhile does not bring it back") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      for value in 1...3 { try writer.write("\(value)", client) }
      let (head, stored) = try client.load("lamp")
      guard let stored, let fold = try SharedFold(compacting: stored, head: head) else { throw ContractError("gone") }
      let removal = writer.removal()
      writer.take(removal.batch, try client.store(removal))
      try expect(try client.finish(fold) == .outrun, "a removed model was folded")
      let again = try writer.write("9", client)
      try expect(try client.finish(fold) == .outrun, "an earlier life was folded into a later one")
      let loaded = try client.load("lamp").stored
      try expect(loaded?.batches == [again] && loaded?.chunks == [], "something of its earlier life is loaded")
      if let keys = try bench.chunkKeys(of: "lamp") { try expect(keys == 0, "\(keys) generations of chunks remain") }
    },
    SharedStoreContract("a fold of many chunks is loaded whole") { bench in
      let client = try bench.open(.none)
      var writer = ModelWriter("lamp", 1)
      try writer.write("1", client)
      let head = try client.head(of: "lamp")
      let chunks = (0..<60).map { [UInt8](repeating: UInt8($0), count: 65_536 + $0) }
      let fold = SharedFold("lamp", chunks: chunks, upTo: 1, revision: head.revision)
      try expect(try client.finish(fold) == .folded, "not folded")
      try expect(try client.load("lamp").stored?.chunks == chunks, "other chunks are loaded")
    },
  ]
}
