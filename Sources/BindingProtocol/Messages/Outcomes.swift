/// The outcomes of a session's proposals (§6.3): the message `outcomes`.
package struct Outcomes: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The epoch of the log.
  package var epoch: Epoch
  /// The outcomes.
  package var outcomes: [WireOutcome]

  package init(session: SessionID, epoch: Epoch, outcomes: [WireOutcome]) {
    self.session = session
    self.epoch = epoch
    self.outcomes = outcomes
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    epoch = try reader.u64("epoch")
    outcomes = try reader.elements(try reader.count16("outcomes", minimum: 9))
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u64(epoch)
    writer.count16(outcomes.count)
    writer.elements(outcomes)
  }
}

/// One outcome on the wire.
package struct WireOutcome: WireContent, Hashable {
  /// The outcome itself.
  package enum Rest: Hashable, Sendable {
    /// `count` (at least 1) proposals, numbered from `number` on, became as many versions, from `version` on.
    case committed(count: UInt16, version: Version)
    case unchanged
    case refused(Refusal)
    case conflict(Conflict)
    case expired
    case unknown
    /// Not decided: resend after the pause.
    case retryLater(RetryReason, pauseMilliseconds: UInt32)
    /// The hub expects this number next.
    case expected(next: ProposalNumber)
  }

  /// The wire numbers of the outcomes.
  package enum Kind: UInt8, Sendable {
    case committed = 1
    case unchanged
    case refused
    case conflict
    case expired
    case unknown
    case retryLater
    case expected
  }

  /// The model's topic.
  package var topic: Topic
  /// The proposal's number.
  package var number: ProposalNumber
  /// The outcome itself.
  package var rest: Rest

  package init(topic: Topic, number: ProposalNumber, _ rest: Rest) {
    self.topic = topic
    self.number = number
    self.rest = rest
  }

  /// The kind of the message.
  package var kind: Kind {
    switch rest {
    case .committed: .committed
    case .unchanged: .unchanged
    case .refused: .refused
    case .conflict: .conflict
    case .expired: .expired
    case .unknown: .unknown
    case .retryLater: .retryLater
    case .expected: .expected
    }
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    number = try reader.proposalNumber("number")
    let kind: Kind = try reader.choice("kind", try reader.u8("kind"), "1 to 8")
    switch kind {
    case .committed: rest = try Self.committed(from: &reader, number: number)
    case .unchanged: rest = .unchanged
    case .refused:
      let code: RefusalCode = try reader.choice("code", try reader.u16("code"), "1 to 14")
      rest = .refused(Refusal(code, try reader.text16("text")))
    case .conflict: rest = .conflict(try Conflict(from: &reader))
    case .expired: rest = .expired
    case .unknown: rest = .unknown
    case .retryLater:
      let code: RetryReason = try reader.choice("code", try reader.u16("code"), "1 to 5")
      rest = .retryLater(code, pauseMilliseconds: try reader.u32("pauseMs"))
    case .expected: rest = .expected(next: try reader.proposalNumber("next"))
    }
  }

  private static func committed(from reader: inout WireReader, number: ProposalNumber) throws(WireError) -> Rest {
    let count = try reader.u16("count")
    let version = try reader.u64("version")
    guard count > 0 else { throw reader.error("count", "is 0; at least one number was committed") }
    guard UInt32(count) - 1 <= UInt32.max - number, version > 0, UInt64(count) - 1 <= UInt64.max - version else {
      throw reader.error(
        "count", "\(count) numbers from \(number), versions from \(version): out of range")
    }
    return .committed(count: count, version: version)
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u32(number)
    writer.u8(kind.rawValue)
    switch rest {
    case .committed(let count, let version):
      writer.u16(count)
      writer.u64(version)
    case .refused(let refusal):
      writer.u16(refusal.code.rawValue)
      writer.text16(refusal.text)
    case .conflict(let conflict): conflict.write(to: &writer)
    case .retryLater(let code, let pause):
      writer.u16(code.rawValue)
      writer.u32(pause)
    case .expected(let next): writer.u32(next)
    case .unchanged, .expired, .unknown: break
    }
  }
}
