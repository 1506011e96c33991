// Skips elements of a frame without examining them: the loops under the cursors. Each function takes the offset of
// an element and returns the offset after it, or -1 if the frame ends too early or a text is not UTF-8. For speed
// they do not throw or describe errors: on -1 the caller reads the frame again with a `WireReader`, which describes
// the fault.

extension UnsafeRawBufferPointer {
  /// A `text8`.
  @inlinable
  func skipText8(at start: Int, checking: Bool) -> Int {
    guard count &- start >= 1 else { return -1 }
    let length = Int(self[start])
    guard count &- start &- 1 >= length else { return -1 }
    if checking, !isUTF8(start &+ 1, length) { return -1 }
    return start &+ 1 &+ length
  }

  /// A `text16`.
  @inlinable
  func skipText16(at start: Int, checking: Bool) -> Int {
    guard count &- start >= 2 else { return -1 }
    let length = Int(little16(at: start))
    guard count &- start &- 2 >= length else { return -1 }
    if checking, !isUTF8(start &+ 2, length) { return -1 }
    return start &+ 2 &+ length
  }

  /// A `value`.
  @inlinable @inline(__always)
  func skipValue(at start: Int) -> Int {
    guard count &- start >= 4 else { return -1 }
    let length = little32(at: start)
    if length == UInt32.max { return start &+ 4 }
    guard count &- start &- 4 >= Int(length) else { return -1 }
    return start &+ 4 &+ Int(length)
  }

  /// A `fieldref`.
  @inlinable @inline(__always)
  func skipReference(at start: Int, checking: Bool) -> Int {
    guard count &- start >= 4 else { return -1 }
    if little32(at: start) != FieldID.max { return start &+ 4 }
    return skipText8(at: start &+ 4, checking: checking)
  }

  /// `number` operations of a proposal.
  @inlinable
  func skipOperations(_ number: Int, at start: Int, checking: Bool) -> Int {
    var at = start
    for _ in 0..<number {
      at = skipReference(at: at &+ 1, checking: checking)
      guard at >= 0 else { return -1 }
      at = skipValue(at: at)
      guard at >= 0 else { return -1 }
    }
    return at
  }

  /// `number` conditions of a proposal.
  @inlinable
  func skipConditions(_ number: Int, at start: Int, checking: Bool) -> Int {
    var at = start
    for _ in 0..<number {
      at = skipReference(at: at &+ 16, checking: checking)
      guard at >= 0 else { return -1 }
    }
    return at
  }

  /// `number` metadata entries of a proposal.
  @inlinable
  func skipMetadata(_ number: Int, at start: Int, checking: Bool) -> Int {
    var at = start
    for _ in 0..<number {
      at = skipText8(at: at, checking: checking)
      guard at >= 0 else { return -1 }
      at = skipText16(at: at, checking: checking)
      guard at >= 0 else { return -1 }
    }
    return at
  }

  /// `number` changes of a commit; the reserved field id is malformed.
  @inlinable
  func skipChanges(_ number: Int, at start: Int) -> Int {
    var at = start
    for _ in 0..<number {
      guard count &- at >= 8, little32(at: at) != FieldID.max else { return -1 }
      at = skipValue(at: at &+ 4)
      guard at >= 0 else { return -1 }
    }
    return at
  }

  @usableFromInline
  func isUTF8(_ start: Int, _ length: Int) -> Bool { UTF8Check.isValid(part(start, length)) }
}

/// The error for a frame that passed its check and then read differently: its memory was changed in between.
@usableFromInline @inline(never)
func changedFrame(_ offset: Int) -> WireError {
  WireError(message: "frame", place: "body", problem: "changed while it was read", offset: offset)
}
