/// The topics at the beginning of downstream frames. On the wire they are big-endian, because subscriptions match
/// prefixes.
@usableFromInline package enum Topics {
  /// The topic of messages to one session.
  package static let none: Topic = 0
  /// The topic of heartbeats.
  package static let heartbeat: Topic = 0x0100_0000
  /// The first topic assigned to a model.
  @usableFromInline package static let firstModel: Topic = 0x0100_0001

  /// Whether `topic` is in the range of models.
  @inlinable
  package static func isModel(_ topic: Topic) -> Bool { topic >= firstModel }

  /// The four bytes to subscribe to.
  package static func bytes(_ topic: Topic) -> [UInt8] {
    [
      UInt8(truncatingIfNeeded: topic >> 24), UInt8(truncatingIfNeeded: topic >> 16),
      UInt8(truncatingIfNeeded: topic >> 8), UInt8(truncatingIfNeeded: topic),
    ]
  }

  /// The nine bytes to which a peer subscribes first: 0x00 and the session, little-endian.
  package static func sessionTopic(_ session: SessionID) -> [UInt8] {
    [0] + (0..<8).map { UInt8(truncatingIfNeeded: session >> (8 * UInt64($0))) }
  }

  /// A parsed subscription: the reverse of `bytes` and `sessionTopic`.
  package enum Subscription: Hashable, Sendable {
    case session(SessionID)
    case heartbeat
    case model(Topic)
  }

  /// Parses the bytes of a subscription; nil if they are not one of this protocol.
  package static func subscription(_ bytes: UnsafeRawBufferPointer) -> Subscription? {
    if bytes.count == 9, bytes[0] == 0 {
      let session = bytes.little64(at: 1)
      return session == 0 ? nil : .session(session)
    }
    guard bytes.count == 4 else { return nil }
    let topic = bytes.little32(at: 0).byteSwapped
    if topic == heartbeat { return .heartbeat }
    return isModel(topic) ? .model(topic) : nil
  }
}
