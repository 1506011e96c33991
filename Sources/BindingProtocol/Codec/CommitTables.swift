/// Walks over a table of origins.
public struct OriginCursor {
  var reader: WireReader
  /// Origins not yet reached.
  public private(set) var remaining: Int

  public private(set) var tag = Tag.none
  /// UTF-8.
  public private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)

  init(reader: WireReader, remaining: Int) {
    self.reader = reader
    self.remaining = remaining
  }

  /// The origin reached, taken out of the frame.
  public var origin: Origin { Origin(tag: tag, name: String(decoding: name, as: UTF8.self)) }

  /// Goes on to the next origin; false at the end.
  public mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    remaining &-= 1
    tag = try reader.tag("origins")
    name = try reader.text8Bytes("origins")
    return true
  }
}

/// Walks over the names of new field ids.
public struct NameCursor {
  var reader: WireReader
  /// Names not yet reached.
  public private(set) var remaining: Int
  /// The id of the first name of all; with no names, how many ids had been given before.
  public let first: FieldID

  /// The id of the name reached.
  public private(set) var id: FieldID
  /// A field name.
  public private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)

  init(reader: WireReader, remaining: Int, first: FieldID) {
    self.reader = reader
    self.remaining = remaining
    self.first = first
    id = first &- 1
  }

  /// Goes on to the next name; false at the end.
  public mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    remaining &-= 1
    id &+= 1
    name = try reader.text8Bytes("names")
    return true
  }
}
