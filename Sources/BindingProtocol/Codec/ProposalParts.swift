/// A reference to a field in a frame.
@usableFromInline
struct FieldReferenceCursor {
  @usableFromInline var id: FieldID = 0
  @usableFromInline var nameStart = 0
  @usableFromInline var nameCount = 0

  @inlinable
  init() {}

  /// Reads a `fieldref`; returns the offset after it, or -1.
  @inlinable @inline(__always)
  mutating func read(_ frame: UnsafeRawBufferPointer, at start: Int) -> Int {
    guard frame.count &- start >= 4 else { return -1 }
    id = frame.little32(at: start)
    if id != FieldID.max { return start &+ 4 }
    let end = frame.skipText8(at: start &+ 4, checking: false)
    nameStart = start &+ 5
    nameCount = end &- nameStart
    return end
  }

  @inlinable
  func name(_ frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    id == FieldID.max ? frame.part(nameStart, nameCount) : nil
  }
}

/// Iterates over the operations of one proposal.
@usableFromInline package struct OperationCursor {
  @usableFromInline let frame: UnsafeRawBufferPointer
  @usableFromInline var position: Int
  @usableFromInline var left: Int
  @usableFromInline var verbByte: UInt8 = 0
  @usableFromInline var reference = FieldReferenceCursor()
  @usableFromInline var valueStart = 0
  /// -1: no value.
  @usableFromInline var valueCount = -1

  init(_ frame: UnsafeRawBufferPointer, at position: Int, remaining: Int) {
    self.frame = frame
    self.position = position
    left = remaining
  }

  /// Operations not yet reached.
  @inlinable package var remaining: Int { left }
  /// The verb's number, including unknown ones.
  @inlinable package var verbNumber: UInt8 { verbByte }
  /// nil if the verb is unknown.
  @inlinable package var verb: Verb? { Verb(rawValue: verbByte) }
  /// The field's id; nil if the field is referred to by name.
  @inlinable package var id: FieldID? { reference.id == FieldID.max ? nil : reference.id }
  /// The field's name, if it is referred to by name: UTF-8, its grammar unchecked.
  @inlinable package var name: UnsafeRawBufferPointer? { reference.name(frame) }
  /// nil: no value. Not examined.
  @inlinable package var value: UnsafeRawBufferPointer? { valueCount < 0 ? nil : frame.part(valueStart, valueCount) }

  /// Advances to the next operation; false at the end.
  @inlinable
  package mutating func next() throws(WireError) -> Bool {
    guard left > 0 else { return false }
    guard frame.count &- position >= 9 else { throw changedFrame(position) }
    verbByte = frame[position]
    let at = reference.read(frame, at: position &+ 1)
    guard at >= 0 else { throw changedFrame(position) }
    let end = frame.skipValue(at: at)
    guard end >= 0 else { throw changedFrame(position) }
    valueStart = at &+ 4
    valueCount = frame.little32(at: at) == UInt32.max ? -1 : end &- valueStart
    position = end
    left &-= 1
    return true
  }
}

/// Iterates over the conditions of one proposal.
package struct ConditionCursor {
  private let frame: UnsafeRawBufferPointer
  private var position: Int
  private var reference = FieldReferenceCursor()

  /// Conditions not yet reached.
  package private(set) var remaining: Int
  /// The epoch of `version`.
  package private(set) var epoch: Epoch = 0
  /// The version since which the field must be unchanged.
  package private(set) var version: Version = 0

  init(_ frame: UnsafeRawBufferPointer, at position: Int, remaining: Int) {
    self.frame = frame
    self.position = position
    self.remaining = remaining
  }

  /// The field's id; nil if the field is referred to by name.
  package var id: FieldID? { reference.id == FieldID.max ? nil : reference.id }
  /// The field's name, if it is referred to by name: UTF-8, its grammar unchecked.
  package var name: UnsafeRawBufferPointer? { reference.name(frame) }

  /// Advances to the next condition; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    guard frame.count &- position >= 20 else { throw changedFrame(position) }
    epoch = frame.little64(at: position)
    version = frame.little64(at: position &+ 8)
    let end = reference.read(frame, at: position &+ 16)
    guard end >= 0 else { throw changedFrame(position) }
    position = end
    remaining &-= 1
    return true
  }
}

/// Iterates over the metadata of one proposal.
package struct MetadataCursor {
  private let frame: UnsafeRawBufferPointer
  private var position: Int

  /// Entries not yet reached.
  package private(set) var remaining: Int
  /// The name of the current entry, UTF-8.
  package private(set) var name = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The value of the current entry, UTF-8.
  package private(set) var value = UnsafeRawBufferPointer(start: nil, count: 0)

  init(_ frame: UnsafeRawBufferPointer, at position: Int, remaining: Int) {
    self.frame = frame
    self.position = position
    self.remaining = remaining
  }

  /// Advances to the next entry; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    let middle = frame.skipText8(at: position, checking: false)
    guard middle >= 0 else { throw changedFrame(position) }
    let end = frame.skipText16(at: middle, checking: false)
    guard end >= 0 else { throw changedFrame(position) }
    name = frame.part(position &+ 1, middle &- position &- 1)
    value = frame.part(middle &+ 2, end &- middle &- 2)
    position = end
    remaining &-= 1
    return true
  }
}
