/// Walks over the body of a `commits` in place, without taking anything out of it.
///
/// Making one checks the structure of the whole body, so that nothing has been applied when a frame is refused, and a
/// walk over a checked body does not fail. Values are not looked into.
///
/// It borrows the frame's memory: use it, and every buffer it returns, only while that memory is valid and unchanged.
public struct CommitCursor {
  private let frame: UnsafeRawBufferPointer
  /// Where the next commit begins.
  private var position: Int
  private var changesStart = 0

  public let epoch: Epoch
  public let previous: Version
  /// The hub's wall time, milliseconds since 1970.
  public let time: UInt64
  public let origins: OriginCursor
  public let names: NameCursor

  /// Commits not yet reached.
  public private(set) var remaining: Int
  /// The version that this commit makes; `previous` before the first.
  public private(set) var version: Version
  /// Who wrote it: a position in `origins`.
  public private(set) var origin: UInt16 = 0
  public private(set) var number: ProposalNumber = 0
  public private(set) var hops: UInt8 = 0
  public private(set) var changeCount = 0

  /// Takes a reader that stands after the header of a `commits` and checks all that follows.
  public init(_ reader: WireReader) throws(WireError) {
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

  /// The version that the last commit makes.
  public var lastVersion: Version { version + Version(remaining) }
  /// Bytes of this commit in the body.
  public var byteCount: Int { position - changesStart + 9 }
  public var changes: ChangeCursor { ChangeCursor(frame, at: changesStart, remaining: changeCount) }

  /// Goes on to the next commit; false at the end.
  public mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    guard step() else { throw changedFrame(position) }
    return true
  }

  /// Goes on to the next commit; false when it does not follow the grammar.
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

  /// What is wrong with commits whose structure did not pass: the same walk, slower, with names for everything.
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

/// Walks over what one commit changes.
public struct ChangeCursor {
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
  @inlinable public var remaining: Int { left }
  @inlinable public var field: FieldID { id }
  /// nil: deleted. Not looked into.
  @inlinable public var value: UnsafeRawBufferPointer? { valueCount < 0 ? nil : frame.part(valueStart, valueCount) }

  /// Goes on to the next change; false at the end.
  @inlinable
  public mutating func next() throws(WireError) -> Bool {
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
