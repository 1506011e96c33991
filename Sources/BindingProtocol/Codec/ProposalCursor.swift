/// Iterates over the body of a `propose` in place, without copying.
///
/// The initialiser checks the structure of the whole body: every length, count, text, number and topic. So a frame
/// is rejected before any of it is handled, and iterating over a checked body does not fail. Verbs, the grammar of
/// field names and values are not checked here, because each fault of theirs is answered with a refusal of its own.
///
/// It borrows the frame's memory: use it, and every buffer it returns, only while that memory is valid and
/// unchanged.
package struct ProposalCursor {
  private let frame: UnsafeRawBufferPointer
  /// The offset of the next proposal.
  private var position: Int
  private var begin: Int
  private var metadataStart = 0
  private var conditionsStart = 0
  private var operationsStart = 0

  /// Proposals not yet reached.
  package private(set) var remaining: Int
  /// The topic of the model.
  package private(set) var topic: Topic = 0
  /// The proposal's number.
  package private(set) var number: ProposalNumber = 0
  /// Up to this number the peer has seen all outcomes in this model.
  package private(set) var confirmed: ProposalNumber = 0
  /// Whether the hub must not apply the proposal any more.
  package private(set) var isVoid = false
  /// Whether it was first sent in an earlier epoch.
  package private(set) var isEarlier = false
  /// The hops of the proposal.
  package private(set) var hops: UInt8 = 0
  /// The number of metadata entries.
  package private(set) var metadataCount = 0
  /// The number of conditions.
  package private(set) var conditionCount = 0
  /// The number of operations.
  package private(set) var operationCount = 0

  /// Takes a reader positioned after the header of a `propose`, and checks the rest.
  package init(_ reader: WireReader) throws(WireError) {
    var reader = reader
    frame = reader.frame
    remaining = try reader.count16("proposals", minimum: NumberedProposal.minimumBytes)
    position = reader.offset
    begin = position
    var walk = self
    while walk.remaining > 0 {
      guard walk.step(checking: true) else { throw Self.fault(reader, remaining) }
    }
    guard walk.position == frame.count else { throw Self.fault(reader, remaining) }
  }

  /// Takes one proposal of a body that was checked before, at its offset in the frame.
  package init(at offset: Int, ofChecked frame: UnsafeRawBufferPointer) {
    self.frame = frame
    (position, begin, remaining) = (offset, offset, 1)
  }

  /// Where this proposal begins in the frame.
  package var offset: Int { begin }

  /// The length of this proposal in the frame, in bytes.
  package var byteCount: Int { position - begin }
  /// The metadata of this proposal.
  package var metadata: MetadataCursor { MetadataCursor(frame, at: metadataStart, remaining: metadataCount) }
  /// The conditions of this proposal.
  package var conditions: ConditionCursor { ConditionCursor(frame, at: conditionsStart, remaining: conditionCount) }
  /// The operations of this proposal.
  package var operations: OperationCursor { OperationCursor(frame, at: operationsStart, remaining: operationCount) }

  /// Advances to the next proposal; false at the end.
  package mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    guard step(checking: false) else { throw changedFrame(position) }
    return true
  }

  /// Advances to the next proposal; false if it is malformed.
  private mutating func step(checking: Bool) -> Bool {
    let at = position
    guard frame.count &- at >= NumberedProposal.minimumBytes else { return false }
    begin = at
    topic = frame.little32(at: at)
    number = frame.little32(at: at &+ 4)
    confirmed = frame.little32(at: at &+ 8)
    let flags = frame[at &+ 12]
    guard Topics.isModel(topic), number != 0, flags <= NumberedProposal.knownFlags else { return false }
    isVoid = flags & NumberedProposal.void != 0
    isEarlier = flags & NumberedProposal.earlier != 0
    hops = frame[at &+ 13]
    metadataCount = Int(frame[at &+ 14])
    metadataStart = at &+ 15
    conditionsStart = frame.skipMetadata(metadataCount, at: metadataStart, checking: checking) &+ 1
    guard conditionsStart > 0, frame.count >= conditionsStart else { return false }
    conditionCount = Int(frame[conditionsStart &- 1])
    operationsStart = frame.skipConditions(conditionCount, at: conditionsStart, checking: checking) &+ 2
    guard operationsStart > 1, frame.count >= operationsStart else { return false }
    operationCount = Int(frame.little16(at: operationsStart &- 2))
    position = frame.skipOperations(operationCount, at: operationsStart, checking: checking)
    remaining &-= 1
    return position >= 0
  }

  /// The error of a body whose structure is invalid: the same walk, slower, but with named positions.
  private static func fault(_ start: WireReader, _ count: Int) -> WireError {
    var reader = start
    do throws(WireError) {
      for _ in 0..<count {
        _ = try reader.modelTopic("topic")
        _ = try reader.proposalNumber("number")
        _ = try reader.u32("confirmed")
        _ = try reader.bits("flags", known: NumberedProposal.knownFlags)
        _ = try reader.u8("hops")
        for _ in 0..<(try reader.count8("metadata", minimum: 3)) {
          _ = try reader.text8Bytes("metadata")
          _ = try reader.text16Bytes("metadata")
        }
        for _ in 0..<(try reader.count8("conditions", minimum: 20)) {
          _ = try reader.bytes(16, "conditions")
          try skipReference(&reader)
        }
        for _ in 0..<(try reader.count16("operations", minimum: 9)) {
          _ = try reader.u8("verb")
          try skipReference(&reader)
          _ = try reader.valueBytes("value")
        }
      }
      try reader.end()
    } catch {
      return error
    }
    return changedFrame(reader.offset)
  }

  private static func skipReference(_ reader: inout WireReader) throws(WireError) {
    if try reader.u32("fieldref") == FieldID.max { _ = try reader.text8Bytes("fieldref") }
  }
}
