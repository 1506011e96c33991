/// Walks over the body of a `propose` in place, without taking anything out of it.
///
/// Making one checks the structure of the whole body: every length, count, text, number and topic. So nothing has
/// been acted on when a frame is refused, and a walk over a checked body does not fail. Not checked, because each is
/// answered with a refusal of its own: verbs, the grammar of field names, values.
///
/// It borrows the frame's memory: use it, and every buffer it returns, only while that memory is valid and unchanged.
public struct ProposalCursor {
  private let frame: UnsafeRawBufferPointer
  /// Where the next proposal begins.
  private var position: Int
  private var begin: Int
  private var metadataStart = 0
  private var conditionsStart = 0
  private var operationsStart = 0

  /// Proposals not yet reached.
  public private(set) var remaining: Int
  public private(set) var topic: Topic = 0
  public private(set) var number: ProposalNumber = 0
  public private(set) var confirmed: ProposalNumber = 0
  public private(set) var isVoid = false
  public private(set) var isEarlier = false
  public private(set) var hops: UInt8 = 0
  public private(set) var metadataCount = 0
  public private(set) var conditionCount = 0
  public private(set) var operationCount = 0

  /// Takes a reader that stands after the header of a `propose` and checks all that follows.
  public init(_ reader: WireReader) throws(WireError) {
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

  /// Bytes of this proposal in the frame.
  public var byteCount: Int { position - begin }
  public var metadata: MetadataCursor { MetadataCursor(frame, at: metadataStart, remaining: metadataCount) }
  public var conditions: ConditionCursor { ConditionCursor(frame, at: conditionsStart, remaining: conditionCount) }
  public var operations: OperationCursor { OperationCursor(frame, at: operationsStart, remaining: operationCount) }

  /// Goes on to the next proposal; false at the end.
  public mutating func next() throws(WireError) -> Bool {
    guard remaining > 0 else { return false }
    guard step(checking: false) else { throw changedFrame(position) }
    return true
  }

  /// Goes on to the next proposal; false when it does not follow the grammar.
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

  /// What is wrong with a body whose structure did not pass: the same walk, slower, with names for everything.
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
          try reader.skipReference()
        }
        for _ in 0..<(try reader.count16("operations", minimum: 9)) {
          _ = try reader.u8("verb")
          try reader.skipReference()
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

extension WireReader {
  fileprivate mutating func skipReference() throws(WireError) {
    if try u32("fieldref") == FieldID.max { _ = try text8Bytes("fieldref") }
  }
}
