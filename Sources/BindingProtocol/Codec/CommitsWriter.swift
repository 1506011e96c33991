/// Builds the body of a `commits` while a batch is decided. It is reused: it allocates only to grow.
///
/// Call `begin`; then for each commit `origin`, `beginCommit`, any number of `introduce` and `change`, and
/// `endCommit` or `rollbackCommit`; finally `finish`.
@usableFromInline package struct CommitsWriter: Sendable {
  private var head = WireWriter()
  @usableFromInline var originBytes = WireWriter()
  @usableFromInline var nameBytes = WireWriter()
  @usableFromInline var commits = WireWriter(reserving: 4_096)
  @usableFromInline var writers: [Writer] = []
  private var firstName: FieldID = 0
  @usableFromInline var nameCount: UInt32 = 0
  @usableFromInline var ended = 0
  /// Changes of the current commit.
  @usableFromInline var changes = 0
  @usableFromInline var saved = Saved()

  /// An entry of the table of origins. One tag has several if it wrote as several users.
  @usableFromInline
  struct Writer: Sendable {
    @usableFromInline let tag: UInt64
    @usableFromInline let user: String?

    @usableFromInline
    init(tag: UInt64, user: String?) { (self.tag, self.user) = (tag, user) }

    @inlinable
    func isSame(_ tag: UInt64, _ user: String?) -> Bool { self.tag == tag && self.user == user }
  }

  /// The lengths at the beginning of the current commit, for a rollback.
  @usableFromInline
  struct Saved: Sendable {
    @usableFromInline var commits = 0
    @usableFromInline var origins = 0
    @usableFromInline var writers = 0
    @usableFromInline var names = 0
    @usableFromInline var nameCount: UInt32 = 0

    @inlinable
    init() {}
  }

  /// Makes an empty writer.
  package init() {}

  /// Commits ended so far.
  @inlinable package var count: Int { ended }

  /// The version before the first commit.
  package private(set) var previous: Version = 0
  /// The version of the last ended commit.
  package var version: Version { previous + Version(ended) }
  /// Whether no commit has ended yet.
  @inlinable package var isEmpty: Bool { ended == 0 }
  /// Changes of the current commit.
  @inlinable package var changeCount: Int { changes }
  /// Whether no further commit fits into one message.
  @inlinable package var isFull: Bool { ended == Int(UInt16.max) || writers.count == Int(UInt16.max) }
  /// The length of the body so far, in bytes.
  package var byteCount: Int { 36 + originBytes.count + nameBytes.count + commits.count }
  /// The id that the next new name will get.
  package var nextID: FieldID { firstName + nameCount }

  /// Begins a body. `time` is in milliseconds since 1970; `namesKnown` is the number of field ids assigned before.
  package mutating func begin(epoch: Epoch, previous: Version, time: UInt64, namesKnown: FieldID) {
    head.removeAll()
    originBytes.removeAll()
    nameBytes.removeAll()
    commits.removeAll()
    writers.removeAll(keepingCapacity: true)
    head.u64(epoch)
    head.u64(previous)
    head.u64(time)
    self.previous = previous
    firstName = namesKnown
    nameCount = 0
    ended = 0
    changes = 0
    saved = Saved()
  }

  /// The index of an origin in the table, which it joins on first use. Call it only while `isFull` is false.
  @inlinable
  package mutating func origin(_ origin: Origin) -> UInt16 {
    let tag = origin.tag.rawValue
    if let last = writers.last, last.isSame(tag, origin.user) {
      return UInt16(truncatingIfNeeded: writers.count &- 1)
    }
    return otherOrigin(origin, tag)
  }

  @usableFromInline
  mutating func otherOrigin(_ origin: Origin, _ tag: UInt64) -> UInt16 {
    if let known = writers.firstIndex(where: { $0.isSame(tag, origin.user) }) {
      return UInt16(truncatingIfNeeded: known)
    }
    writers.append(Writer(tag: tag, user: origin.user))
    originBytes.origin(origin)
    return UInt16(truncatingIfNeeded: writers.count - 1)
  }

  /// Assigns the next id to a field name that passed `Names.isField`.
  package mutating func introduce(_ name: UnsafeRawBufferPointer) -> FieldID {
    nameBytes.text8(name)
    nameCount += 1
    return firstName + nameCount - 1
  }

  /// Assigns the next id to a field name that passed `Names.checkField`.
  package mutating func introduce(_ name: String) -> FieldID {
    var name = name
    return name.withUTF8 { introduce(UnsafeRawBufferPointer($0)) }
  }

  /// Begins a commit.
  @inlinable
  package mutating func beginCommit(origin: UInt16, number: ProposalNumber, hops: UInt8) {
    saved.commits = commits.count
    saved.origins = originBytes.count
    saved.writers = writers.count
    saved.names = nameBytes.count
    saved.nameCount = nameCount
    commits.commitHeader(origin, number, hops)
    changes = 0
  }

  /// Sets one field in the current commit; nil deletes it.
  /// - Returns: false, without writing anything, if the commit already has 65,535 changes.
  @inlinable @discardableResult
  package mutating func change(_ field: FieldID, _ value: UnsafeRawBufferPointer?) -> Bool {
    guard changes < Int(UInt16.max) else { return false }
    changes &+= 1
    if let value {
      commits.change(field, value)
    } else {
      commits.u32(field)
      commits.u32(UInt32.max)
    }
    return true
  }

  /// Sets one field in the current commit to a value already copied out of its message; nil deletes it.
  /// - Returns: false, without writing anything, if the commit already has 65,535 changes.
  @discardableResult
  package mutating func change(_ field: FieldID, _ value: FieldValue?) -> Bool {
    guard let value else { return change(field, nil as UnsafeRawBufferPointer?) }
    return value.bytes.withUnsafeBytes { change(field, $0) }
  }

  /// Deletes one field in the current commit.
  /// - Returns: false, without writing anything, if the commit already has 65,535 changes.
  @inlinable @discardableResult
  package mutating func delete(_ field: FieldID) -> Bool { change(field, nil as UnsafeRawBufferPointer?) }

  /// The range of the value that the last `change` wrote, given its length; valid until `begin`, or until a
  /// rollback removes it.
  @inlinable
  package func lastValue(of count: Int) -> Range<Int> { commits.count &- count..<commits.count }

  /// A copy of a value in this body; bytes of the range outside the body are left out.
  package func value(at range: Range<Int>) -> [UInt8] {
    commits.withUnsafeBytes { Array($0[range.clamped(to: $0.indices)]) }
  }

  /// Ends the commit; its version becomes `version`.
  @inlinable
  package mutating func endCommit() {
    commits.patch16(at: saved.commits &+ 7, UInt16(truncatingIfNeeded: changes))
    ended &+= 1
  }

  /// Undoes everything since `beginCommit`: the changes, and the origins and names added with them.
  package mutating func rollbackCommit() {
    commits.truncate(to: saved.commits)
    originBytes.truncate(to: saved.origins)
    nameBytes.truncate(to: saved.names)
    writers.removeSubrange(saved.writers...)
    nameCount = saved.nameCount
    changes = 0
  }

  /// Appends the body to `writer`.
  package func finish(into writer: inout WireWriter) {
    writer.reserve(byteCount)
    head.withUnsafeBytes { writer.raw($0) }
    writer.u16(UInt16(truncatingIfNeeded: writers.count))
    originBytes.withUnsafeBytes { writer.raw($0) }
    writer.u32(firstName)
    writer.u32(nameCount)
    nameBytes.withUnsafeBytes { writer.raw($0) }
    writer.u16(UInt16(truncatingIfNeeded: ended))
    commits.withUnsafeBytes { writer.raw($0) }
  }

  /// The body.
  package func finish() -> [UInt8] {
    var writer = WireWriter(reserving: byteCount)
    finish(into: &writer)
    return writer.takeBytes()
  }
}
