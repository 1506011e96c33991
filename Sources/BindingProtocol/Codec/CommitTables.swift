/// Iterates over a table of origins.
package struct OriginCursor {
  var reader: WireReader
  /// Origins not yet reached.
  package private(set) var remaining: Int

  /// The tag of the current origin.
  package private(set) var tag = Tag.none
  /// The name of the current origin, UTF-8.
  package private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The user of the current origin, UTF-8; nil: none.
  package private(set) var user: UnsafeRawBufferPointer?

  init(reader: WireReader, remaining: Int) {
    self.reader = reader
    self.remaining = remaining
  }

  /// The current origin, copied out of the frame.
  package var origin: Origin { Origin(tag: tag, name: name, user: user) }

  /// Advances to the next origin; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    remaining &-= 1
    tag = try reader.tag("origins")
    (name, user) = try reader.writerNames("origins")
    return true
  }
}

/// Iterates over the names of new field ids.
package struct NameCursor {
  var reader: WireReader
  /// Names not yet reached.
  package private(set) var remaining: Int
  /// The id of the first name; without names, the number of ids assigned before.
  package let first: FieldID

  /// The id of the current name.
  package private(set) var id: FieldID
  /// The current field name.
  package private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)

  init(reader: WireReader, remaining: Int, first: FieldID) {
    self.reader = reader
    self.remaining = remaining
    self.first = first
    id = first &- 1
  }

  /// Advances to the next name; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    remaining &-= 1
    id &+= 1
    name = try reader.text8Bytes("names")
    return true
  }
}
