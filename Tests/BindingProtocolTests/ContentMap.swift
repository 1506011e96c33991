import BindingProtocol

/// Maps a message's fields to JSON named as in protocol.md, or back: one walk serves both directions.
struct ContentMap {
  private(set) var members: [JSON.Member]
  let isReading: Bool
  private(set) var problems: [String] = []

  init() {
    members = []
    isReading = false
  }

  init(reading content: JSON) {
    members = content.members ?? []
    isReading = true
  }

  private mutating func exchange<Value>(
    _ name: String, _ value: inout Value, write: (Value) -> JSON, read: (JSON) -> Value?
  ) {
    guard isReading else {
      members.append(JSON.Member(name, write(value)))
      return
    }
    guard let content = JSON.object(members)[name], let found = read(content) else {
      problems.append("\(name) is missing or of the wrong kind")
      return
    }
    value = found
  }

  /// 64-bit numbers are decimal strings, smaller ones JSON numbers.
  mutating func number<Number: FixedWidthInteger>(_ name: String, _ value: inout Number) {
    let isWide = Number.bitWidth == 64
    exchange(
      name, &value, write: { isWide ? .string(String($0)) : .integer(Int64($0)) },
      read: { isWide ? $0.string.flatMap { Number($0) } : $0.int64.flatMap { Number(exactly: $0) } })
  }

  mutating func choice<Choice: RawRepresentable>(_ name: String, _ value: inout Choice)
  where Choice.RawValue: FixedWidthInteger {
    exchange(
      name, &value, write: { .integer(Int64($0.rawValue)) },
      read: { $0.int64.flatMap { Choice.RawValue(exactly: $0) }.flatMap { Choice(rawValue: $0) } })
  }

  mutating func flag(_ name: String, _ value: inout Bool) {
    exchange(name, &value, write: { .integer($0 ? 1 : 0) }, read: { $0.int64.map { $0 == 1 } })
  }

  mutating func text(_ name: String, _ value: inout String) {
    exchange(name, &value, write: { .string($0) }, read: { $0.string })
  }

  /// A member that is there only if it has a value.
  mutating func optionalText(_ name: String, _ value: inout String?) {
    if isReading ? JSON.object(members)[name] != nil : value != nil {
      exchange(name, &value, write: { .string($0 ?? "") }, read: { .some($0.string) })
    }
  }

  mutating func texts(_ name: String, _ value: inout [String]) {
    exchange(
      name, &value, write: { .array($0.map { .string($0) }) }, read: { $0.elements?.compactMap { $0.string } })
  }

  /// The JSON text as a string; null for "no value".
  mutating func value(_ name: String, _ value: inout FieldValue?) {
    exchange(
      name, &value, write: { $0.map { .string($0.description) } ?? .null },
      read: { $0 == .null ? .some(nil) : $0.string.map { FieldValue(bytes: Array($0.utf8)) } })
  }

  /// The bytes in hexadecimal, in wire order.
  mutating func tag(_ name: String, _ value: inout Tag) {
    exchange(
      name, &value, write: { .string($0.description) },
      read: { $0.string.flatMap { UInt64($0, radix: 16) }.map { Tag(rawValue: $0.byteSwapped) } })
  }

  mutating func secret(_ name: String, _ value: inout Secret) {
    exchange(
      name, &value,
      write: { .string(Tag(rawValue: $0.high).description + Tag(rawValue: $0.low).description) },
      read: { content in
        guard let text = content.string, text.count == 32, let high = UInt64(text.prefix(16), radix: 16),
          let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        return Secret(high: high.byteSwapped, low: low.byteSwapped)
      })
  }

  mutating func list<Element: Mapped>(_ name: String, _ value: inout [Element]) {
    var found: [String] = []
    exchange(
      name, &value, write: { .array($0.map { $0.content }) },
      read: { $0.elements?.map { Element.read($0, problems: &found) } })
    problems += found
  }

  mutating func object<Element: Mapped>(_ name: String, _ value: inout Element) {
    var found: [String] = []
    exchange(name, &value, write: { $0.content }, read: { Element.read($0, problems: &found) })
    problems += found
  }

  /// Whether there is a member of that name to read.
  func holds(_ name: String) -> Bool { members.contains { $0.name == name } }
}

/// A type that `ContentMap` can map.
protocol Mapped {
  /// A value to read into.
  static var blank: Self { get }
  mutating func map(_ content: inout ContentMap)
}

extension Mapped {
  var content: JSON {
    var copy = self
    var map = ContentMap()
    copy.map(&map)
    return .object(map.members)
  }

  static func read(_ content: JSON, problems: inout [String]) -> Self {
    var value = blank
    var map = ContentMap(reading: content)
    value.map(&map)
    problems += map.problems
    return value
  }
}
