/// One line of a history of commits (docs/reference/history-format.md): a JSON object, in which values stand as they
/// were sent, byte for byte, in strings.
package struct HistoryLine: Sendable, Hashable {
  /// The machine's monotonic clock, nanoseconds.
  package var time: UInt64
  /// What happened.
  package var content: Content

  /// What a line records.
  package enum Content: Sendable, Hashable {
    /// A recording begins: of models below this prefix.
    case recording(prefix: String, hub: String, log: LogID)
    /// A commit, and the digest of its model then.
    case commit(RecordedCommit, digest: UInt64?)
    /// A state of a model, and its digest.
    case state(RecordedState, digest: UInt64?)
  }

  /// Makes a line.
  package init(time: UInt64, _ content: Content) {
    self.time = time
    self.content = content
  }

  /// The format of the lines that this code writes, and the latest that it reads.
  package static let format = 2

  /// The line as text, with its end.
  package var bytes: [UInt8] {
    JSON.object([.init("t", .unsigned(time))] + content.members).bytes + [UInt8(ascii: "\n")]
  }

  /// Reads a line.
  /// - Returns: nil for a line of another kind.
  /// - Throws: `HistoryFormatError` for a line that does not follow the format.
  package init?(_ bytes: [UInt8]) throws(HistoryFormatError) {
    let json: JSON
    do throws(WireError) { json = try JSON(parsing: bytes) } catch {
      throw HistoryFormatError("is not JSON: \(error.problem)")
    }
    guard let kind = json["e"]?.string else { throw HistoryFormatError("has no 'e', the kind of a line") }
    time = try json.count("t")
    switch kind {
    case "record":
      let format = try json.count("format")
      guard format <= HistoryLine.format else {
        throw HistoryFormatError("has format \(format), of a later release; this one reads up to \(HistoryLine.format)")
      }
      content = .recording(prefix: try json.text("prefix"), hub: try json.text("hub"), log: try json.hex("log") ?? 0)
    case "commit": content = .commit(try RecordedCommit(json), digest: try json.hex("digest"))
    case "state": content = .state(try RecordedState(json), digest: try json.hex("digest"))
    default: return nil
    }
  }
}

/// A line of a history is not of its format. The description says what is wrong; the caller adds file and line.
package struct HistoryFormatError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

extension HistoryLine.Content {
  fileprivate var members: [JSON.Member] {
    switch self {
    case .recording(let prefix, let hub, let log):
      [
        .init("e", "record"), .init("format", .unsigned(UInt64(HistoryLine.format))), .init("prefix", .string(prefix)),
        .init("hub", .string(hub)), .init("log", .string(hexDigits(log))),
      ]
    case .commit(let commit, let digest):
      [.init("e", "commit")] + commit.members + digest.members
    case .state(let state, let digest):
      [.init("e", "state")] + state.members + digest.members
    }
  }
}

extension UInt64? {
  fileprivate var members: [JSON.Member] { map { [.init("digest", .string(hexDigits($0)))] } ?? [] }
}

extension Origin {
  fileprivate var members: [JSON.Member] {
    [.init("tag", .string(tag.description)), .init("name", .string(name))]
      + (user.map { [.init("user", .string($0))] } ?? [])
  }

  fileprivate init(_ json: JSON) throws(HistoryFormatError) {
    guard let tag = Tag(try json.text("tag")) else {
      throw HistoryFormatError("has a 'tag' that is not 16 hexadecimal digits")
    }
    self.init(tag: tag, name: try json.text("name"), user: json["user"]?.string)
  }
}

extension RecordedCommit {
  /// The members of a line, without its time and kind. A change is `[field, value]`, a deletion `[field]`.
  package var members: [JSON.Member] {
    [.init("m", .string(model)), .init("epoch", .unsigned(epoch)), .init("version", .unsigned(version))]
      + origin.members
      + [
        .init("number", .unsigned(UInt64(number))), .init("hops", .unsigned(UInt64(hops))),
        .init("time", .unsigned(time)),
        .init("changes", .array(changes.map { JSON.array([.string($0.field)] + ($0.value.text.map { [$0] } ?? [])) })),
      ]
  }

  fileprivate init(_ json: JSON) throws(HistoryFormatError) {
    let model = try json.model()
    var changes: [Change] = []
    for change in try json.list("changes") {
      guard let field = change[0]?.string, (change.elements?.count ?? 0) <= 2 else {
        throw HistoryFormatError("has changes that are not [field, value] or [field]")
      }
      try json.check { () throws(WireError) in try Names.checkField(field) }
      changes.append(Change(field, try change[1].map { value throws(HistoryFormatError) in try value.value() }))
    }
    self.init(
      model: model, epoch: try json.count("epoch"), version: try json.count("version"),
      origin: try Origin(json), number: ProposalNumber(clamping: try json.count("number")),
      hops: UInt8(clamping: try json.count("hops", else: 0)), time: try json.count("time", else: 0), changes: changes)
  }
}

extension RecordedState {
  fileprivate var members: [JSON.Member] {
    [.init("m", .string(model)), .init("epoch", .unsigned(epoch)), .init("version", .unsigned(version))]
      + (previous.map { [.init("previous", .unsigned($0))] } ?? [])
      + [.init("fields", .array(fields.map { JSON.object($0.members) }))]
  }

  fileprivate init(_ json: JSON) throws(HistoryFormatError) {
    var fields: [CommittedField] = []
    for field in try json.list("fields") { fields.append(try CommittedField(field)) }
    let version = try json.count("version")
    let previous = json["previous"] == nil ? nil : try json.count("previous")
    guard fields.allSatisfy({ $0.version <= version }), previous ?? 0 <= version else {
      throw HistoryFormatError("has fields, or a 'previous', beyond its version \(version)")
    }
    self.init(
      model: try json.model(), epoch: try json.count("epoch"), version: version, previous: previous, fields: fields)
  }
}

extension CommittedField {
  fileprivate var members: [JSON.Member] {
    [.init("f", .string(name)), .init("version", .unsigned(version))] + origin.members
      + [.init("number", .unsigned(UInt64(number))), .init("time", .unsigned(time))]
      + (value.text.map { [.init("value", $0)] } ?? [])
  }

  fileprivate init(_ json: JSON) throws(HistoryFormatError) {
    let name = try json.text("f")
    try json.check { () throws(WireError) in try Names.checkField(name) }
    self.init(
      name: name, value: try json["value"].map { value throws(HistoryFormatError) in try value.value() },
      version: try json.count("version"), origin: try Origin(json),
      number: ProposalNumber(clamping: try json.count("number")), time: try json.count("time", else: 0))
  }
}

extension FieldValue? {
  /// The value's text as a JSON string; nil for no value.
  fileprivate var text: JSON? { map { .string($0.description) } }
}

extension JSON {
  fileprivate func text(_ name: String) throws(HistoryFormatError) -> String {
    guard let text = self[name]?.string else { throw HistoryFormatError("has no text '\(name)'") }
    return text
  }

  fileprivate func list(_ name: String) throws(HistoryFormatError) -> [JSON] {
    guard let list = self[name]?.elements else { throw HistoryFormatError("has no list '\(name)'") }
    return list
  }

  /// A whole number, beyond 2^53 the digits in a string or `$int`.
  fileprivate func count(_ name: String, else missing: UInt64? = nil) throws(HistoryFormatError) -> UInt64 {
    guard let value = self[name] else {
      if let missing { return missing }
      throw HistoryFormatError("has no number '\(name)'")
    }
    if let number = value.int64.flatMap({ UInt64(exactly: $0) }) ?? value.string.flatMap({ UInt64($0) }) {
      return number
    }
    throw HistoryFormatError("has a '\(name)' that is no whole number of at least 0")
  }

  /// Sixteen hexadecimal digits; nil if there is no such member.
  fileprivate func hex(_ name: String) throws(HistoryFormatError) -> UInt64? {
    guard let value = self[name] else { return nil }
    guard let number = value.string.flatMap({ UInt64($0, radix: 16) }) else {
      throw HistoryFormatError("has a '\(name)' that is not hexadecimal")
    }
    return number
  }

  fileprivate func model() throws(HistoryFormatError) -> String {
    let model = try text("m")
    try check { () throws(WireError) in
      try Names.checkModel(Names.storedModel(of: model))
    }
    return model
  }

  /// The value whose text this string holds.
  fileprivate func value() throws(HistoryFormatError) -> FieldValue {
    guard let text = string else { throw HistoryFormatError("has a value that is not a string of JSON") }
    do throws(WireError) { return try FieldValue(text: text) } catch {
      throw HistoryFormatError("has a value that is not JSON: \(error.problem)")
    }
  }

  fileprivate func check(_ body: () throws(WireError) -> Void) throws(HistoryFormatError) {
    do throws(WireError) { try body() } catch { throw HistoryFormatError("has a bad name: \(error.problem)") }
  }
}
