/// The stored form of a list (protocol.md §6.5): each element is a field `LIST@ID` with the value
/// `{"at":RANK,"is":ELEMENT}`; the head is the field `LIST` with the value `{"$list":COUNT}`.
package enum ListElements {
  /// The ranks that an element may have: what every reader of JSON holds exactly.
  package static let ranks: ClosedRange<Int64> = 1...(1 << 53) - 1
  /// By how many bytes the value of an element's field is longer than the element, at most.
  package static let envelopeBytes = 32

  /// An element, as the value of its field tells it.
  package struct Stored: Sendable, Hashable {
    /// Elements stand in the order of (rank, bytes of the id).
    package var rank: Int64
    /// The element, byte for byte as it was written.
    package var element: FieldValue

    package init(rank: Int64, element: FieldValue) { (self.rank, self.element) = (rank, element) }
  }

  // MARK: Names

  /// The field of an element.
  package static func field(of id: some StringProtocol, in list: some StringProtocol) -> String { "\(list)@\(id)" }

  /// List and id of an element's field; nil: the field is none.
  package static func parts(of field: String) -> (list: Substring, id: Substring)? {
    guard let at = field.utf8.firstIndex(of: UInt8(ascii: "@")), at > field.startIndex else { return nil }
    return (field[..<at], field[field.utf8.index(after: at)...])
  }

  /// Whether an element may have this id: 1 to 40 of `A–Z a–z 0–9 _ -`.
  package static func isID(_ id: some StringProtocol) -> Bool {
    id.utf8.count <= Names.maxElementIDBytes && Names.isPlain(id)
  }

  // MARK: Values

  /// The value of an element's field.
  package static func value(at rank: Int64, _ element: FieldValue) -> FieldValue {
    FieldValue(bytes: Array("{\"at\":\(rank),\"is\":".utf8) + element.bytes + [UInt8(ascii: "}")])
  }

  /// Reads the value of an element's field, valid JSON; nil: it is none, and every reader passes over it.
  package static func stored(_ value: UnsafeRawBufferPointer) -> Stored? {
    if let found = plainParts(value) { return Stored(rank: found.rank, element: FieldValue(value.part(found.element))) }
    guard let members = JSON.members(ofText: Array(value)), let at = members.last(where: { $0.name == "at" }),
      let element = members.last(where: { $0.name == "is" }), case .integer(let rank)? = try? at.value.json,
      ranks.contains(rank)
    else { return nil }
    return Stored(rank: rank, element: element.value)
  }

  /// Reads the value of an element's field; nil: it is none, and every reader passes over it.
  package static func stored(_ value: FieldValue) -> Stored? { value.bytes.withUnsafeBytes { stored($0) } }

  /// The rank in the value of an element's field; nil: it is none. Allocates nothing for a value as the hub writes it.
  package static func rank(_ value: UnsafeRawBufferPointer) -> Int64? {
    plainParts(value)?.rank ?? stored(value)?.rank
  }

  /// Rank and place of the element in a value that is spelled as `value(at:_:)` does.
  private static func plainParts(_ value: UnsafeRawBufferPointer) -> (rank: Int64, element: Range<Int>)? {
    guard value.starts(with: start.utf8) else { return nil }
    var (offset, rank) = (start.utf8.count, Int64(0))
    while offset < value.count, rank <= ranks.upperBound {
      let digit = value[offset] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      if rank == 0, offset > start.utf8.count { return nil }
      rank = rank * 10 + Int64(digit)
      offset += 1
    }
    guard ranks.contains(rank), value.part(offset, value.count - offset).starts(with: middle.utf8) else { return nil }
    offset += middle.utf8.count
    var scanner = JSONScanner(value)
    scanner.offset = offset
    guard scanner.scanValue(depth: 1), scanner.offset == value.count - 1, value.last == UInt8(ascii: "}") else {
      return nil
    }
    return (rank, offset..<scanner.offset)
  }

  private static let start = "{\"at\":"
  private static let middle = ",\"is\":"

  /// The value of a list's head.
  package static func head(_ count: Int) -> FieldValue { FieldValue(bytes: Array("{\"$list\":\(count)}".utf8)) }

  /// The number of elements that a head tells; nil: the value is no head.
  package static func count(ofHead value: FieldValue) -> Int? {
    guard value.bytes.starts(with: "{".utf8), case .object(let members)? = try? value.json, members.count == 1,
      members[0].name == "$list", case .integer(let count) = members[0].value, count >= 0
    else { return nil }
    return Int(clamping: count)
  }

  // MARK: Assembling

  /// The elements of a list in their order, from all fields of its model that have a value.
  package static func ordered(
    _ list: String, in fields: some Sequence<(name: String, value: FieldValue)>
  ) -> [(id: String, element: FieldValue)] {
    var found: [(rank: Int64, id: String, element: FieldValue)] = []
    for field in fields {
      guard let parts = parts(of: field.name), parts.list == list, let stored = stored(field.value) else { continue }
      found.append((stored.rank, String(parts.id), stored.element))
    }
    found.sort { $0.rank != $1.rank ? $0.rank < $1.rank : precedes($0.id, $1.id) }
    return found.map { ($0.id, $0.element) }
  }

  /// The order of ids with the same rank: that of their bytes.
  package static func precedes(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  /// The list as a plain JSON array.
  package static func array(of elements: some Sequence<FieldValue>) -> FieldValue {
    var bytes = [UInt8(ascii: "[")]
    for element in elements {
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      bytes += element.bytes
    }
    return FieldValue(bytes: bytes + [UInt8(ascii: "]")])
  }
}

/// The operand of `insert` and `move`: where the element is to stand, and for `insert` the element.
package struct ListOperand: Sendable, Hashable {
  /// The id of the element that it follows.
  package var after: String?
  /// The id of the element that it precedes, if that named by `after` is not there.
  package var before: String?
  /// The element; nil for `move`.
  package var element: FieldValue?

  /// Makes an operand; without anchors the place is the end of the list.
  package init(after: String? = nil, before: String? = nil, element: FieldValue? = nil) {
    self.after = after
    self.before = before
    self.element = element
  }

  /// The operand as JSON.
  package var value: FieldValue {
    var members: [String] = []
    if let after { members.append("\"after\":\"\(after)\"") }
    if let before { members.append("\"before\":\"\(before)\"") }
    var bytes = Array("{\(members.joined(separator: ","))".utf8)
    if let element {
      bytes += Array("\(members.isEmpty ? "" : ",")\"is\":".utf8) + element.bytes
    }
    return FieldValue(bytes: bytes + [UInt8(ascii: "}")])
  }

  /// Reads the operand of `insert` or `move`.
  /// - Throws: what is wrong, phrased to follow the field's name.
  package init(_ verb: Verb, reading value: UnsafeRawBufferPointer) throws(ListOperandFault) {
    self.init()
    let text = Array(value)
    guard let members = JSON.members(ofText: text) else {
      throw ListOperandFault(JSON.fault(in: value) ?? "\(FieldValue(value).short) is not \(ListOperand.form(of: verb))")
    }
    for member in members {
      switch member.name {
      case "after": after = try ListOperand.anchor(member)
      case "before": before = try ListOperand.anchor(member)
      case "is" where verb == .insert: element = member.value
      default:
        throw ListOperandFault("has a member \(PrintedText.escaped(member.name)); write \(ListOperand.form(of: verb))")
      }
    }
    if verb == .insert, element == nil {
      throw ListOperandFault("has no member is; write \(ListOperand.form(of: verb))")
    }
  }

  private static func anchor(_ member: (name: String, value: FieldValue)) throws(ListOperandFault) -> String {
    guard case .string(let id)? = try? member.value.json, ListElements.isID(id) else {
      throw ListOperandFault(
        "has \(member.value.short) as \(member.name); an id is a string of 1 to \(Names.maxElementIDBytes) of "
          + "A-Z a-z 0-9 _ -")
    }
    return id
  }

  private static func form(of verb: Verb) -> String {
    verb == .insert ? "{\"after\":ID,\"before\":ID,\"is\":ELEMENT}" : "{\"after\":ID,\"before\":ID}"
  }
}

/// What is wrong with the operand of a list's verb, phrased to follow the field's name.
package struct ListOperandFault: Error, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

extension UnsafeRawBufferPointer {
  fileprivate func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { part(range.lowerBound, range.count) }
}
