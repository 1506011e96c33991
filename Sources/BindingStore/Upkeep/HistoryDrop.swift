import BindingHub
package import BindingProtocol
import Foundation
import GRDB

/// What an administrator wants removed from a model's history, because it should not have been written.
package struct HistoryDrop: Sendable, Hashable {
  /// What of it.
  package enum Part: Sendable, Hashable {
    case all
    /// The commits before this version.
    case before(Version)
    /// The values of this field. Its commits keep saying that they changed it.
    case field(String)
  }
  package var model: String
  package var part: Part

  package init(model: String, part: Part = .all) { (self.model, self.part) = (model, part) }

  /// What is dropped, in words.
  package var words: String {
    switch part {
    case .all: "the history of \(model)"
    case .before(let version): "the history of \(model) before version \(version)"
    case .field(let field): "the values of \(model).\(field) in the history"
    }
  }

  /// The request as a line of the control file, after its first word.
  var line: String {
    switch part {
    case .all: model
    case .before(let version): "\(model) before \(version)"
    case .field(let field): "\(model) field \(field)"
    }
  }

  /// Reads that line; nil: it is none.
  init?(line: Substring) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard let model = words.first, (try? Names.checkModel(model)) != nil else { return nil }
    switch words.count {
    case 1: self.init(model: model)
    case 3 where words[1] == "before":
      guard let version = Version(words[2]) else { return nil }
      self.init(model: model, part: .before(version))
    case 3 where words[1] == "field":
      guard (try? Names.checkField(words[2])) != nil else { return nil }
      self.init(model: model, part: .field(words[2]))
    default: return nil
    }
  }

  /// Removes it from the table of history, in the caller's transaction. What is not compacted yet stays.
  /// - Returns: the number of commits that are gone or have lost a value; nil: the model has no history.
  func perform(_ db: Database, path: String) throws -> Int? {
    guard let snapshot = try Snapshot.find(db, name: model) else { return nil }
    switch part {
    case .all:
      let commits = try HistoryDrop.commits(db, snapshot.model)
      try db.execute(sql: "DELETE FROM history WHERE model = ?", arguments: [snapshot.model])
      return commits
    case .before(let version):
      return try HistoryPage.rewrite(db, snapshot.model, path: path) { $0.cut(before: version) }
    case .field(let field):
      guard let id = try fieldID(field, db, path: path) else { return nil }
      return try removeValues(of: id, db, snapshot.model, path: path)
    }
  }

  private static func commits(_ db: Database, _ model: Int64) throws -> Int {
    try Int.fetchOne(
      db, sql: "SELECT sum(version - previous) FROM history WHERE model = ?", arguments: [model]) ?? 0
  }

  /// The field's id after the last renumbering.
  private func fieldID(_ field: String, _ db: Database, path: String) throws -> FieldID? {
    let current = try Snapshot.readAll(db, path: path).first { $0.name == model }
    guard let current else { return nil }
    var compactor = ModelCompactor(model)
    for number in 0..<current.snapshot.chunks { try compactor.load(current.snapshot.chunk(db, number, path: path)) }
    return compactor.names.firstIndex(of: field).map { FieldID($0) }
  }

  /// Removes the values of a field, and everything before the last renumbering: it cannot be told any more, and ids
  /// there mean other fields.
  private func removeValues(of id: FieldID, _ db: Database, _ model: Int64, path: String) throws -> Int {
    var renumbered: Version = 0
    try HistoryPage.read(db, model, after: 0, path: path) { batch in
      if batch.form != .ordinary { renumbered = batch.version }
      return true
    }
    return try HistoryPage.rewrite(db, model, path: path) { batch in
      let cut = renumbered > 0 ? batch.cut(before: renumbered + 1) : 0
      return cut + batch.removeValues(of: id)
    }
  }
}

extension HistoryPage {
  /// Changes the batches of a model's history.
  /// - Parameter change: changes a batch and returns how many of its commits it has changed or dropped. A batch without
  ///   commits is dropped.
  /// - Returns: the sum.
  static func rewrite(_ db: Database, _ model: Int64, path: String, _ change: (inout Batch) throws -> Int) throws -> Int
  {
    let rows = try Int64.fetchAll(
      db, sql: "SELECT row FROM history WHERE model = ? ORDER BY record", arguments: [model])
    var changed = 0
    for number in rows {
      guard
        let row = try Row.fetchOne(
          db, sql: "SELECT row, first, record, previous, version, checksum, bytes FROM history WHERE row = ?",
          arguments: [number])
      else { continue }
      var batches: [Batch] = []
      var changedHere = 0
      try LogRow.batches(of: number, checkedBytes(of: row, model, path), path: path) { batch, _ in
        var batch = batch
        changedHere += try change(&batch)
        if batch.version > batch.previous || batch.form != .ordinary { batches.append(batch) }
      }
      changed += changedHere
      guard changedHere > 0 || batches.isEmpty else { continue }
      try store(batches, inRow: number, of: model, db)
    }
    return changed
  }

  private static func store(_ batches: [Batch], inRow row: Int64, of model: Int64, _ db: Database) throws {
    guard let begin = batches.first, let end = batches.last else {
      return try db.execute(sql: "DELETE FROM history WHERE row = ?", arguments: [row])
    }
    var page = WireWriter(reserving: 65_536)
    for batch in batches { batch.write(to: &page) }
    try page.withUnsafeBytes { bytes in
      let sum = checksum(
        model, first: begin.record, record: end.record, previous: begin.previous, version: end.version, bytes)
      try db.execute(
        sql: "UPDATE history SET first = ?, record = ?, previous = ?, version = ?, size = ?, checksum = ?, bytes = ? "
          + "WHERE row = ?",
        arguments: [
          Int64(bitPattern: begin.record), Int64(bitPattern: end.record), Int64(bitPattern: begin.previous),
          Int64(bitPattern: end.version), bytes.count, sum, Data(borrowing: bytes), row,
        ])
    }
  }
}

extension Batch {
  /// Drops the commits before a version.
  /// - Returns: how many.
  fileprivate mutating func cut(before version: Version) -> Int {
    guard form == .ordinary, !body.isEmpty, previous + 1 < version else { return 0 }
    guard self.version >= version else {
      let count = Int(self.version - previous)
      (previous, body, decisions) = (self.version, [], [])
      return count
    }
    let count = Int(version - 1 - previous)
    change { group in
      group.commits.removeFirst(count)
      group.previous += Version(count)
    }
    previous = version - 1
    return count
  }

  /// Puts a mark in place of a field's values.
  /// - Returns: how many commits changed the field.
  fileprivate mutating func removeValues(of id: FieldID) -> Int {
    guard form == .ordinary, !body.isEmpty else { return 0 }
    var count = 0
    change { group in
      for index in group.commits.indices {
        for at in group.commits[index].changes.indices
        where group.commits[index].changes[at].field == id && group.commits[index].changes[at].value != nil {
          group.commits[index].changes[at].value = FieldValue(bytes: RemovedValue.bytes)
          count += 1
        }
      }
    }
    return count
  }

  private mutating func change(_ edit: (inout CommitGroup) -> Void) {
    let edited: [UInt8]? = body.withUnsafeBytes { bytes in
      var reader = WireReader(bytes, message: "commits")
      guard var group = try? CommitGroup(from: &reader) else { return nil }
      edit(&group)
      var writer = WireWriter(reserving: bytes.count)
      group.write(to: &writer)
      return writer.bytes
    }
    if let edited { body = edited }
  }
}
