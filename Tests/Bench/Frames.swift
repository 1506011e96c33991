import BindingProtocol

/// The frames that hub and forwarder carry, and how to count the changes in them.
enum Frames {
  /// Encodes a `propose` of `count` proposals with one change each, to `fields` fields in turn. The value is the
  /// present time in 16 digits, or `value` with `bytes` bytes.
  static func proposals(
    _ count: Int, from first: ProposalNumber, confirmed: ProposalNumber, session: SessionID, start: StartNumber,
    topic: Topic, fields: FieldID, into writer: inout WireWriter, bytes: Int = 16,
    value: (inout WireWriter) -> Void = { digits(now(), into: &$0) }
  ) {
    writer.removeAll()
    writer.u8(PeerMessageKind.propose.rawValue)
    writer.u64(session)
    writer.u32(start)
    writer.u16(UInt16(count))
    for offset in 0..<UInt32(count) {
      writer.u32(topic)
      writer.u32(first + offset)
      writer.u32(confirmed)
      // No flags, hops, metadata or conditions; one operation: set, a field, a value.
      writer.u32(0)
      writer.u16(1)
      writer.u8(Verb.set.rawValue)
      writer.u32((first + offset) % fields)
      writer.u32(UInt32(bytes))
      value(&writer)
    }
  }

  static func digits(_ number: UInt64, into writer: inout WireWriter) {
    var divisor: UInt64 = 1_000_000_000_000_000
    while divisor > 0 {
      writer.u8(UInt8(48 + number / divisor % 10))
      divisor /= 10
    }
  }

  /// The time in the value at the end of a frame: a `propose` and a `commits` both end with their last value.
  static func timeAtEnd(_ frame: UnsafeRawBufferPointer) -> UInt64 {
    frame.suffix(16).reduce(0) { $0 * 10 + UInt64($1 &- 48) }
  }

  static func changes(inProposal frame: UnsafeRawBufferPointer) -> Int {
    frame.count > 15 ? Int(frame[13]) | Int(frame[14]) << 8 : 0
  }

  /// The number of commits in a `commits`; 0 in another message about the model.
  static func changes(inCommits frame: UnsafeRawBufferPointer) -> Int {
    guard frame.count > HubHeader.byteCount, frame[4] == HubMessageKind.commits.rawValue,
      let cursor = try? CommitCursor(WireReader(UnsafeRawBufferPointer(rebasing: frame.dropFirst(HubHeader.byteCount))))
    else { return 0 }
    return cursor.remaining
  }

  static func acknowledgement(_ count: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
  }
}
