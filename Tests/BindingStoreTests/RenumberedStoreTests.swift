import BindingProtocol
import Foundation
import Testing

@testable import BindingHub
@testable import BindingStore

/// A renumbering record gives a model's fields other ids when names of deleted fields are released. The file must
/// mean the same before and after it, wherever the record lies.
@Suite("Renumbered fields in a store")
struct RenumberedStoreTests {
  private var bench = StoreBench()
  private var copy: String { bench.folder + "/copy" }
  /// The name of a deleted field, contained in no other word of the file.
  private static let gone = "once-upon-a-time"

  /// Field 0 is deleted, and `kept`, which was 2, becomes 1.
  private func fill(_ store: SQLiteStore) throws {
    try store.appendAll(bench.batch("lamp", Self.gone), bench.batch("door"))
    try store.appendAll(bench.batch("lamp", "other"))
    try store.appendAll(bench.batch("lamp", "kept", to: "2"))
    try store.appendAll(bench.batch("lamp", Self.gone, to: nil))
  }

  private func renumber(_ store: SQLiteStore) throws {
    try store.appendAll(bench.renumbering())
    #expect(bench.present() == ["other", "kept"])
  }

  private func settle(_ store: SQLiteStore) throws { while try store.upkeep() {} }

  /// The model as a hub has it that starts with the store.
  private func expect(
    _ expected: [String: String], names: [String]? = nil, in store: SQLiteStore, _ comment: Comment? = nil
  ) throws {
    let model = ModelLog(id: "lamp", topic: Topics.none)
    try model.restore(try #require(try store.load("lamp")), recentLimit: 0)
    if let names { #expect(model.fields.slots.map(\.name) == names, comment) }
    let values = model.fields.slots.filter(\.hasValue).map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }
    #expect(Dictionary(uniqueKeysWithValues: values) == expected, comment)
  }

  @Test("renumbered fields survive a start, a crash and compaction, and later writes use their new ids")
  func reopened() throws {
    let after = ["other": "1", "kept": "3", "new": "4"]
    do {
      let store = try bench.open()
      try fill(store)
      try renumber(store)
      try store.appendAll(bench.batch("lamp", "kept", to: "3"), bench.batch("lamp", "new", to: "4"))
      try bench.keepAsItIs()
      try store.close()
    }
    do {
      let store = try bench.open()
      try expect(after, names: ["other", "kept", "new"], in: store)
      try store.close()
    }
    try bench.putBack()
    bench.limits.compactionBytes = 0
    do {
      let store = try bench.open()
      try expect(after, names: ["other", "kept", "new"], in: store)
      try settle(store)
      try expect(after, names: ["other", "kept", "new"], in: store)
      try store.appendAll(
        bench.batch("lamp", "new", to: nil), bench.renumbering(), bench.batch("lamp", "last", to: "5"))
      try store.close()
    }
    let store = try bench.open()
    try expect(["other": "1", "kept": "3", "last": "5"], names: ["other", "kept", "last"], in: store)
  }

  @Test("renumbered fields are the same at any moment of the compaction, also after a crash")
  func compacting() throws {
    for steps in 0..<40 {
      let bench = StoreBench()
      (bench.limits.compactionBytes, bench.limits.upkeepMicroseconds) = (0, 1)
      let after = ["other": "1", "kept": "3", "new": "4"]
      var here = RenumberedStoreTests()
      here.bench = bench
      do {
        let store = try bench.open()
        try here.fill(store)
        try here.settle(store)
        for number in 1...6 { try store.appendAll(bench.batch("lamp", "f\(number)")) }
        for number in 1...6 { try store.appendAll(bench.batch("lamp", "f\(number)", to: nil)) }
        for _ in 0..<steps { _ = try store.upkeep() }
        try here.renumber(store)
        _ = try store.upkeep()
        try store.appendAll(bench.batch("lamp", "kept", to: "3"), bench.batch("lamp", "new", to: "4"))
        try bench.keepAsItIs()
        try here.expect(after, in: store, "\(steps) steps")
        try here.settle(store)
        try here.expect(after, names: ["other", "kept", "new"], in: store, "\(steps) steps, folded")
        try store.close()
        #expect(try SQLiteStore.check(path: bench.path).models == 2)
      }
      try bench.putBack()
      let later = try bench.open()
      try here.expect(after, names: ["other", "kept", "new"], in: later, "\(steps) steps, after the end")
    }
  }

  @Test("a backup around a renumbering is restored with its own ids", arguments: [true, false], [true, false])
  func restored(isAfter: Bool, isCompacted: Bool) throws {
    if isCompacted { bench.limits.compactionBytes = 0 }
    let atCopy = StoreBench()
    do {
      let store = try bench.open(.disk)
      try fill(store)
      if isAfter { try renumber(store) }
      if isCompacted { try settle(store) }
      try SQLiteStore.backup(of: bench.path, to: copy)
      #expect(try SQLiteStore.check(path: copy).fields == (isAfter ? 3 : 4))
      atCopy.goOn(from: bench)
      if !isAfter { try renumber(store) }
      try store.appendAll(bench.batch("lamp", "kept", to: "9"), bench.batch("lamp", "late"))
      try store.close()
    }
    try SQLiteStore.restore(backup: copy, to: bench.path)
    bench.goOn(from: atCopy)
    let store = try bench.open(.disk)
    #expect(store.tail == .restored)
    try expect(["other": "1", "kept": "2"], in: store)
    // Later writes use the backup's ids.
    try store.appendAll(bench.batch("lamp", "kept", to: "3"))
    try expect(["other": "1", "kept": "3"], in: store)
    if !isAfter {
      try renumber(store)
      try expect(["other": "1", "kept": "3"], names: ["other", "kept"], in: store)
    }
  }

  @Test("a damaged store is recovered from a backup with the backup's ids", arguments: [true, false])
  func recovered(isAfter: Bool) throws {
    do {
      let store = try bench.open(.disk)
      try fill(store)
      if isAfter { try renumber(store) }
      try SQLiteStore.backup(of: bench.path, to: copy)
      if !isAfter { try renumber(store) }
      try store.appendAll(bench.batch("lamp", "late"))
      try store.close()
    }
    try Data("nothing".utf8).write(to: URL(fileURLWithPath: bench.path))
    try SQLiteStore.recover(bench.path, backup: copy)
    let store = try bench.open(.disk)
    #expect(store.tail == .unproven)
    try expect(
      ["other": "1", "kept": "2"], names: isAfter ? ["other", "kept"] : [Self.gone, "other", "kept"], in: store)
  }

  @Test("a check reads a renumbering record, and one that keeps an unknown field is damage", arguments: [true, false])
  func checked(isCompacted: Bool) throws {
    if isCompacted { bench.limits.compactionBytes = 0 }
    let store = try bench.open()
    try fill(store)
    try renumber(store)
    try store.appendAll(bench.batch("lamp", "new"))
    if isCompacted { try settle(store) }
    let check = try SQLiteStore.check(path: bench.path)
    #expect(check.models == 2 && check.fields == 4)
    let bad = Batch.renumbering(of: "lamp", record: 7, epoch: 1, version: 5, kept: [3])
    try store.appendAll(bad)
    let error = #expect(throws: StoreError.self) { try SQLiteStore.check(path: bench.path) }
    #expect(error?.description.contains("lamp") == true, "\(String(describing: error))")
  }

  @Test("a compaction removes released names from every byte of the file")
  func compaction() throws {
    bench.limits.historyBytes = 0
    do { try compactTwice(try bench.open()) }
    let later = try bench.open()
    try expect(["other": "1", "kept": "2"], names: ["other", "kept"], in: later)
  }

  /// Before and after the names are released.
  private func compactTwice(_ store: SQLiteStore) throws {
    try fill(store)
    for number in 0..<2_000 { try store.appendAll(bench.batch("lamp", "\(Self.gone)-\(number)")) }
    for number in 0..<2_000 { try store.appendAll(bench.batch("lamp", "\(Self.gone)-\(number)", to: nil)) }
    try compact(store)
    let before = StoreFiles.size(bench.path)
    #expect(try fileHolds(Self.gone))
    try renumber(store)
    try compact(store)
    #expect(try !fileHolds(Self.gone))
    #expect(StoreFiles.size(bench.path) < before / 2)
    try expect(["other": "1", "kept": "2"], names: ["other", "kept"], in: store)
    try store.close()
  }

  private func compact(_ store: SQLiteStore) throws {
    try AdminRequest.compact.leave(at: bench.path)
    while AdminRequest.result(at: bench.path).isOpen { _ = try store.upkeep() }
  }

  private func fileHolds(_ text: String) throws -> Bool {
    try Data(contentsOf: URL(fileURLWithPath: bench.path)).range(of: Data(text.utf8)) != nil
  }
}
