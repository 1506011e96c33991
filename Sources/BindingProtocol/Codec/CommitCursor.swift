/// Iterates over the body of a `commits` in place, without copying.
///
/// The initialiser checks the structure of the whole body, so a frame is rejected before any of it is applied, and
/// iterating over a checked body does not fail. Values are not examined.
///
/// It borrows the frame's memory: use it, and every buffer it returns, only while that memory is valid and
/// unchanged.
package struct CommitCursor {
  private let frame: UnsafeRawBufferPointer
  /// The offset of the next commit.
  private var position: Int
  private var changesStart = 0

  /// The epoch of the log.
  package let epoch: Epoch
  /// The version before the first commit.
  package let previous: Version
  /// The hub's wall time, milliseconds since 1970.
  package let time: UInt64
  /// The writers of the commits.
  package let origins: OriginCursor
  /// The names of the field ids that are new with these commits.
  package let names: NameCursor

  /// Commits not yet reached.
  package private(set) var remaining: Int
  /// The version of the current commit; `previous` before the first.
  package private(set) var version: Version
  /// The writer: an index in `origins`.
  package private(set) var origin: UInt16 = 0
  /// The proposal's number.
  package private(set) var number: ProposalNumber = 0
  /// The hops of the proposal.
  package private(set) var hops: UInt8 = 0
  /// The number of changes.
  package private(set) var changeCount = 0

  /// Takes a reader positioned after the header of a `commits`, and checks the rest.
  package init(_ reader: WireReader) throws(WireError) {
    var reader = reader
    frame = reader.frame
    epoch = try reader.u64("epoch")
    previous = try reader.u64("previous")
    time = try reader.u64("time")
    let originCount = try reader.count16("origins", minimum: 9)
    origins = OriginCursor(reader: reader, remaining: originCount)
    if originCount > 0 {
      var walk = origins
      while try walk.next() {}
      reader = walk.reader
    }
    let (first, nameCount) = try reader.namesHeader()
    names = NameCursor(reader: reader, remaining: nameCount, first: first)
    if nameCount > 0 {
      var walk = names
      while try walk.next() {
        do { try Names.checkField(walk.name) } catch { throw walk.reader.relabelled(error, "names") }
      }
      reader = walk.reader
    }
    remaining = try reader.commitCount(after: previous)
    version = previous
    position = reader.offset
    var walk = self
    while walk.remaining > 0 {
      guard walk.step(), walk.origin < originCount else { throw Self.fault(reader, remaining, originCount) }
    }
    guard walk.position == frame.count else { throw Self.fault(reader, remaining, originCount) }
  }

  /// The version of the last commit.
  package var lastVersion: Version { version + Version(remaining) }
  /// The length of this commit in the body, in bytes.
  package var byteCount: Int { position - changesStart + 9 }
  /// The changes of this commit.
  package var changes: ChangeCursor { ChangeCursor(frame, at: changesStart, remaining: changeCount) }

  /// Advances to the next commit; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    guard step() else { throw changedFrame(position) }
    return true
  }

  /// Advances to the next commit; false if it is malformed.
  private mutating func step() -> Bool {
    let at = position
    guard frame.count &- at >= 9 else { return false }
    origin = frame.little16(at: at)
    number = frame.little32(at: at &+ 2)
    hops = frame[at &+ 6]
    changeCount = Int(frame.little16(at: at &+ 7))
    changesStart = at &+ 9
    position = frame.skipChanges(changeCount, at: changesStart)
    remaining &-= 1
    version &+= 1
    return position >= 0
  }

  /// The error of a body whose structure is invalid: the same walk, slower, but with named positions.
  private static func fault(_ start: WireReader, _ count: Int, _ originCount: Int) -> WireError {
    var reader = start
    do throws(WireError) {
      for _ in 0..<count {
        let origin = try reader.u16("origin")
        guard origin < originCount else {
          throw reader.error("origin", "is \(origin); \(originCount) origins are listed")
        }
        _ = try reader.u32("number")
        _ = try reader.u8("hops")
        for _ in 0..<(try reader.count16("changes", minimum: 8)) {
          _ = try reader.fieldID("field")
          _ = try reader.valueBytes("value")
        }
      }
      try reader.end()
    } catch {
      return error
    }
    return changedFrame(reader.offset)
  }
}

/// Iterates over the changes of one commit.
@usableFromInline package struct ChangeCursor {
  @usableFromInline let frame: UnsafeRawBufferPointer
  @usableFromInline var position: Int
  @usableFromInline var left: Int
  @usableFromInline var id: FieldID = 0
  @usableFromInline var valueStart = 0
  /// -1: no value.
  @usableFromInline var valueCount = -1

  init(_ frame: UnsafeRawBufferPointer, at position: Int, remaining: Int) {
    self.frame = frame
    self.position = position
    left = remaining
  }

  /// Changes not yet reached.
  /// The field's id.
  @inlinable package var remaining: Int { left }
  @inlinable package var field: FieldID { id }
  /// nil: deleted. Not examined.
  @inlinable package var value: UnsafeRawBufferPointer? { valueCount < 0 ? nil : frame.part(valueStart, valueCount) }

  /// Advances to the next change; false at the end.
  @inlinable
  package mutating func next() throws(WireError) -> Bool {
    guard left > 0 else { return false }
    guard frame.count &- position >= 8 else { throw changedFrame(position) }
    id = frame.little32(at: position)
    let end = frame.skipValue(at: position &+ 4)
    guard end >= 0 else { throw changedFrame(position) }
    valueStart = position &+ 8
    valueCount = frame.little32(at: position &+ 4) == UInt32.max ? -1 : end &- valueStart
    position = end
    left &-= 1
    return true
  }
}
