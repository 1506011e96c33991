/// A hub's limits, announced in its welcome. Each is the largest allowed value.
public struct Limits: Sendable, Hashable {
  /// Bytes of one value.
  public var maxValueBytes = 65_536
  /// Bytes of one proposal.
  public var maxProposalBytes = 262_144
  /// Fields of one proposal.
  public var maxProposalFields = 1_000
  /// Fields of one model.
  public var maxModelFields = 100_000
  /// Bytes of a model id.
  public var maxModelIdBytes = 200
  /// Bytes of a field name.
  public var maxFieldNameBytes = 64
  /// Models of a hub.
  public var maxModels = 100_000
  /// Sessions of a hub.
  public var maxSessions = 1_000
  /// Unacknowledged proposals per session.
  public var maxUnacknowledged = 256
  /// Bytes of one catch-up or offer message.
  public var chunkBytes = 262_144
  /// Bytes of a published `commits`; the hub sends longer ones to each session separately.
  public var maxPublishedBytes = 8_192
  /// Bytes of one frame.
  public var maxFrameBytes = 1_048_576
  /// Hops of a proposal (R17).
  public var maxHops = 8
  /// Models that one session may join.
  public var maxTopics = 1_000
  /// Bytes that may be queued for one session.
  public var routedQueueBytes = 4_194_304
  /// How long a hub remembers every identity that had a session, milliseconds; 0: unspecified.
  public var identityMilliseconds = 0
  /// Bytes of a model's description.
  public var maxDescriptionBytes = 196_608

  /// Bytes of a value of this field.
  package func maxBytes(of field: String) -> Int {
    field == Names.description ? maxDescriptionBytes : maxValueBytes
  }

  /// Bytes of the id of a list's element.
  public var maxElementIDBytes = 40

  /// Makes the default limits.
  public init() {}

  /// Every limit with its code, in the order of the codes.
  static let codes: [(code: UInt8, path: any WritableKeyPath<Limits, Int> & Sendable)] = [
    (1, \.maxValueBytes), (2, \.maxProposalBytes), (3, \.maxProposalFields), (4, \.maxModelFields),
    (5, \.maxModelIdBytes), (6, \.maxFieldNameBytes), (7, \.maxModels), (8, \.maxSessions), (9, \.maxUnacknowledged),
    (10, \.chunkBytes), (11, \.maxPublishedBytes), (12, \.maxFrameBytes), (13, \.maxHops), (14, \.maxTopics),
    (15, \.routedQueueBytes), (16, \.identityMilliseconds), (17, \.maxDescriptionBytes), (18, \.maxElementIDBytes),
  ]
}

extension Limits: WireContent {
  /// Reads the list in a welcome: unknown codes are ignored, missing ones keep their default. Descriptions were values
  /// like all others in hubs that do not limit them.
  package init(from reader: inout WireReader) throws(WireError) {
    self.init()
    var hasDescriptionLimit = false
    for _ in 0..<(try reader.count8("limits", minimum: 9)) {
      let code = try reader.u8("limits")
      let limit = try reader.u64("limits")
      if code == 17 { hasDescriptionLimit = true }
      if let entry = Self.codes.first(where: { $0.code == code }) { self[keyPath: entry.path] = Int(clamping: limit) }
    }
    if !hasDescriptionLimit { maxDescriptionBytes = maxValueBytes }
  }

  package func write(to writer: inout WireWriter) {
    writer.count8(Self.codes.count)
    for entry in Self.codes {
      writer.u8(entry.code)
      writer.u64(UInt64(clamping: self[keyPath: entry.path]))
    }
  }
}
