package import BindingProtocol

/// The location of a line.
package struct HistoryLocation: Sendable, Hashable, CustomStringConvertible {
  /// The name of the file.
  package var file: String
  /// Counted from 1.
  package var line: Int
  /// The file and line, separated by a colon.
  package var description: String { "\(file):\(line)" }
}

/// One line of a history: what a hub stored, or what a peer did, received or showed
/// (`docs/reference/history-format.md`).
package struct HistoryEntry: Sendable {
  /// Where the line stands.
  package var location: HistoryLocation
  /// The machine's monotonic clock, nanoseconds.
  package var time: UInt64
  /// What happened.
  package var content: Content

  /// What a line records.
  package enum Content: Sendable {
    case hub(epoch: Epoch, durability: String)
    case epoch(Epoch)
    case commit(HistoryCommit)
    /// A run of a peer begins.
    case peer(tag: String, name: String, keepsOutbox: Bool)
    /// The peer may write defaults of its own into the model.
    case share(model: String)
    case submit(HistoryWrite)
    /// The call returned: what an outbox has to keep is in it.
    case made(write: Int)
    /// The call threw: nothing was written.
    case notMade(write: Int)
    case outcome(write: Int, HistoryOutcome)
    case update(HistoryUpdate)
    case read(model: String, field: String, value: JSON)
    /// What a peer shows when all is quiet.
    case final(HistoryUpdate)
  }
}

/// A commit as the hub stored it; a deleted field is `null`.
package struct HistoryCommit: Sendable {
  /// The model's name.
  package var model: String
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version that the commit made.
  package var version: Version
  /// The writer's tag.
  package var tag: String
  /// The proposal's number; 0: recovered after a loss.
  package var number: Int
  /// The new value of each changed field.
  package var changes: [String: JSON]
  /// Whether a starting hub found it in its store: the previous one may have been killed before it recorded it.
  package var isAgain = false
}

/// A write as it was requested.
package struct HistoryWrite: Sendable {
  /// Counted by the peer, afresh in each run.
  package var id: Int
  /// The model's name.
  package var model: String
  /// Its operations, in order.
  package var operations: [Operation]
  /// The conditions under which it is applied.
  package var conditions: [Condition]

  /// One operation on one field.
  package struct Operation: Sendable {
    /// A verb of the protocol, or `text`: the word that was put into a text.
    package var verb: String
    /// The field's name.
    package var field: String
    /// The operand; `null` if the verb has none.
    package var value: JSON
  }
}

/// The outcome that a peer received for its write.
package struct HistoryOutcome: Sendable {
  /// `committed`, `unchanged`, `refused`, `conflict`, `superseded`, `expired` or `unknown`.
  package var kind: String
  /// Of a commit, else 0.
  package var epoch: Epoch
  /// Of a commit, else 0.
  package var version: Version
}

/// What a peer showed: the changed fields or, for `final`, all.
package struct HistoryUpdate: Sendable {
  /// The model's name.
  package var model: String
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version that the peer showed.
  package var version: Version
  /// The shown values; `null`: no value.
  package var values: [String: JSON]
  /// Updates dropped before this one, for a lagging observer.
  package var missed: Int
}

extension HistoryEntry {
  /// Reads the lines of one file.
  /// - Returns: the entries, and the locations of lines that are not entries. A last line without its end is
  ///   skipped: its process died while writing it.
  package static func read(_ text: String, file: String) -> (entries: [HistoryEntry], bad: [HistoryLocation]) {
    var entries: [HistoryEntry] = []
    var bad: [HistoryLocation] = []
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.dropLast().enumerated() where !line.isEmpty {
      let location = HistoryLocation(file: file, line: index + 1)
      if let json = try? JSON(parsing: String(line)), let entry = HistoryEntry(json, at: location) {
        entries.append(entry)
      } else {
        bad.append(location)
      }
    }
    return (entries, bad)
  }

  init?(_ json: JSON, at location: HistoryLocation) {
    guard let time = json.count("t"), let kind = json["e"]?.string, let content = Content(kind, json) else {
      return nil
    }
    self.location = location
    self.time = time
    self.content = content
  }
}

extension HistoryEntry.Content {
  init?(_ kind: String, _ json: JSON) {
    let content: Self?
    switch kind {
    case "hub":
      content = json.count("epoch").map { .hub(epoch: $0, durability: json["durability"]?.string ?? "memory") }
    case "epoch": content = json.count("epoch").map { .epoch($0) }
    case "commit": content = HistoryCommit(json).map { .commit($0) }
    case "peer":
      content = json["tag"]?.string.map {
        .peer(tag: $0, name: json["name"]?.string ?? "", keepsOutbox: json["outbox"]?.boolean ?? false)
      }
    case "share": content = json["m"]?.string.map { .share(model: $0) }
    case "submit": content = HistoryWrite(json).map { .submit($0) }
    case "made": content = json.number("w").map { .made(write: $0) }
    case "not-made": content = json.number("w").map { .notMade(write: $0) }
    case "outcome":
      guard let write = json.number("w"), let kind = json["as"]?.string else { return nil }
      let (epoch, version) = (json.count("epoch") ?? 0, json.count("version") ?? 0)
      content = .outcome(write: write, HistoryOutcome(kind: kind, epoch: epoch, version: version))
    case "update": content = HistoryUpdate(json, "changes").map { .update($0) }
    case "final": content = HistoryUpdate(json, "values").map { .final($0) }
    case "read":
      guard let model = json["m"]?.string, let field = json["f"]?.string, let value = json["value"] else { return nil }
      content = .read(model: model, field: field, value: value)
    default: content = nil
    }
    guard let content else { return nil }
    self = content
  }
}

extension HistoryCommit {
  init?(_ json: JSON) {
    guard let model = json["m"]?.string, let epoch = json.count("epoch"), let version = json.count("version"),
      let tag = json["tag"]?.string, let number = json.number("number"),
      let changes = json.changes ?? json.fields("changes")
    else { return nil }
    self.init(model: model, epoch: epoch, version: version, tag: tag, number: number, changes: changes)
    isAgain = json["again"]?.boolean ?? false
  }
}

extension HistoryWrite {
  init?(_ json: JSON) {
    guard let id = json.number("w"), let model = json["m"]?.string, let operations = json["ops"]?.elements else {
      return nil
    }
    self.init(id: id, model: model, operations: [], conditions: [])
    for operation in operations {
      guard let verb = operation[0]?.string, let field = operation[1]?.string else { return nil }
      self.operations.append(Operation(verb: verb, field: field, value: operation[2] ?? .null))
    }
    for condition in json["if"]?.elements ?? [] {
      guard let field = condition[0]?.string, let epoch = condition[1]?.int64, let version = condition[2]?.int64,
        let epoch = Epoch(exactly: epoch), let version = Version(exactly: version)
      else { return nil }
      conditions.append(Condition(field: field, epoch: epoch, version: version))
    }
  }
}

extension HistoryUpdate {
  init?(_ json: JSON, _ fields: String) {
    guard let model = json["m"]?.string, let epoch = json.count("epoch"), let version = json.count("version"),
      let values = json.fields(fields)
    else { return nil }
    self.init(model: model, epoch: epoch, version: version, values: values, missed: json.number("missed") ?? 0)
  }
}

extension JSON {
  fileprivate func number(_ name: String) -> Int? { self[name]?.int64.flatMap { Int(exactly: $0) } }

  fileprivate func count(_ name: String) -> UInt64? { self[name]?.int64.flatMap { UInt64(exactly: $0) } }

  /// The changes of a commit, each `[field, text of the value]` or `[field]`; nil: they are in the form of format 1, an
  /// object, or in none.
  fileprivate var changes: [String: JSON]? {
    guard let list = self["changes"]?.elements else { return nil }
    var changes: [String: JSON] = [:]
    for change in list {
      guard let field = change[0]?.string else { return nil }
      guard let text = change[1] else {
        changes[field] = .null
        continue
      }
      guard let value = text.string.flatMap({ try? JSON(parsing: $0) }) else { return nil }
      changes[field] = value
    }
    return changes
  }

  fileprivate func fields(_ name: String) -> [String: JSON]? {
    self[name]?.members.map { Dictionary($0.map { ($0.name, $0.value) }) { _, later in later } }
  }
}
